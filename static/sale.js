// The page of one sale: the countdown, the button, and the path from a click to the order.

import { call, clock, count, create, currentUser, digits, drawCountdown, fetchOrder, jitter, locale, main, percentTaken, poll, say, shortDigits, show, sleep, slot, storage, table, write } from './lib.js';
import { verdict } from './lost.js';
import { forget, isGone, liveOrder, purchase, Tokens, unfinished } from './purchase.js';
import { ready } from './ready.js';
import { nextPoll } from './spread.js';

const id = main.dataset.sale;
const api = `/api/sales/${id}`;
const login = `/${locale}/login?or=register&next=${encodeURIComponent(location.pathname)}`;
const orderPath = (order) => `/${locale}/orders/${id}/${order}`;
const problems = table('problems');
const form = main.querySelector('.buy');
const button = slot('button');
const tokens = new Tokens(id);
const calm = matchMedia('(prefers-reduced-motion: reduce)');
/** The last part of the countdown is large and shows tenths. */
const FINAL_MS = 10_000;
/** Phases without anything to buy. A quantity has a meaning again once units return. */
const GONE = ['sold_out', 'ended'];

/** Everything on the page is drawn from this. */
const state = {
  phase: '', // empty until the first answer
  live: null,
  lost: false, // whether the last poll failed
  user: undefined, // null without a session, undefined until known
  order: null, // the visitor's live order in this sale
  buying: null, // { began, attempt, why, held } while a purchase runs
  warned: 0, // announcements made before the start
};

const announce = (text) => { slot('announce').textContent = text; };

// ---- drawing ----

function draw() {
  drawClock();
  drawButton();
}

function drawClock() {
  const { live, phase } = state;
  if (!live) return;
  const panel = main.querySelector('.clock');
  panel.dataset.phase = phase;
  const waits = phase === 'upcoming';
  const ms = clock.until(waits ? live.opens_at : phase === 'open' ? live.closes_at : null);
  const endless = { upcoming: 'head_unknown', open: 'head_open_endless' }[phase] ?? `phase_${phase}`;
  write(slot('head'), say(ms > 0 ? `head_${phase}` : endless));
  slot('opens').hidden = !waits;
  show(slot('until'), phase === 'open' && ms > 0 ? digits(ms) : '');
  if (waits && ms > 0) {
    drawCountdown(slot('countdown'), ms);
    slot('countdown').hidden = isFinal(ms);
    warn(ms);
  } else {
    slot('countdown').hidden = true;
  }
  panel.toggleAttribute('data-final', waits && isFinal(ms));
  show(slot('final'), panel.hasAttribute('data-final') ? finalSeconds(ms) : '');
  drawStock(!waits && live.total > 0, live);
  awaitsStart(waits);
  const waitlist = slot('waitlist');
  waitlist?.toggleAttribute('data-shown', phase === 'sold_out' && !state.order);
}

/** Whether the last part of the countdown is shown large. It is not if the visitor prefers less motion. */
const isFinal = (ms) => ms > 0 && ms <= FINAL_MS && !calm.matches;

const finalSeconds = (ms) => (Math.ceil(ms / 100) / 10).toFixed(1);

/** Announces the start twice to screen readers, which do not read the countdown. */
function warn(ms) {
  if (ms <= 10_000 && state.warned < 2) { state.warned = 2; announce(say('starts_in_ten')); }
  if (ms <= 60_000 && ms > 10_000 && state.warned < 1) { state.warned = 1; announce(say('starts_in_minute')); }
}

function drawStock(known, live) {
  slot('stock').hidden = !known;
  if (!known) return;
  const taken = percentTaken(live);
  slot('stock').querySelector('progress').value = taken;
  // Units that an ended sale has left are not for sale.
  const left = Math.max(0, live.remaining);
  const result = say('claimed_of', count(live.total - left)).replace('{}', count(live.total));
  write(slot('left', slot('stock')), state.phase === 'ended' ? result : say('left', count(left)));
  write(slot('taken', slot('stock')), say('taken', taken));
}

/**
 * Uses `aria-disabled` instead of `disabled`, so that the button keeps the focus. `shown` is displayed in place of
 * the text but is not the button's name: a screen reader would read a countdown aloud at every change.
 */
