// The reminders beside further sales. The shop stores them and sends them by mail and push message, so the page may be closed.
// They are for accounts; on the sale's own page a visitor without one has a reminder in the tab.

import { call, clock, currentUser, write } from './lib.js';
import { mayNotify, subscribe } from './push.js';

async function press(button, off) {
  const on = button.getAttribute('aria-pressed') === 'false';
  const path = `/api/sales/${button.dataset.remind}/reminder`;
  const { ok: isDone } = await call(on ? 'PUT' : 'DELETE', path);
  button.closest('.onward').querySelector('[data-slot="onward-failed"]').hidden = isDone;
  if (!isDone) return;
  button.setAttribute('aria-pressed', String(on));
  write(button.firstElementChild, on ? button.dataset.on : off);
  if (on && await mayNotify()) await subscribe();
  const { ok, data } = await call('GET', path);
  const reach = button.closest('.onward').querySelector('[data-slot="onward-reach"]');
  reach.hidden = !ok || !data.set || data.push || Boolean(data.mail);
}

if (await currentUser()) {
  for (const button of document.querySelectorAll('[data-remind]')) {
    const off = button.firstElementChild.textContent;
    button.hidden = !(clock.until(button.dataset.starts) > 0);
    button.addEventListener('click', () => press(button, off));
  }
}
