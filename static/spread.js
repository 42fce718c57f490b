// When a page asks again. Everybody waits for the same instant and hears the same answer, which may have been kept for a
// second on its way: so each page draws its own share of the time over which the sale spreads those who wait for it (打散).

/** Where a sale does not say. */
const SPREAD_MS = 600;

/** Somewhere between nothing and all of it. */
const share = (ms, random) => ms * random();

/** How long to wait before the next look at the button, in milliseconds. `untilOpen` is NaN when nobody waits for it. */
export function nextLook({ poll_after_ms: poll, spread_ms: spread }, untilOpen, random = Math.random) {
  const pause = Math.max(250, poll ?? 2000);
  const later = pause + share(pause, random);
  // The last look before the opening leads to a moment of one's own after it.
  return untilOpen > 0 && later >= untilOpen ? untilOpen + share(spread ?? SPREAD_MS, random) : later;
}

/** How long to wait before the next attempt to buy. `least` is what the shop asked for. */
export function nextAttempt(attempt, least, spread, random = Math.random) {
  const backoff = Math.min(8000, 400 * 1.6 ** Math.min(attempt, 10));
  const window = Math.max(backoff / 2, Math.min(spread ?? SPREAD_MS, 8000));
  return Math.max(least, backoff / 2) + share(window, random);
}
