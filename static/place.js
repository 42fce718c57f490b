// Where a place is in a waiting room, computed from the state that everyone gets. `domain/waiting_room.rs` does the same;
// change both.

/** The number of a place: the first 48 bits of SHA-256(seed ‖ entry). `null` if the browser gives pages no SHA-256. */
export async function placeNumber(seed, entry) {
  if (!globalThis.crypto?.subtle) return null;
  const bytes = Uint8Array.from((seed + entry).match(/../g), (digits) => Number.parseInt(digits, 16));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return digest.subarray(0, 6).reduce((number, byte) => number * 256 + byte, 0);
}

/** How many places of a segment come before a number. Between two marks it is an estimate. */
function before({ places, marks }, number) {
  const rank = (index) => Math.floor((index * (places - 1)) / Math.max(1, marks.length - 1));
  const found = marks.findIndex((mark) => mark > number);
  const above = found < 0 ? marks.length : found;
  if (above === 0) return 0;
  const [low, lowRank] = [marks[above - 1], rank(above - 1)];
  if (above === marks.length) return lowRank;
  return lowRank + Math.floor(((number - low) * (rank(above) - lowRank)) / Math.max(1, marks[above] - low));
}

/** How many are called before a place; `null` until its segment is closed. */
export function ahead({ segments }, place) {
  const own = segments.find(({ segment }) => segment === place.segment);
  if (!own) return null;
  const earlier = segments.filter(({ segment }) => segment < place.segment);
  return earlier.reduce((sum, { places, called }) => sum + places - called, 0) + Math.max(0, before(own, place.number) - own.called);
}

/** Whether the calls have come to a place. */
export function isCalled({ serving }, place) {
  if (!serving) return false;
  return place.segment < serving.segment || (place.segment === serving.segment && place.number <= serving.number);
}

/** Seconds until `count` more are called at the pace of the last minute; `null` if there were no calls. */
export function secondsUntil({ called_last_minute: pace }, count) {
  return pace > 0 ? Math.floor((count * 60) / pace) : null;
}

const MIN_POLL_MS = 3000;
const MAX_POLL_MS = 60_000;

/** Milliseconds until the next poll: a tenth of the wait, and up to half as much again at random. */
export function nextPoll({ poll_after_ms: least }, seconds) {
  const wait = Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, least, (seconds ?? 0) * 100));
  return wait * (1 + Math.random() / 2);
}
