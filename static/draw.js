// The state of a draw on its pages, with a countdown to its next step. Without this file a page shows the state that it
// was rendered with. The entry's page is loaded again when the draw has moved on, because it shows its owner's result.

import { call, clock, count, currentUser, digits, jitter, locale, poll, show, slot, table, translator, write } from './lib.js';
import { mayNotify, subscribe } from './push.js';
import { ready } from './ready.js';

const say = translator(table('draw-words'));
const place = slot('draw');
const { sale, reload } = place.dataset;
/** Pause between two requests. Each page adds up to the same time at random. */
const PAUSE_MS = 20_000;
/** Pause while the next step is a moment away. */
const SOON_MS = 4000;
/** Pause for draws that no longer change. */
const REST_MS = 300_000;
const OVER = ['settled', 'called_off'];

let { stage, until } = place.dataset;
let entries = null;
const awaitsStart = ready((text) => show(slot('note'), text), () => (stage === 'announced' ? until : null));

function draw() {
  const ms = clock.until(until);
  write(slot('stage', place), say(stage));
  awaitsStart(stage === 'announced');
  const numbers = entries === null ? '' : say('numbers', count(entries)).replace('{}', count(Number(place.dataset.units)));
  const line = slot('until', place);
  // Without a countdown its line is free for the numbers.
  show(line, ms > 0 ? `${say(`until_${stage}`)} ${digits(ms)}` : numbers);
  show(slot('numbers', place), line && !(ms > 0) ? '' : numbers);
  const result = slot('result', place);
  if (result) result.hidden = ['drawn', ...OVER].includes(stage);
}

/** Takes a newer state. The button of a sale's page works while entries are taken, or may be soon. */
function take(next) {
  const moved = next.stage !== stage;
  ({ stage, until, entries } = next);
  if (!moved) return;
  if (reload !== undefined) {
    location.reload();
    return;
  }
  place.dataset.phase = stage === 'entries' ? 'open' : '';
  write(slot('announce'), say('changed', say(stage)));
  const enter = slot('enter');
  if (enter) enter.disabled = !['announced', 'entries', 'paused'].includes(stage);
}

/**
 * The pause until the next request. At a step that the clock decides, the shop first has its own work, so pages ask a
 * little later.
 */
function pause() {
  if (OVER.includes(stage)) return REST_MS;
  const ms = clock.until(until);
  const base = stage === 'due' || ms < 0 ? SOON_MS : PAUSE_MS;
  const later = base + jitter(base);
  return ms > 0 && ms < later ? ms + 500 + jitter(SOON_MS) : later;
}

/** The stage for which the visitor's order was looked up. */
let asked = '';

/** On the page of a sale: whoever was drawn and has not paid is led to the order. */
async function congratulate() {
  const won = slot('won');
  if (!won || asked === stage || !['drawn', 'settled'].includes(stage) || !(await currentUser())) return;
  asked = stage;
  const { ok, data } = await call('GET', '/api/orders');
  const order = ok && data.orders.find(({ sale_id: of, status }) => String(of) === sale && status === 'unpaid');
  won.hidden = !order;
  if (order) won.firstElementChild.href = `/${locale}/orders/${sale}/${order.id}`;
}

/** The reminder of the result is a file for calendars; a browser that may notify needs none. */
slot('remind-result')?.addEventListener('click', async (event) => {
  const link = event.currentTarget;
  event.preventDefault();
  if ((await mayNotify()) && (await subscribe())) link.replaceWith(link.dataset.told);
  else link.click();
}, { once: true });

poll(async () => {
  const { ok, data, took } = await call('GET', `/api/sales/${sale}/draw`);
  if (ok) {
    clock.learn(data.draw.now, took);
    take(data.draw);
    draw();
    congratulate();
  }
  return pause() + (ok ? 0 : jitter(PAUSE_MS));
});
draw();
setInterval(draw, 1000);