function label(text, enabled, shown = '') {
  if (shown) {
    if (!button.querySelector('.count')) button.replaceChildren(create('span', { className: 'count', ariaHidden: 'true' }), create('span', { className: 'visually-hidden' }));
    write(button.firstElementChild, shown);
    write(button.lastElementChild, text);
  } else {
    write(button, text);
  }
  button.disabled = false;
  button.setAttribute('aria-disabled', String(!enabled));
}

/** The milliseconds until the start that the button counts down; `NaN` if it does not count. */
function countedMs() {
  const counts = state.phase === 'upcoming' && state.user !== null && !state.order;
  return counts ? clock.until(state.live.opens_at) : NaN;
}

/** The button before the start: the way to the log-in, or the countdown. */
function drawWaiting() {
  const ms = countedMs();
  button.toggleAttribute('data-final', isFinal(ms));
  if (state.user === null) label(say('button_login'), true);
  else if (ms > 0) label(say('button_upcoming'), false, isFinal(ms) ? say('button_final', finalSeconds(ms)) : say('button_starts', shortDigits(ms)));
  else label(say(ms <= 0 ? 'button_opening' : 'button_upcoming'), false);
}

function drawButton() {
  const { buying, order, phase } = state;
  form.elements.quantity.disabled = GONE.includes(phase) || Boolean(order);
  if (phase !== 'upcoming') button.removeAttribute('data-final');
  // Set it only on a change: otherwise the spinner would restart each time.
  if (buying && !button.hasAttribute('aria-busy')) button.setAttribute('aria-busy', 'true');
  if (!buying) button.removeAttribute('aria-busy');
  if (buying) {
    label(say(buying.held ? 'button_held' : buying.why === 'awaiting' ? 'button_awaiting' : 'button_holding'), false);
    hint(progress(buying));
  } else if (order) {
    label(say('button_order'), true);
    hint(say('hint_have_order'));
  } else if (phase) {
    if (phase === 'upcoming') drawWaiting();
    else label(say(phase === 'open' && state.user === null ? 'button_login' : `button_${phase}`), phase === 'open');
    if (state.lost) hint(say(navigator.onLine === false ? 'hint_offline' : 'hint_reconnecting'));
    else if (phase === 'open' && tokens.untilMoment > 0) hint(say('hint_moment', Math.ceil(tokens.untilMoment / 1000)));
    else if (state.user === null && phase === 'upcoming') hint(say('hint_login'));
    else hint(say(`hint_${phase}`));
  } else if (state.lost) {
    hint(say('hint_reconnecting'));
  }
}

/** The state of the purchase with its attempts and seconds, so that a waiting visitor sees progress. */
function progress({ why, attempt, began, held }) {
  if (why === 'awaiting' && !held) return say('hint_awaiting', Math.ceil(tokens.untilMoment / 1000));
  const text = say({ busy: 'hint_retrying', unanswered: 'hint_unanswered', offline: 'hint_offline', resumed: 'hint_resumed' }[why] ?? 'hint_holding');
  const seconds = Math.round((Date.now() - began) / 1000);
  if (held || why === 'offline' || (attempt < 2 && seconds < 3)) return text;
  const counts = [attempt > 1 && say('hint_progress', attempt), say('hint_elapsed', seconds)].filter(Boolean);
  return `${text} (${counts.join(' · ')})`;
}

const hint = (text) => write(slot('hint'), text);

/** Shows and announces the result of a purchase or of the reminder button. */
function note(text) {
  show(slot('note'), text);
  if (text) announce(text);
}

// ---- polling ----

const pollNow = poll(async () => {
  const { ok, data, took, wait } = await call('GET', `${api}/button`);
  state.lost = !ok;
  if (!ok) {
    draw();
    return Math.max(wait, 1500) + jitter(1500);
  }
  clock.learn(data.now, took);
  const before = state.phase;
  Object.assign(state, { live: data, phase: data.phase });
  if (before !== data.phase) phaseChanged(before, data.phase);
  draw();
  lost.update(data);
  return nextPoll(data, data.phase === 'upcoming' ? clock.until(data.opens_at) : NaN);
});

function phaseChanged(before, phase) {
  // The note belongs to the previous phase.
  if (before) show(slot('note'), '');
  if (phase === 'open') {
    if (before === 'upcoming') announce(say('now_open'));
    if (before === 'sold_out') note(say('back_again'));
    prepare();
  }
}

