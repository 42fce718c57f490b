// Live parts of every page: the visitor's name, local times, dialogs, an order that follows its status. Every page
// works without this file. `list.js` is for the list of sales, `sale.js` for the page of a sale.

import { call, clock, create, currentUser, digits, fetchOrder, inFull, isToday, jitter, locale, main, page, poll, say, show, slot, timeOfDay, useLocalTime, when } from './lib.js';

/** Turns every printed time into the visitor's own. A deadline of today is told by its time alone. */
function localTimes() {
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = inFull(at);
    const seconds = 'seconds' in time.dataset;
    time.textContent = 'deadline' in time.dataset && isToday(at) ? timeOfDay(at, seconds) : when(at, seconds);
  }
  document.querySelectorAll('input[data-utc]').forEach(useLocalTime);
}

/** Fills in the user's name on pages whose cached copy is the same for all visitors. */
async function fillAccount() {
  const link = document.querySelector('[data-account="ask"]');
  const user = link && await currentUser();
  if (!user) return;
  const form = document.getElementById('signed-in').content.cloneNode(true);
  form.querySelector('bdi').textContent = user.username;
  link.replaceWith(form);
  if (user.role !== 'user') {
    document.querySelector('.top nav').prepend(document.getElementById('admin-link').content.cloneNode(true));
  }
}

/** Sets the clock from the shop's time in the page, corrected for the time since the page was sent. */
function learnAge(now) {
  clock.learn(now, 2 * (performance.now() - performance.getEntriesByType('navigation')[0].responseStart));
}

// ---- one order ----

/** Counts down to the payment deadline, and reloads the page when the order or its payment changes. */
function runOrder() {
  const due = slot('due');
  if (due) {
    const ring = slot('ring');
    learnAge(ring.dataset.now);
    const [from, until] = [ring.dataset.from, ring.dataset.until].map((time) => Date.parse(time));
    const tick = () => {
      const ms = until - clock.now();
      ring.lastElementChild.setAttribute('stroke-dasharray', `${Math.min(100, Math.max(0, 100 * ms / (until - from))).toFixed(2)} 100`);
      ring.classList.toggle('soon', ms < 120_000);
      show(due, ms > 0 ? digits(ms) : say('time_over'));
      due.classList.toggle('soon', ms < 120_000);
      if (ms < -3000 && ms > -4000) location.reload();
    };
    tick();
    setInterval(tick, 1000);
  }
  const { status, statusUrl, declined } = main.dataset;
  if (status === 'reserved' || status === 'unpaid' || status === 'refund_pending') {
    const pause = status === 'reserved' ? 700 : 5000;
    poll(async () => {
      const { ok, data } = await fetchOrder(statusUrl);
      const { order } = ok ? data : {};
      if (order && (order.status !== status || Boolean(order.payment_declined) !== (declined !== undefined))) location.reload();
      return pause + jitter(pause);
    });
  }
}

/** Reloads the page of a payment once its address leads on, because the payment is made or over. */
function runPayment() {
  poll(async () => {
    const answer = await fetch(location.pathname, { method: 'HEAD', redirect: 'manual' }).catch(() => null);
    if (answer?.type === 'opaqueredirect') location.reload();
    return 3000 + jitter(2000);
  });
}

/** Counts down to the start of the sale beside a form. */
function runOpening() {
  const place = main.querySelector('[data-opens]');
  if (!place) return;
  learnAge(place.dataset.now);
  const tick = () => {
    const ms = clock.until(place.dataset.opens);
    show(place, ms > 0 ? digits(ms) : place.dataset.open);
  };
  tick();
  setInterval(tick, 1000);
}

/**
 * Counts down wherever an order waits for its payment. At the end a list is reloaded; a form keeps what was entered.
 */
function runPaymentTimes() {
  const places = [...main.querySelectorAll('[data-pay-by]')];
  if (places.length === 0) return;
  const tick = () => places.forEach((place) => {
    const ms = Date.parse(place.dataset.payBy) - clock.now();
    show(place, ms > 0 ? digits(ms) : say('time_over'));
    // By now the order is cancelled.
    if (page === 'orders' && ms < -3000 && ms > -4000) location.reload();
  });
  tick();
  setInterval(tick, 1000);
}

