// Assertions, and waiting for a condition.

import { setTimeout as sleep } from 'node:timers/promises';

export { deepEqual as same, ok } from 'node:assert/strict';

/** Calls `check` until it returns a truthy value, and returns that value. Fails with the last value or error after the timeout. */
export async function eventually(what, check, timeoutMs = 60_000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    let seen;
    try {
      seen = await check();
      if (seen) return seen;
    } catch (error) {
      seen = error.message;
    }
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}; last value: ${String(seen)}`);
    await sleep(60);
  }
}
