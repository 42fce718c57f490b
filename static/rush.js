// A purchase that is asked for until there is an answer that settles it. Asking again is safe: whoever holds units is
// told of the same order, so no answer only means "ask again".

import { call, clock, jitter, notes, sleep } from './lib.js';
import { nextAttempt } from './spread.js';

const TRANSIENT = new Set(['busy', 'rate_limited', 'overloaded', 'unavailable']);
const GONE = new Set(['sold_out', 'ended', 'not_open', 'paused']);
const LIVE = new Set(['reserved', 'unpaid', 'paid']);
/** Counted only while there is a network. */
const GIVE_UP_AFTER_MS = 180_000;
/** A purchase that was under way longer ago is not gone on with: nobody expects it any more. */
const FORGET_AFTER_MS = 120_000;

/** Waits, but no longer than until the visitor or the network is back. */
function pause(ms) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener('online', done);
      document.removeEventListener('visibilitychange', seen);
      resolve();
    };
    const seen = () => document.hidden || done();
    const timer = setTimeout(done, ms);
    addEventListener('online', done);
    document.addEventListener('visibilitychange', seen);
  });
}

/** The purchase of this sale that a page left unfinished, by reload, by another tab, or by losing its connection. */
export function unfinished(sale) {
  const note = notes.read(`rush:${sale}`);
  const fresh = note && Math.abs(Date.now() - note.at) < FORGET_AFTER_MS;
  if (note && !fresh) forget(sale);
  return fresh ? note : null;
}

/** What was unfinished is settled. */
export const forget = (sale) => notes.keep(`rush:${sale}`, null);

/** The newest live order of whoever is signed in for this sale, or null; undefined when nobody could say. */
export async function liveOrder(sale) {
  const { ok, data } = await call('GET', '/api/orders');
  if (!ok) return undefined;
  return (data.orders ?? []).find((order) => String(order.sale_id) === sale && LIVE.has(order.status)) ?? null;
}

/** Tokens for one sale; one that is in hand saves a round trip when the button is pressed. */
export class Tokens {
  constructor(sale) {
    this.path = `/api/sales/${sale}/token`;
    this.token = null;
    this.expires = 0;
  }

  /** The answer to asking for one; at once when there is one that lasts. */
  async fetch() {
    if (this.token && this.expires - clock.now() > 2000) return { ok: true };
    const answer = await call('POST', this.path);
    if (answer.ok) {
      this.token = answer.data.token;
      this.expires = Date.parse(answer.data.expires_at) || Infinity;
    }
    return answer;
  }

  drop() {
    this.token = null;
  }
}

/**
 * Buys. Attempts are spread over as long as the sale says. `tell` hears of every step: `{ attempt, why }` with why one of `first`, `busy`, `unanswered`, `offline`.
 * Resolves to `{ order, statusUrl }`, `{ signIn: true }`, `{ refused: code }` or `{ gaveUp: true }`.
 */
export async function rush(sale, quantity, tokens, spread, tell) {
  const remember = () => notes.keep(`rush:${sale}`, { quantity, at: Date.now() });
  remember();
  const outcome = await tryUntilSettled(sale, quantity, tokens, spread, tell, remember);
  // Whoever gave up may still have won: the next visit finds out.
  if (!outcome.gaveUp) forget(sale);
  return outcome;
}

async function tryUntilSettled(sale, quantity, tokens, spread, tell, remember) {
  let spent = 0;
  let stale = 0;
  let unanswered = false;
  for (let attempt = 1; spent < GIVE_UP_AFTER_MS; attempt += 1) {
    while (navigator.onLine === false) {
      tell({ attempt, why: 'offline' });
      remember();
      await pause(15_000);
    }
    const began = Date.now();
    const answer = await attemptOnce(sale, quantity, tokens);
    remember();
    if (answer.ok && answer.data.order) return { order: answer.data.order, statusUrl: answer.data.status_url };
    if (answer.status === 401) return { signIn: true };
    if (answer.code === 'bad_token' && stale < 3) {
      stale += 1;
      tokens.drop();
      await sleep(jitter(300));
      continue;
    }
    unanswered ||= answer.status === 0 || answer.status >= 500;
    const transient = answer.status === 0 || answer.status >= 500 || TRANSIENT.has(answer.code);
    if (!transient) return await settle(sale, answer.code, unanswered);
    tell({ attempt: attempt + 1, why: answer.status === 0 ? 'unanswered' : 'busy' });
    await pause(nextAttempt(attempt, answer.wait, spread));
    spent += Date.now() - began;
  }
  return { gaveUp: true };
}

async function attemptOnce(sale, quantity, tokens) {
  const answer = await tokens.fetch();
  if (!answer.ok) return answer;
  return call('POST', `/api/sales/${sale}/orders`, { quantity, token: tokens.token });
}

/** Before anybody is told that all is gone: an earlier attempt that nobody answered may have won. */
async function settle(sale, code, unanswered) {
  const order = unanswered && GONE.has(code) ? await liveOrder(sale) : null;
  return order ? { order } : { refused: code };
}