// ---- a page that was unavailable ----

/** Reloads an unavailable page once the shop answers again. The offline page is replaced by the list of sales. */
function runRetry(probe = location.pathname + location.search) {
  const retry = async () => {
    const { status } = await call('GET', probe);
    if (status > 0 && status < 500) {
      if (location.pathname === `/${locale}/offline`) location.replace(`/${locale}/`);
      else location.reload();
    }
    return 2000 + jitter(3000);
  };
  setTimeout(() => poll(retry), 2000 + jitter(1000));
}

// ---- sections ----

/** Opens the section that the address names. Newer browsers do this themselves. */
function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  const section = target?.closest('details:not([open])');
  if (!section) return;
  section.open = true;
  target.scrollIntoView();
}

// ---- dialogs ----

/** Turns each `<details data-dialog>` into a dialog, which is in the document while it is open. Without scripts it unfolds. */
export function dialogs(within = document) {
  if (typeof HTMLDialogElement === 'undefined') return;
  for (const details of within.querySelectorAll('details[data-dialog]')) {
    const form = details.querySelector('form');
    const article = create('article');
    const box = create('dialog', {}, article);
    box.setAttribute('aria-label', form.querySelector('h2, h3')?.textContent ?? '');
    form.querySelectorAll('[data-close]').forEach((button) => {
      button.hidden = false;
      button.addEventListener('click', () => box.close());
    });
    details.querySelector('summary').addEventListener('click', (event) => {
      event.preventDefault();
      article.append(form);
      document.body.append(box);
      box.showModal();
    });
    box.addEventListener('click', (event) => event.target === box && box.close());
    box.addEventListener('close', () => {
      // Opened again before this event came.
      if (box.open) return;
      details.append(form);
      box.remove();
    });
  }
}

// ---- copying ----

const COPIED_MS = 3000;

/** Shows the buttons that copy: their own text, or the field or list that `data-copy` names. */
function copyButtons() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll('[data-copy], [data-copy-text]')) {
    const words = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const source = document.getElementById(button.dataset.copy);
      source?.select?.();
      try {
        await navigator.clipboard.writeText(button.dataset.copyText ?? source.value ?? source.innerText);
      } catch {
        // The visitor can copy the selected text.
        return;
      }
      button.textContent = button.dataset.copied;
      setTimeout(() => { button.textContent = words; }, COPIED_MS);
    });
  }
}

/** Shows the buttons that print the page. */
function printButtons() {
  for (const button of document.querySelectorAll('[data-print]')) {
    button.hidden = false;
    button.addEventListener('click', () => print());
  }
}

// ---- without a connection ----

/**
 * Starts the service worker once the page has loaded, so that it does not slow down a first visit, and sends it what to
 * keep.
 */
async function keepForLater() {
  try {
    await navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' });
    const { active } = await navigator.serviceWorker.ready;
    const pictures = [...document.images].filter((image) => image.complete).map((image) => new URL(image.currentSrc || image.src).pathname);
    active.postMessage({ path: location.pathname, pictures });
  } catch { /* The browser forbids it, or the shop does not answer. The page works without the worker. */ }
}

if (navigator.serviceWorker && !location.pathname.startsWith('/admin')) {
  if (document.readyState === 'complete') keepForLater();
  else addEventListener('load', keepForLater);
}

localTimes();
openTarget();
addEventListener('hashchange', openTarget);
dialogs();
runOpening();
copyButtons();
printButtons();
fillAccount();
({ order: runOrder, orders: runPaymentTimes, payment: runPayment, 'order-address': runPaymentTimes, retry: () => runRetry() })[page]?.();
// The worker marks pages from its cache. Ask /api/ping and not for the page: the browser's own cache may answer that
// for a minute.
if (document.documentElement.hasAttribute('data-kept')) runRetry('/api/ping');
