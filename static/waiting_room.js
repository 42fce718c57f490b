// The page of a sale with a waiting room: what is open now, until when, and how many have joined.

import { call, clock, count, drawCountdown, main, poll, show, slot, storage, table, translator, write } from './lib.js';
import { nextPoll } from './place.js';
import { ready } from './ready.js';

const say = translator(table('queue-words'));
const { sale } = main.dataset;
let line = null;
/** The reminder's message. */
let noted = '';
const awaitsStart = ready((text) => { noted = text; draw(); });

/** Shows how much of an ended sale was sold. */
async function showResult() {
  const { ok, data } = await call('GET', `/api/sales/${sale}/button`);
  if (ok && data.phase === 'ended') show(slot('joined'), say('result', count(data.total - Math.max(0, data.remaining))).replace('{}', count(data.total)));
}

/** The next event: the key of its text, and its time. */
function awaited() {
  const { phase, joining_from: joining, locks_at: locks } = line;
  if (phase === 'ended' || phase === 'paused') return [null, null];
  if (clock.until(joining) > 0) return ['until_joining', joining];
  if (!line.locked_at && clock.until(locks) > 0) return ['until_lock', locks];
  return [line.locked_at ? 'calling' : 'drawing', null];
}

function draw() {
  if (!line) return;
  const [text, at] = awaited();
  const ms = clock.until(at);
  if (text) write(slot('head'), say(text));
  awaitsStart(text === 'until_joining');
  slot('opens').hidden = ms > 0 || line.phase !== 'upcoming';
  if (ms > 0) drawCountdown(slot('countdown'), ms);
  else slot('countdown').hidden = true;
  main.querySelector('.clock').dataset.phase = text === 'until_lock' || text === 'calling' ? 'open' : line.phase;
  const waiting = count(Math.max(0, line.joined - line.called));
  const joined = line.joined > 0 ? say('joined', count(line.joined)) : '';
  show(slot('joined'), text === 'calling' ? say('counts', waiting).replace('{}', count(line.left)) : joined);
  const taken = line.unpaid > 0 ? say('all_taken', count(line.unpaid)) : say('sold_out');
  const stopped = line.phase === 'paused' ? say('paused') : line.held ? say('held') : '';
  show(slot('note'), stopped || (line.left === 0 && line.phase !== 'ended' ? taken : noted));
}

const field = main.querySelector('input[name="pass"]');
if (field) field.value = storage.get(`place:${sale}`) ?? '';
if (main.querySelector('.buy')) {
  poll(async () => {
    const { ok, data, took, wait } = await call('GET', `/api/sales/${sale}/line`);
    if (!ok) return Math.max(wait, 5000);
    clock.learn(data.now, took);
    line = data;
    draw();
    return nextPoll(line, null);
  });
  setInterval(draw, 250);
} else {
  showResult();
}
