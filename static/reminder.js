// The reminder of a start. In the open tab, one minute before: a notification if the browser allows it, and always the
// tab's title and a message on the page. That choice is stored per sale. For an account the shop stores the reminder
// too, and sends mail and push messages five minutes before.

import { call, clock, count, currentUser, main, say, slot, storage, write } from './lib.js';
import { mayNotify, subscribe } from './push.js';

const LEAD_TIME_MS = 60_000;
/** A browser's timer is limited to about 24 days and drifts, so a long wait is split into hours. */
const MAX_TIMER_MS = 3_600_000;
const FLASH_INTERVAL_MS = 1000;

function notify(title, body, tag) {
  if (typeof Notification === 'undefined' || Notification.permission !== 'granted') return;
  try {
    const notification = new Notification(title, { body, tag });
    notification.onclick = () => { window.focus(); notification.close(); };
  } catch { /* Mobile browsers require a service worker. The title and the page remind too. */ }
}

/** Flashes the tab's title until the page is visible. */
function flashTitle(text) {
  const title = document.title;
  let odd = false;
  const timer = setInterval(() => {
    odd = !odd;
    document.title = odd ? `⏰ ${text}` : title;
    if (!document.hidden && !odd) clearInterval(timer);
  }, FLASH_INTERVAL_MS);
}

/**
 * Enables the reminder button. `opensAt` returns the opening as far as the page knows it; shoppers may start earlier,
 * as `list` says. `report` shows a message on the page. Returns a function to call when the page learns more about the
 * sale.
 */
export function reminder(list, opensAt, report) {
  const { sale } = main.dataset;
  const { ahead, begun } = list.dataset;
  const button = slot('remind', list);
  const key = `remind:${sale}`;
  const kept = `/api/sales/${sale}/reminder`;
  let timer = 0;

  const untilStart = (opens) => clock.until(opens) - Number(ahead);

  const draw = () => {
    const on = storage.get(key) !== null;
    button.setAttribute('aria-pressed', String(on));
    write(button, say(on ? 'remind_on' : 'remind_off'));
  };

  /** Checks the start first: a hidden tab has not polled for a long time, and the start may have changed. */
  async function ring() {
    const { ok, data, took } = await call('GET', `/api/sales/${sale}/button`);
    if (ok) clock.learn(data.now, took);
    const opens = ok ? data.opens_at : opensAt();
    const ms = untilStart(opens);
    if (ok && data.phase === 'upcoming' && !(ms <= LEAD_TIME_MS + 2000)) return plan(opens);
    storage.set(key, null);
    draw();
    if (ok && data.phase !== 'upcoming' && data.phase !== 'open') return;
    const text = ok && (data.phase === 'open' || ms <= 0) ? begun : say('remind_soon');
    notify(text, document.querySelector('h1').textContent, key);
    flashTitle(text);
    report(text);
  }

  function plan(opens = opensAt()) {
    clearTimeout(timer);
    const ms = untilStart(opens) - LEAD_TIME_MS;
    if (storage.get(key) === null || Number.isNaN(ms)) return;
    timer = setTimeout(() => (ms > MAX_TIMER_MS ? plan() : ring()), Math.min(Math.max(0, ms), MAX_TIMER_MS));
  }

  /**
   * Shows how many accounts have a reminder, and takes over a reminder that this account set on another device.
   * Returns what the shop knows about the account's reminder.
   */
  async function readKept() {
    const { ok, data } = await call('GET', (await currentUser()) ? kept : `${kept}s`);
    if (!ok) return {};
    write(slot('people', list), data.accounts > 0 ? say('remind_people', count(data.accounts)) : '');
    slot('reach', list).hidden = !data.set || data.push || Boolean(data.mail);
    if (data.set && storage.get(key) === null) {
      storage.set(key, opensAt());
      draw();
      plan();
    }
    return data;
  }

  /** Sets or removes the reminder in the shop. */
  async function keep(on) {
    if (await currentUser()) await call(on ? 'PUT' : 'DELETE', kept);
    return readKept();
  }

  /** Shows how a reminder that is still on will arrive. If the shop does not store it, it arrives only in this tab. */
  function tell({ set, push, mail }, allowed) {
    if (storage.get(key) === null) return;
    const byShop = set && (mail ? (push ? 'remind_both' : 'remind_mail') : push && 'remind_push');
    report(say(byShop || (allowed ? 'remind_set' : 'remind_quiet'), mail));
  }

  button.addEventListener('click', async () => {
    if (storage.get(key) !== null) {
      storage.set(key, null);
      clearTimeout(timer);
      draw();
      report(say('remind_unset'));
      await keep(false);
      return;
    }
    storage.set(key, opensAt());
    draw();
    plan();
    // The browser's question may stay unanswered, so store the reminder in the shop first.
    const answer = mayNotify();
    const own = await keep(true);
    tell(own, true);
    const allowed = await answer;
    const reached = own.set && allowed && await subscribe();
    tell(reached ? await readKept() : own, allowed);
  });
  button.disabled = false;
  draw();
  plan();
  readKept();
  return () => plan();
}
