// The console's page of a red packet: polls once a second and draws the claims over time.

import { call, count, money, poll, slot, write } from './lib.js';

const watch = document.querySelector('[data-watch]');
const total = Number(watch.dataset.count);
const curve = slot('curve', watch);
const MAX_POINTS = 600;
/** `[seconds, claimed]` since the page was opened. */
let points = [];

function draw() {
  if (points.length < 2) return;
  const [[from], [now]] = [points[0], points.at(-1)];
  const span = Math.max(10, now - from);
  const at = ([s, n]) => `${(300 - ((now - s) / span) * 300).toFixed(1)},${(79 - (n / total) * 78).toFixed(1)}`;
  curve.querySelector('polyline').setAttribute('points', points.map(at).join(' '));
  const since = slot('since', watch);
  write(since, since.dataset.words.replace('{}', count(Math.round(span))));
  slot('plot', watch).hidden = false;
}

/** Drops every second point once there are too many. */
function thin() {
  if (points.length > MAX_POINTS) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
}

poll(async () => {
  const { ok, data } = await call('GET', watch.dataset.watch);
  const away = slot('away', watch);
  write(away, ok ? '' : away.dataset.words);
  if (!ok) return 3000;
  const { claimed, claimed_amount: amount, phase } = data.packet;
  const last = points.at(-1);
  const now = Date.now() / 1000;
  if (last) write(slot('rate', watch), count(Math.max(0, Math.round((claimed - last[1]) / (now - last[0])))));
  points.push([now, claimed]);
  thin();
  write(slot('claimed', watch), count(claimed));
  write(slot('money', watch), money(amount));
  slot('bar', watch).value = claimed;
  draw();
  return phase === 'empty' || phase === 'expired' ? 10_000 : 1000;
});
