// The page of one's turn in a waiting room. The server rendered it truthfully, and this keeps it so. The place moves with the line, which
// is the same answer for everyone; only a page whose turn comes or ends is loaded again, because all that wait may be a million.

import { chime } from './chime.js';
import { call, clock, count, jitter, main, poll, shortDigits, show, sleep, slot, storage, table, translator, write } from './lib.js';
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
/** States in which the line says what comes next. */
const FOLLOWS = ['early', 'outside', 'gathering', 'waiting', 'called', 'missed'];
/** Places at which a screen reader is told; the number itself is not read. */
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

/** Says what is true now in the heading and the sentence below it. */
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

/** The turn has come: title and sound say so before the page is loaded again. */
async function come() {
  if (leaving) return;
  title(say('called'));
  announce(say('called'));
  await bell?.ring();
  await reload();
}

/** A shop that lost its memory takes a place back for the pass that this browser kept. */
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
    if (ms <= -500) reload();
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

/** Why calls do not go on, as the server says it; empty while they do. */
function notice({ phase, held, left, unpaid }) {
  if (phase === 'paused') return say('paused');
  if (['called', 'early'].includes(state) || ['upcoming', 'ended'].includes(phase)) return '';
  if (held) return say('held');
  if (left > 0) return '';
  return unpaid > 0 ? say('all_taken', count(unpaid)) : say('sold_out');
}

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

/** Draws the place; `before` is how many are called first, `null` until it is known. */
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
  // While nothing can be called, neither a wait nor the next turn is promised.
  const moves = notice(line) === '';
  const isNext = before === 0 && moves;
  moveNumber(before);
  drawRing((line.called / (line.called + before + 1)) * 100);
  if (isNext) tell('next', 'next_text');
  else tell('gathering', '');
  write(slot('wait'), waitWords(moves ? secondsUntil(line, before) : null));
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
}

/** Finds the number of the place once the order is drawn. A page without SHA-256 asks for it, each at another moment. */
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

/** What the line means for this page. Returns the seconds until the turn, if they are known. */
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
  // A place that the shop took back after later ones were called is next.
  if (passed ? line.called > Number(passed) : isCalled(line, place)) return come();
  const found = passed ? 0 : ahead(line, place);
  drawPlace(found);
  return found === null ? null : secondsUntil(line, found);
}

keepPass();
clock.learn(main.dataset.now, 0);
drawClock();
setInterval(drawClock, 250);
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