/** Fetches a token in advance for a user who is logged in. */
async function prepare() {
  if (!state.user || state.buying || state.order) return;
  await sleep(jitter(300));
  if (state.buying) return;
  await tokens.fetch();
  if (tokens.untilMoment > 0) announce(say('hint_moment', Math.ceil(tokens.untilMoment / 1000)));
}

// ---- buying ----

form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (state.buying) return;
  if (state.order) location.assign(orderPath(state.order.id));
  else if (state.phase === 'upcoming' && state.user === null) location.assign(login);
  else if (!state.live || state.phase === 'open') buy(Number(new FormData(form).get('quantity')) || 1, 'first');
});

async function buy(quantity, why) {
  const pressed = why === 'first' ? -clock.until(state.live?.opens_at) : NaN;
  state.buying = { began: Date.now(), attempt: 1, why, held: false };
  note('');
  announce(say('button_holding'));
  draw();
  const outcome = await purchase(id, quantity, tokens, state.live?.spread_ms, ({ attempt, why: reason }) => {
    if (reason === 'awaiting' && state.buying.why !== 'awaiting') announce(say('hint_awaiting', Math.ceil(tokens.untilMoment / 1000)));
    if (reason === 'offline' && state.buying.why !== 'offline') announce(say('hint_offline'));
    Object.assign(state.buying, { attempt, why: reason });
    draw();
    return state.phase === 'open' || state.phase === '';
  });
  if (outcome.order) return follow(outcome);
  if (outcome.signIn) return location.assign(login);
  if (outcome.refused === 'sold_elsewhere') return location.assign(`/${locale}/sales/${id}/line`);
  state.buying = null;
  draw();
  if (isGone(outcome.refused)) lost.take(state.live ?? {}, pressed, quantity);
  else note(outcome.gaveUp ? say('hint_gave_up') : explanation(outcome.refused));
  pollNow();
}

/** The text of a refusal. The shop refuses a paused sale as `not_open`; the phase tells the two apart. */
function explanation(code) {
  const exact = code === 'not_open' && state.phase === 'paused' ? 'paused' : code;
  return problems[exact] ?? problems.internal;
}

/** Waits until the order is stored, then opens its page. That page can wait too, so this may give up. */
async function follow({ order, statusUrl = `${api}/orders/${order.id}` }) {
  Object.assign(state.buying, { held: true, why: 'first' });
  draw();
  announce(say('button_held'));
  let { status } = order;
  for (let i = 0; status === 'reserved' && i < 20; i += 1) {
    await sleep(300 + 100 * i + jitter(200));
    const answer = await fetchOrder(statusUrl);
    status = answer.data.order?.status ?? status;
  }
  location.assign(orderPath(order.id));
}

/** Resumes an interrupted purchase. With a live order the button leads to it. */
async function resume() {
  state.user = await currentUser();
  draw();
  if (state.user === null) lost.drop();
  if (!state.user) return;
  const interrupted = unfinished(id);
  const order = await liveOrder(id);
  if (state.buying) return;
  if (interrupted && order) {
    // Do this only once: a visitor who returns from the order wants to see the sale.
    forget(id);
    return location.assign(orderPath(order.id));
  }
  state.order = order ?? null;
  if (order) lost.drop();
  if (interrupted) buy(interrupted.quantity, 'resumed');
  else if (state.phase === 'open') prepare();
  draw();
}

/** The order may have been paid or cancelled in another tab. */
document.addEventListener('visibilitychange', async () => {
  if (document.hidden || !state.user || state.buying) return;
  const order = await liveOrder(id);
  if (order !== undefined) state.order = order;
});

/** Keeps the chosen quantity while the visitor logs in on another page. */
function keepQuantity() {
  const field = form.elements.quantity;
  if (field.type === 'hidden') return;
  const kept = storage.get(`quantity:${id}`);
  if ([...field.options].some(({ value }) => value === kept)) field.value = kept;
  field.addEventListener('change', () => storage.set(`quantity:${id}`, field.value));
}

// After the back button the browser may restore this page as it was left, in the middle of a finished purchase.
addEventListener('pageshow', (event) => {
  if (event.persisted) location.reload();
});

const lost = verdict(id, (quantity) => buy(quantity, 'first'));
keepQuantity();
const awaitsStart = ready(note, () => state.live?.opens_at ?? main.dataset.opens);
(function tick() {
  draw();
  setTimeout(tick, state.phase === 'upcoming' && isFinal(clock.until(state.live.opens_at)) ? 100 : 250);
})();
resume();
