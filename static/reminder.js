// Reminds in the open tab, one minute before the start: by a notification where the browser lets us, and always by the
// tab's title and a line on the page. The choice is remembered per sale.

import { call, clock, notes, say, write } from './lib.js';

const BEFORE_MS = 60_000;
/** The longest that a browser's timer can wait is shorter than some sales are away. */
const LONGEST_WAIT_MS = 3_600_000;
const FLASH_MS = 1000;

/** Asks only because somebody has just pressed. Some browsers know no permissions, some no promise. */
async function mayNotify() {
  if (typeof Notification === 'undefined') return false;
  if (Notification.permission !== 'default') return Notification.permission === 'granted';
  try {
    return (await Notification.requestPermission()) === 'granted';
  } catch {
    return false;
  }
}

function notify(title, body, tag) {
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
  try {
    const notification = new Notification(title, { body, tag });
    notification.onclick = () => { window.focus(); notification.close(); };
  } catch { /* Phones want a service worker for it; the title and the page say it too. */ }
}

/** The title speaks until somebody looks. */
function flashTitle(text) {
  const title = document.title;
  let odd = false;
  const timer = setInterval(() => {
    odd = !odd;
    document.title = odd ? `⏰ ${text}` : title;
    if (!document.hidden && !odd) clearInterval(timer);
  }, FLASH_MS);
}

/**
 * Brings the button to life. `opensAt` tells the start as far as the page knows, `tell` shows a line on the page.
 * Returns what to call whenever the page has learned more.
 */
export function reminder(sale, button, opensAt, tell) {
  const key = `remind:${sale}`;
  let timer = 0;

  const draw = () => {
    const on = notes.read(key) !== null;
    button.setAttribute('aria-pressed', String(on));
    write(button, say(on ? 'remind_on' : 'remind_off'));
  };

  /** Also called from timers of a tab that nobody looks at, whose page has not asked for long: so it asks first. */
  async function ring() {
    const { ok, data, took } = await call('GET', `/api/sales/${sale}/button`);
    if (ok) clock.learn(data.now, took);
    const opens = ok ? data.opens_at : opensAt();
    if (ok && data.phase === 'upcoming' && !(clock.until(opens) <= BEFORE_MS + 2000)) return plan(opens);
    notes.keep(key, null);
    draw();
    if (ok && data.phase !== 'upcoming' && data.phase !== 'open') return;
    const text = say(ok && data.phase === 'open' ? 'now_open' : 'remind_soon');
    notify(text, document.querySelector('h1').textContent, key);
    flashTitle(text);
    tell(text);
  }

  function plan(opens = opensAt()) {
    clearTimeout(timer);
    const ms = clock.until(opens) - BEFORE_MS;
    if (notes.read(key) === null || Number.isNaN(ms)) return;
    timer = setTimeout(() => (ms > LONGEST_WAIT_MS ? plan() : ring()), Math.min(Math.max(0, ms), LONGEST_WAIT_MS));
  }

  button.addEventListener('click', async () => {
    if (notes.read(key) !== null) {
      notes.keep(key, null);
      clearTimeout(timer);
      draw();
      tell(say('remind_unset'));
      return;
    }
    notes.keep(key, opensAt());
    draw();
    plan();
    tell(say((await mayNotify()) ? 'remind_set' : 'remind_quiet'));
  });
  button.disabled = false;
  draw();
  plan();
  return () => plan();
}
