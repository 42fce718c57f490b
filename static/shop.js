// What is live on the shoppers' pages. Every page works without this file; it adds the visitor's name and time zone,
// the state of the sales on the list, and an order that follows what happens to it. The page of a sale is `sale.js`.

import { call, clock, count, digits, jitter, keepAsking, language, main, page, say, share, show, slot, whoIsHere, write } from './lib.js';

/** Turns every printed UTC time into the visitor's own. */
function localTimes() {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' });
  for (const time of document.querySelectorAll('time[datetime]')) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = time.textContent;
    time.textContent = format.format(at);
  }
}

// ---- who is looking ----

/** On pages that all share, the name comes from here. */
async function fillAccount() {
  const link = document.querySelector('[data-account="ask"]');
  const user = link && await whoIsHere();
  if (!user) return;
  const form = document.getElementById('signed-in').content.cloneNode(true);
  form.querySelector('bdi').textContent = user.username;
  link.replaceWith(form);
  if (user.role !== 'user') {
    document.querySelector('.top nav').prepend(document.getElementById('admin-link').content.cloneNode(true));
  }
}

// ---- the list ----

/** What a card says about how its sale is going. Its place is reserved, so nothing moves. */
function fillCard(card, sale) {
  const badge = slot('phase', card);
  show(badge, say(`phase_${sale.phase}`));
  badge.dataset.phase = sale.phase;
  card.classList.toggle('over', sale.phase === 'ended');
  const waits = sale.phase === 'upcoming';
  const ms = waits ? clock.until(sale.opens_at) : NaN;
  const left = sale.phase === 'open' ? say('left', count(sale.remaining)) : '';
  write(slot('live', card), ms > 0 ? `${say('head_upcoming')} ${digits(ms)}` : left);
  const taken = share(sale);
  const counts = !waits && sale.total > 0;
  write(slot('taken', card), counts ? say('taken', taken) : '');
  const bar = slot('bar', card);
  bar.hidden = !counts;
  bar.value = taken;
}

const SHELVES = { upcoming: 'next', open: 'live', sold_out: 'live', paused: 'live', ended: 'past' };

/** Moves a card to where it belongs when the page is older than the sale's last change. The first card stays. */
function placeCard(card, sale) {
  const now = card.closest('[data-shelf]');
  const next = main.querySelector(`[data-shelf="${SHELVES[sale.phase]}"]`);
  if (!now || !next || now === next) return;
  next.querySelector('.cards').prepend(card);
  for (const shelf of [now, next]) shelf.hidden = shelf.querySelector('.card') === null;
}

function runList() {
  const cards = new Map([...document.querySelectorAll('.card[data-sale]')].map((c) => [c.dataset.sale, c]));
  let sales = [];
  const each = (f) => sales.forEach((sale) => cards.has(String(sale.id)) && f(cards.get(String(sale.id)), sale));
  keepAsking(async () => {
    const { ok, data, took } = await call('GET', '/api/sales');
    if (!ok) return 4000 + jitter(4000);
    clock.learn(data.now, took);
    sales = data.sales ?? [];
    each(placeCard);
    each(fillCard);
    const wait = Math.max(1000, data.poll_after_ms ?? 5000);
    const starts = sales.filter((s) => s.phase === 'upcoming').map((s) => clock.until(s.opens_at)).filter((ms) => ms > 0);
    return Math.min(wait + jitter(wait), Math.max(500, Math.min(...starts)) + jitter(1000));
  });
  setInterval(() => each(fillCard), 1000);
}

// ---- one order ----

function runOrder() {
  const due = slot('due');
  if (due) {
    const tick = () => {
      const ms = Date.parse(due.dataset.until) - clock.now();
      show(due, ms > 0 ? digits(ms) : say('time_over'));
      due.classList.toggle('soon', ms < 120_000);
      if (ms < -3000 && ms > -4000) location.reload();
    };
    tick();
    setInterval(tick, 1000);
  }
  const { status, statusUrl } = main.dataset;
  if (status === 'reserved' || status === 'unpaid' || status === 'refund_pending') {
    const pause = status === 'reserved' ? 700 : 5000;
    keepAsking(async () => {
      const { ok, data } = await call('GET', statusUrl);
      if (ok && data.order && data.order.status !== status) location.reload();
      return pause + jitter(pause);
    });
  }
}

// ---- a page that could not be shown ----

/** What was away for a moment comes back by itself. */
function runRetry() {
  const again = async () => {
    const { status } = await call('GET', location.pathname + location.search);
    if (status > 0 && status < 500) location.reload();
    return 2000 + jitter(3000);
  };
  setTimeout(() => keepAsking(again), 2000 + jitter(1000));
}

/** Turns `<details data-dialog>` into a dialog; without scripts it simply unfolds. */
function dialogs() {
  if (typeof HTMLDialogElement === 'undefined') return;
  for (const details of document.querySelectorAll('details[data-dialog]')) {
    const form = details.querySelector('form');
    const box = document.createElement('dialog');
    const article = document.createElement('article');
    box.append(article);
    document.body.append(box);
    const heading = form.querySelector('h2, h3');
    box.setAttribute('aria-label', heading?.textContent ?? '');
    form.querySelectorAll('[data-close]').forEach((b) => { b.hidden = false; b.addEventListener('click', () => box.close()); });
    // A dialog is itself the question that the box answers without scripts.
    form.querySelectorAll('.sure').forEach((sure) => { sure.querySelector('input').checked = true; sure.hidden = true; });
    details.querySelector('summary').addEventListener('click', (event) => {
      event.preventDefault();
      article.append(form);
      box.showModal();
    });
    box.addEventListener('click', (event) => event.target === box && box.close());
    box.addEventListener('close', () => details.append(form));
  }
}

localTimes();
dialogs();
fillAccount();
({ list: runList, order: runOrder, retry: runRetry })[page]?.();
