// The page of an account on a waitlist: it is loaded again when the place has changed, or the turn has come. Without
// this script the page has a button for it.

import { call, jitter, main, poll } from './lib.js';

/** Short enough to notice a turn while there is time to pay, long enough that a long waitlist costs the shop little. */
const POLL_MS = 4_000;

const { waitlist: path, place } = main.dataset;

poll(async () => {
  const { ok, data } = await call('GET', path);
  const isAsking = document.querySelector('dialog[open]');
  if (ok && !isAsking && `${data.waitlist.state} ${data.waitlist.position}` !== place) location.reload();
  return POLL_MS + jitter(POLL_MS);
});
