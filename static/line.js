// Keeps the page of a turn in a waiting room up to date. It polls the state of the waiting room, which is the same
// answer for everyone, and computes the place from it. Up to a million pages may wait, so a page is loaded again only
// when its turn comes or ends.

import { chime } from './chime.js';
import { call, clock, count, jitter, main, poll, shortDigits, show, sleep, slot, storage, table, timeOfDay, translator, write } from './lib.js';
import { ahead, isCalled, nextPoll, placeNumber, secondsUntil } from './place.js';

const say = translator(table('queue-words'));
const { sale, entry, pass, passed } = main.dataset;
const api = `/api/sales/${sale}`;
const card = main.querySelector('.turn');
const goods = document.title.slice(document.title.indexOf(' · '));
const seatMs = Number(main.dataset.seatS) * 1000;
const place = { segment: Number(main.dataset.segment), number: 'number' in main.dataset ? Number(main.dataset.number) : null };
const bell = slot('sound') && chime(slot('sound'));
const calm = matchMedia('(prefers-reduced-motion: reduce)');
/** States in which the polled state of the waiting room decides what comes next. */
const FOLLOWS = ['early', 'outside', 'gathering', 'waiting', 'called', 'missed'];
/** Places that are announced to screen readers. The number itself is not read aloud. */
const MILESTONES = [1000, 500, 100, 50, 20, 10, 5, 3, 2, 1, 0];
const FINAL_MS = 30_000;

let { state, until } = main.dataset;
let line = null;
/** Whether the page is being loaded again. */
let leaving = false;
let told = Infinity;
let shown = NaN;
let frame = 0;

const announce = (text) => write(slot('announce'), text);
const title = (text) => { document.title = `${text}${goods}`; };

function become(next) {
  state = next;
  for (const element of [main, card]) element.dataset.state = next;
}

/** Sets the heading and the sentence below it. */
function tell(heading, sentence) {
  write(slot('heading'), say(heading));
  write(slot('sentence'), sentence && say(sentence));
}

/** Loads the page again, which the server then renders in its new state. */
async function reload() {
  if (leaving) return;
  leaving = true;
  await sleep(jitter(300));
  location.reload();
}

/** The turn has come: announces it by title and sound, then loads the page again. */
async function come() {
  if (leaving) return;
  title(say('called'));
  announce(say('called'));
  await bell?.ring();
  await reload();
}

/** Stores the pass in this browser: for it, a shop that has lost the place gives it again. */
function keepPass() {
  const key = `place:${sale}`;
  if (pass) storage.set(key, pass);
  const field = main.querySelector('input[name="pass"]');
  if (field && !field.value) field.value = storage.get(key) ?? '';
}

// ---- the clock ----

/** Draws a part of the ring, in percent. */
function drawRing(percent) {
  slot('ring')?.setAttribute('stroke-dashoffset', String(100 - Math.min(100, Math.max(0, percent))));
}

function drawClock() {
  const ms = clock.until(until);
  if (Number.isNaN(ms) || leaving) return;
  if (state === 'called') {
    write(slot('number'), shortDigits(ms));
    drawRing((ms / seatMs) * 100);
    card.toggleAttribute('data-final', ms < FINAL_MS);
    title(`${say('called')} ${shortDigits(ms)}`);
    // For five seconds after the turn, an order may still be on its way.
    if (ms <= -5_500) reload();
  } else if (state === 'gathering') {
    const left = ms > 0 ? shortDigits(ms) : '…';
    write(slot('number'), left);
    slot('number').classList.toggle('long', left.length > 6);
    write(slot('before'), ms > 0 ? say('until_lock') : '');
    if (line) drawRing((ms / (Date.parse(line.locks_at) - Date.parse(line.joining_from))) * 100);
    if (ms > 0) tell('gathering', 'gathering_text');
    else tell('drawing', 'drawing_text');
  } else {
    show(slot('countdown'), ms > 0 ? shortDigits(ms) : '');
    if (ms <= 0 && state === 'early' && line) open();
  }
}

/** The waiting room has opened. */
function open() {
  become('outside');
  tell('outside', 'outside_text');
  slot('join').hidden = false;
  until = line.locks_at;
  write(slot('what'), say('locks_at'));
  slot('moment').querySelector('time').hidden = true;
  announce(say('open'));
}

// ---- the place ----

/** Why calls have stopped, in the server's words; empty while they go on. */
function notice({ phase, held, left, unpaid }) {
  if (phase === 'paused') return say('paused');
  if (['called', 'early'].includes(state) || ['upcoming', 'ended'].includes(phase)) return '';
  if (held) return say('held');
  if (left > 0) return '';
  return unpaid > 0 ? say('all_taken', count(unpaid)) : say('sold_out');
}

/** Whether a unit is left for a place. `Line::reaches` in `domain/waiting_room.rs` does the same; change both. */
const reaches = ({ seats, left }, before) => before + seats < left;

function waitWords(seconds) {
  if (seconds == null) return say('wait_unknown');
  if (seconds < 60) return say('wait_soon');
  return seconds < 7200 ? say('wait_minutes', Math.ceil(seconds / 60)) : say('wait_hours', Math.ceil(seconds / 3600));
}

