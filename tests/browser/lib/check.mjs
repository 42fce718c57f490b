// Waiting by looking, and failures that say what was seen.

import { setTimeout as sleep } from 'node:timers/promises';

export { deepEqual as same, ok } from 'node:assert/strict';

/** Looks until `look` returns something true; says what it saw last when it never did. */
export async function eventually(what, look, withinMs = 15_000) {
  const deadline = Date.now() + withinMs;
  for (;;) {
    let seen;
    try {
      seen = await look();
      if (seen) return seen;
    } catch (error) {
      seen = error.message;
    }
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}; last seen: ${String(seen)}`);
    await sleep(60);
  }
}
