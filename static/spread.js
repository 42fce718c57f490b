// When a page sends its next request. All pages wait for the same start and may get the same answer, cached for up to a
// second. So each page draws a random delay within the time over which the sale spreads its waiting visitors (打散). If
// the spread is longer, the shop gives each account its own moment, and a page only has to ask for it early enough.

/** The spread of a sale that does not set one. */
const DEFAULT_SPREAD_MS = 600;
/** From this length on the shop enforces the spread (`Rush::MIN_ENFORCED_SPREAD_MS`). */
const MIN_ENFORCED_SPREAD_MS = 1000;
/**
 * The time over which pages spread the requests that the shop does not spread by itself. In an enforced spread only
 * the earliest moments win, so pages must not ask for their moment much later than scripts do.
 */
function ownSpread(spread = DEFAULT_SPREAD_MS) {
  return spread < MIN_ENFORCED_SPREAD_MS ? spread : DEFAULT_SPREAD_MS;
}

/** How long to wait before the next poll, in milliseconds. `untilOpen` is NaN unless the sale is upcoming. */
export function nextPoll({ poll_after_ms: pollAfter, spread_ms: spread }, untilOpen, random = Math.random) {
  const pause = Math.max(250, pollAfter ?? 2000);
  const later = pause + pause * random();
  // The last poll before the start leads to a random moment after it.
  return untilOpen > 0 && later >= untilOpen ? untilOpen + ownSpread(spread) * random() : later;
}

/** How long to wait before the next purchase attempt. `least` is the wait that the shop asked for. */
export function nextAttempt(attempt, least, spread, random = Math.random) {
  const backoff = Math.min(8000, 400 * 1.6 ** Math.min(attempt, 10));
  const window = Math.max(backoff / 2, ownSpread(spread));
  return Math.max(least, backoff / 2) + window * random();
}