/** Moves the number to where it is now. */
function moveNumber(to) {
  cancelAnimationFrame(frame);
  const from = shown;
  shown = to;
  slot('number').classList.toggle('long', count(to).length > 6);
  if (calm.matches || document.hidden || Number.isNaN(from) || from <= to) {
    write(slot('number'), count(to));
    return;
  }
  const began = performance.now();
  const step = (now) => {
    const part = Math.min(1, (now - began) / 900);
    write(slot('number'), count(Math.round(from + (to - from) * (1 - (1 - part) ** 3))));
    if (part < 1) frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
}

/** Draws the place. `before` is how many are called before it, `null` until that is known. */
function drawPlace(before) {
  for (const part of main.querySelectorAll('[data-of]')) part.hidden = (part.dataset.of === 'place') !== (before !== null);
  if (slot('moment')) slot('moment').hidden = true;
  write(slot('before'), before === null ? '' : say('ahead_before'));
  write(slot('after'), before === null ? '' : say('ahead_after'));
  if (before === null) {
    write(slot('number'), '…');
    drawRing(0);
    tell('late', 'late_text');
    return;
  }
  // While no one can be called, promise neither a wait nor the next turn.
  const moves = notice(line) === '';
  const isNext = before === 0 && moves;
  moveNumber(before);
  drawRing((line.called / (line.called + before + 1)) * 100);
  if (isNext) tell('next', 'next_text');
  else tell('gathering', '');
  write(slot('wait'), moves && !reaches(line, before) ? say('wait_returns') : waitWords(moves ? secondsUntil(line, before) : null));
  title(isNext ? say('next') : `(${count(before)}) ${say('title')}`);
  const milestone = MILESTONES.findLast((mark) => before <= mark) ?? Infinity;
  if (milestone < told) announce(isNext ? `${say('next')}. ${say('next_text')}` : `${say('ahead_before')} ${count(before)} ${say('ahead_after')}`);
  told = milestone;
}

function drawLine() {
  show(slot('notice'), notice(line));
  write(slot('joined'), count(Math.max(['gathering', 'waiting'].includes(state) ? 1 : 0, line.joined - line.called)));
  write(slot('called'), `${count(line.called)} / ${count(line.joined)}`);
  write(slot('seats'), count(line.seats));
  write(slot('left'), count(line.left));
  write(slot('unpaid'), count(line.unpaid));
  const free = slot('free');
  if (!free) return;
  free.hidden = !line.free_by;
  if (line.free_by) write(free.querySelector('time'), timeOfDay(new Date(line.free_by)));
}

/**
 * Computes the number of the place once the order is drawn. A page without SHA-256 asks the shop for it, each page at
 * another moment.
 */
async function drawOrder() {
  place.number = await placeNumber(line.seed, entry);
  if (place.number === null) {
    await sleep(jitter(5000));
    place.number = (await call('GET', `${api}/place`)).data.place?.number ?? null;
  }
  if (place.number === null) return;
  become('waiting');
  until = undefined;
}

/** Shows that the calls have ended. */
function end() {
  become('ended');
  until = undefined;
  tell('ended', 'ended_text');
  title(say('ended'));
  announce(say('ended'));
  for (const part of [main.querySelector('.ring'), slot('moment'), slot('facts'), slot('join'), slot('notice'), slot('sound')]) if (part) part.hidden = true;
  slot('others').hidden = false;
}

/** Applies the state of the waiting room to this page. Returns the seconds until the turn, if they are known. */
async function follow(before) {
  if (state === 'called') {
    const changed = before && (before.phase === 'paused') !== (line.phase === 'paused');
    if (changed || line.phase === 'ended') await reload();
    return null;
  }
  if (line.phase === 'ended') return end();
  if (state === 'outside' && line.locked_at) {
    tell('outside', 'outside_late');
    if (slot('moment')) slot('moment').hidden = true;
  }
  if (state === 'gathering' && line.seed) await drawOrder();
  if (state !== 'waiting') return null;
  // A restored place that was passed while it was lost is next: it waits only for the next call.
  if (passed ? line.called > Number(passed) : isCalled(line, place)) return come();
  const found = passed ? 0 : ahead(line, place);
  drawPlace(found);
  return found === null ? null : secondsUntil(line, found);
}

keepPass();
clock.learn(main.dataset.now, 0);
drawClock();
setInterval(drawClock, 250);
// Goes on to the other shop once per turn: who comes back from there decides for themselves.
const leave = main.querySelector('[data-slot="leave"]');
if (leave && document.visibilityState === 'visible') {
  const key = `left-${main.dataset.sale}-${main.dataset.until}`;
  try {
    if (!sessionStorage.getItem(key)) {
      sessionStorage.setItem(key, '1');
      location.assign(leave.href);
    }
  } catch {
    // Without storage, the shopper presses the button.
  }
}
if (state === 'called') announce(`${say('called')} ${say('called_text')}`);
if (FOLLOWS.includes(state)) {
  poll(async () => {
    const { ok, data, took, wait } = await call('GET', `${api}/line`);
    if (leaving || !FOLLOWS.includes(state)) return 60_000;
    if (!ok) {
      show(slot('notice'), say('offline'));
      return Math.max(wait, 3000) + jitter(3000);
    }
    clock.learn(data.now, took);
    const before = line;
    line = data;
    const seconds = await follow(before);
    if (FOLLOWS.includes(state)) drawLine();
    return nextPoll(line, seconds);
  }, { whileHidden: true });
}
// After the back button the browser may restore this page as it was left.
addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });
