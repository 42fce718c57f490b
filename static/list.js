// The list of sales: the live state of each card, session times in the visitor's time zone, and the tab of the session
// in view.

import { call, clock, count, dateOf, digits, jitter, main, percentTaken, poll, say, show, slot, timeOfDay, write } from './lib.js';

/** From this share on, an open sale counts as nearly over. */
const HOT_PERCENT = 80;
const DAY_MS = 86_400_000;

// ---- cards ----

/** Whether the waiting room of a sale takes people. */
const isJoining = (card, sale) => ['upcoming', 'open'].includes(sale.phase) && clock.until(card.dataset.joining) <= 0;

/** On a phone a card has no other line for its time. */
const phone = matchMedia('(max-width: 43.99rem)');

/** The time left as cards have room for it: from a day on without seconds, and on a phone the date in its place. */
function clockOf(words, at) {
  const ms = clock.until(at);
  if (!(ms > 0)) return '';
  if (ms < DAY_MS) return `${say(words)} ${digits(ms)}`;
  const day = new Date(at);
  return phone.matches ? say(`${words}_at`, `${dateOf(day)} ${timeOfDay(day)}`) : `${say(words)} ${digits(ms).slice(0, -3)}`;
}

/** The key of a card's call to action. `action` in `src/pages/filters.rs` does the same without phases; change both. */
function actionOf(card, { mode, phase, drawn }) {
  if (phase === 'paused') return 'go_paused';
  if (mode === 'draw') return { upcoming: 'go_remind', ended: drawn ? 'go_result' : 'go_over' }[phase] ?? 'go_enter';
  if (phase === 'ended') return 'go_over';
  if (mode === 'queue') return phase === 'sold_out' ? 'go_gone' : isJoining(card, { phase }) ? 'go_join' : 'go_remind';
  return { upcoming: 'go_remind', open: 'go_buy', sold_out: 'go_wait' }[phase];
}

/** Fills the card of a draw: until when entries are taken. Nothing runs out, so no stock is shown. */
function fillDraw(card, { phase, drawn, opens_at: opens, closes_at: closes }) {
  const badge = slot('phase', card);
  show(badge, say({ open: 'draw_open', ended: drawn ? 'draw_drawn' : 'draw_ended' }[phase] ?? `phase_${phase}`));
  badge.dataset.phase = phase;
  const [words, at] = { upcoming: ['draw_opens', opens], open: ['draw_closes', closes] }[phase] ?? [];
  write(slot('live', card), clockOf(words, at));
}

/** Shows the live state of a sale on its card. The space is reserved, so nothing moves. */
function fillCard(card, sale) {
  card.classList.toggle('over', sale.phase === 'ended');
  card.dataset.phase = sale.phase;
  write(slot('go', card), say(actionOf(card, sale)));
  if (sale.mode === 'draw') {
    fillDraw(card, sale);
    return;
  }
  const taken = percentTaken(sale);
  const joins = isJoining(card, sale);
  const isHot = sale.phase === 'open' && taken >= HOT_PERCENT;
  const badge = slot('phase', card);
  show(badge, say(joins ? 'phase_joining' : isHot ? 'hot' : `phase_${sale.phase}`));
  badge.dataset.phase = joins ? 'open' : isHot ? 'hot' : sale.phase;
  const upcoming = sale.phase === 'upcoming';
  const left = sale.phase === 'open' ? say('left', count(sale.remaining)) : '';
  write(slot('live', card), upcoming ? clockOf('head_upcoming', sale.opens_at) : left);
  const counted = !upcoming && sale.total > 0;
  write(slot('taken', card), counted ? say('taken', taken) : '');
  const bar = slot('bar', card);
  bar.hidden = !counted;
  bar.value = taken;
}

const GROUPS = { upcoming: 'next', open: 'live', sold_out: 'live', paused: 'live', ended: 'past' };

/** Moves a card to its group if the cached page is older than the sale's last change. The first card stays. */
function placeCard(card, sale) {
  const from = card.closest('[data-group]');
  const group = GROUPS[sale.phase];
  if (!from || from.dataset.group === group || card.closest('.first')) return;
  const to = main.querySelector(`[data-group="${group}"]`);
  if (!to) return;
  to.querySelector('.cards:not(.first)').prepend(card);
  for (const one of [from, to]) {
    one.hidden = one.querySelector('.card') === null;
    const tab = main.querySelector(`[data-tab="${one.id}"]`);
    if (tab) tab.hidden = one.hidden;
  }
}

function runList() {
  const cards = new Map([...document.querySelectorAll('.card[data-sale]')].map((card) => [card.dataset.sale, card]));
  let sales = [];
  const each = (f) => sales.forEach((sale) => cards.has(String(sale.id)) && f(cards.get(String(sale.id)), sale));
  poll(async () => {
    const { ok, data, took } = await call('GET', '/api/sales');
    if (!ok) return 4000 + jitter(4000);
    clock.learn(data.now, took);
    sales = data.sales ?? [];
    each(placeCard);
    each(fillCard);
    const wait = Math.max(1000, data.poll_after_ms ?? 5000);
    const starts = sales.filter((sale) => sale.phase === 'upcoming').map((sale) => clock.until(sale.opens_at)).filter((ms) => ms > 0);
    return Math.min(wait + jitter(wait), Math.max(500, Math.min(...starts)) + jitter(1000));
  });
  setInterval(() => each(fillCard), 1000);
}

// ---- sessions ----

/** Marks the tab of the session that is in view. */
function followTabs() {
  const tabs = new Map([...main.querySelectorAll('[data-tab]')].map((tab) => [document.getElementById(tab.dataset.tab), tab]));
  const inView = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) inView[isIntersecting ? 'add' : 'delete'](target);
    const current = [...tabs.keys()].find((section) => inView.has(section));
    for (const [section, tab] of tabs) tab.toggleAttribute('data-current', section === current);
  }, { rootMargin: '-128px 0px -40% 0px' });
  for (const section of tabs.keys()) observer.observe(section);
}

followTabs();
runList();
