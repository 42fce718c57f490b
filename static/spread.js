// When a page sends its next request. All pages wait for the same start and may get the same answer, cached for up to a
// second. So each page draws a random delay within the time over which the sale spreads its waiting visitors (打散).

/** For a sale that does not set one. */
const DEFAULT_SPREAD_MS = 600;

/** How long to wait before the next poll, in milliseconds. `untilOpen` is NaN unless the sale is upcoming. */
export function nextPoll({ poll_after_ms: pollAfter, spread_ms: spread }, untilOpen, random = Math.random) {
  const pause = Math.max(250, pollAfter ?? 2000);
  const later = pause + pause * random();
  // The last poll before the start leads to a random moment after it.
  return untilOpen > 0 && later >= untilOpen ? untilOpen + (spread ?? DEFAULT_SPREAD_MS) * random() : later;
}

/** How long to wait before the next purchase attempt. `least` is the wait that the shop asked for. */
export function nextAttempt(attempt, least, spread, random = Math.random) {
  const backoff = Math.min(8000, 400 * 1.6 ** Math.min(attempt, 10));
  const window = Math.max(backoff / 2, Math.min(spread ?? DEFAULT_SPREAD_MS, 8000));
  return Math.max(least, backoff / 2) + window * random();
}
