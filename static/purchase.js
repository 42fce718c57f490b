// A purchase, repeated until an answer settles it. Repeating is safe: a shopper who already holds units gets the same
// order again. So a missing answer only means that the request is sent again.

import { call, clock, jitter, sleep, storage, table } from './lib.js';
import { nextAttempt } from './spread.js';

/** The class of each refusal, which the page carries beside its words. After a `transient` one the next attempt may succeed. */
const classOf = table('problems', (item) => item.dataset.class);
/** Classes of refusals after which an earlier attempt without an answer may still have bought something. */
const GONE = ['gone', 'not_yet'];
/** Whether a refusal says that nothing is left. */
export const isGone = (code) => classOf[code] === 'gone';
/** Statuses of an order that still counts. */
const LIVE = new Set(['reserved', 'unpaid', 'paid']);
/** After this time the purchase is given up. Time offline does not count. */
const GIVE_UP_AFTER_MS = 180_000;
/** The shortest pause after a press that came too early. */
const MIN_EARLY_PAUSE_MS = 500;
/** An interrupted purchase older than this is not resumed: the visitor no longer expects it. */
const RESUME_WITHIN_MS = 120_000;

/** Waits, but ends early when the page becomes visible or the network returns. */
function pause(ms) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      document.removeEventListener('visibilitychange', visible);
      resolve();
    };
    const visible = () => document.hidden || done();
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    document.addEventListener('visibilitychange', visible);
  });
}

/** The purchase in this sale that a reload, another tab or a lost connection interrupted; null without one. */
export function unfinished(sale) {
  const saved = storage.get(`rush:${sale}`);
  const fresh = saved && Math.abs(Date.now() - saved.at) < RESUME_WITHIN_MS;
  if (saved && !fresh) forget(sale);
  return fresh ? saved : null;
}

/** Drops the interrupted purchase. */
export const forget = (sale) => storage.set(`rush:${sale}`, null);

/** The user's newest live order in this sale, or null. Undefined when the shop did not answer. */
export async function liveOrder(sale) {
  const { ok, data } = await call('GET', '/api/orders');
  if (!ok) return undefined;
  return (data.orders ?? []).find((order) => String(order.sale_id) === sale && LIVE.has(order.status)) ?? null;
}

/** Purchase tokens of one sale. A token fetched in advance saves a round trip when the button is pressed. */
export class Tokens {
  constructor(sale) {
    this.path = `/api/sales/${sale}/token`;
    this.token = null;
    this.expires = 0;
    /** From when the account may buy, in milliseconds of the shop's clock; 0 when that is unknown or always. */
    this.notBefore = 0;
  }

  /** Milliseconds until the account's own moment; 0 without one. */
  get untilMoment() {
    return Math.max(0, this.notBefore - clock.now());
  }

  /** Fetches a token unless there is one with at least two seconds left. Returns the answer. */
  async fetch() {
    if (this.token && this.expires - clock.now() > 2000) return { ok: true };
    const answer = await call('POST', this.path);
    if (answer.ok) {
      this.token = answer.data.token;
      this.expires = Date.parse(answer.data.expires_at) || Infinity;
      this.notBefore = Date.parse(answer.data.not_before) || 0;
    }
    return answer;
  }

  drop() {
    this.token = null;
  }
}

/**
 * Buys. Attempts are spread over `spread` milliseconds. `report` gets `{ attempt, why }` before each wait, where `why` is
 * `busy`, `unanswered`, `offline` or `awaiting`: the account's own moment has not come. Resolves to `{ order, statusUrl }`,
 * `{ signIn: true }`, `{ refused: code }` or `{ gaveUp: true }`.
 */
export async function purchase(sale, quantity, tokens, spread, report) {
  const remember = () => storage.set(`rush:${sale}`, { quantity, at: Date.now() });
  remember();
  const outcome = await attemptUntilSettled(sale, quantity, tokens, spread, report, remember);
  // A purchase that was given up may have succeeded: the next visit finds out.
  if (!outcome.gaveUp) forget(sale);
  return outcome;
}

async function attemptUntilSettled(sale, quantity, tokens, spread, report, remember) {
  let spent = 0;
  let expiredTokens = 0;
  let unanswered = false;
  for (let attempt = 1; spent < GIVE_UP_AFTER_MS; attempt += 1) {
    while (navigator.onLine === false) {
      report({ attempt, why: 'offline' });
      remember();
      await pause(15_000);
    }
    let began = Date.now();
    let answer = await tokens.fetch();
    if (answer.ok) {
      // The shop works as it should, so this wait does not count towards giving up.
      began += await awaitMoment(tokens, attempt, report, remember);
      answer = await call('POST', `/api/sales/${sale}/orders`, { quantity, token: tokens.token });
    }
    remember();
    if (answer.ok && answer.data.order) {
      const { order, status_url: statusUrl, receipt } = answer.data;
      storage.set(`receipt:${statusUrl}`, receipt ?? null);
      return { order, statusUrl };
    }
    if (answer.status === 401) return { signIn: true };
    if (answer.code === 'bad_token') {
      if (expiredTokens === 3) return { refused: answer.code };
      expiredTokens += 1;
      tokens.drop();
      await sleep(jitter(300));
      continue;
    }
    if (answer.code === 'too_early') {
      // Wait at least a moment, even if this clock is ahead of the shop's.
      await sleep(MIN_EARLY_PAUSE_MS);
      tokens.notBefore = Date.parse(answer.data.not_before) || clock.now() + answer.wait;
      continue;
    }
    const failed = answer.status === 0 || answer.status >= 500;
    unanswered ||= failed;
    if (!failed && classOf[answer.code] !== 'transient') return await settle(sale, answer.code, unanswered);
    report({ attempt: attempt + 1, why: answer.status === 0 ? 'unanswered' : 'busy' });
    await pause(nextAttempt(attempt, answer.wait, spread));
    spent += Date.now() - began;
  }
  return { gaveUp: true };
}

/**
 * Waits for the account's own moment. Stops when `report` returns false: then the sale is no longer open, and the
 * attempt finds out why. Resolves to the milliseconds that it waited.
 */
async function awaitMoment(tokens, attempt, report, remember) {
  const began = Date.now();
  while (tokens.untilMoment > 0 && report({ attempt, why: 'awaiting' }) !== false) {
    remember();
    await pause(Math.min(tokens.untilMoment, 1000));
  }
  return Date.now() - began;
}

/** Called before the page reports a refusal: an earlier attempt without an answer may have bought something. */
async function settle(sale, code, unanswered) {
  const order = unanswered && GONE.includes(classOf[code]) ? await liveOrder(sale) : null;
  return order ? { order } : { refused: code };
}
