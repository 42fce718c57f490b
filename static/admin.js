// The console: live numbers once a second with their age, distances to points in time, the checklist before a start,
// forms that are sent once. Dialogs and local times come from `shop.js`, which every page carries.

import { call, count, create, main, say, show, sleep, slot, table, timeZone, translator, utcOf, write } from './lib.js';
import { installDensity } from './density.js';
import { installPalette } from './palette.js';
import { installPauseKey } from './pause_key.js';
import { installShortcuts } from './shortcuts.js';

installPalette();
installDensity();
installShortcuts();
installPauseKey();

// ---- menus ----

/** A click elsewhere closes an open menu; so does Escape, which returns to the menu's button. */
const MENUS = 'details:is(.menu, .places)[open]';
document.addEventListener('click', ({ target }) => {
  for (const menu of document.querySelectorAll(MENUS)) if (!menu.contains(target)) menu.open = false;
});
addEventListener('keydown', ({ key }) => {
  const menu = key === 'Escape' && !document.querySelector('dialog[open]') && document.querySelector(MENUS);
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
/** Tabs that do not fit scroll to the current one. */
for (const line of document.querySelectorAll('.under')) {
  const here = line.querySelector('[aria-current]');
  if (here) line.scrollLeft = here.offsetLeft + here.offsetWidth / 2 - line.clientWidth / 2;
}

// ---- live numbers ----

const states = table('states');
const POLL_INTERVAL_MS = 1000;
const POLL_TIMEOUT_MS = 5000;
const STALE_AFTER_MS = 4000;

/**
 * Reloads, because the server renders the buttons of a state. Does nothing while a dialog is open, a filter is being
 * typed, rows are ticked or a key waits.
 */
function reload() {
  if (!document.querySelector('dialog[open], details[open], .filter :focus, .quick :focus, [data-bulk].some, .pending')) location.reload();
}

function fill(row, sale) {
  const cell = (key, text) => write(row.querySelector(`[data-key="${key}"]`), text);
  const state = row.querySelector('[data-key="state"]');
  if (state.dataset.status !== sale.state) reload();
  cell('state', states[sale.state] ?? sale.state);
  const phase = row.querySelector('[data-key="phase"]');
  if (phase) {
    write(phase, say(`phase_${sale.phase}`));
    phase.dataset.phase = sale.phase;
  }
  const taken = Math.max(0, Math.min(sale.booked ?? sale.sold, sale.total));
  cell('taken', count(taken));
  cell('total', count(sale.total));
  cell('unpaid', count(sale.unpaid));
  if (!['draft', 'scheduled'].includes(sale.state)) cell('money', sale.paid_amount);
  row.querySelector('progress').value = sale.total > 0 ? Math.floor((taken * 100) / sale.total) : 0;
}

async function watch(list) {
  const freshness = slot('freshness');
  let answeredAt = Date.now();
  let queue = null;
  const showAge = () => {
    const age = Date.now() - answeredAt;
    const stale = age > STALE_AFTER_MS;
    const live = say('data_live') + (queue == null ? '' : ` · ${say('queue_ready', queue)}`);
    write(freshness, stale ? say('data_old', Math.round(age / 1000)) : live);
    freshness.dataset.state = stale ? 'old' : 'live';
  };
  // A live region would be read aloud every second.
  freshness.removeAttribute('role');
  for (;;) {
    if (!document.hidden) {
      const { ok, data } = await call('GET', list.dataset.live, undefined, POLL_TIMEOUT_MS);
      if (ok && data.sales) {
        answeredAt = Date.now();
        queue = data.queue?.ready ?? null;
        const current = new Map(data.sales.map((sale) => [sale.id, sale]));
        for (const row of list.querySelectorAll('[data-sale]')) {
          const sale = current.get(row.dataset.sale);
          if (sale) fill(row, sale);
          // The sale has ended since, or was deleted.
          else if (row.querySelector('[data-key="state"]').dataset.status !== 'ended') reload();
        }
      }
      showAge();
    }
    await sleep(POLL_INTERVAL_MS);
  }
}

const list = main.querySelector('[data-live]');
if (list?.children.length) watch(list);

// ---- distances to points in time ----

const span = translator(table('spans'));

/** `in 3 h 20 min`: the two largest units. */
function distance(at) {
  const ms = at - Date.now();
  const minutes = Math.floor(Math.abs(ms) / 60_000);
  const units = [['day', Math.floor(minutes / 1440)], ['hour', Math.floor(minutes / 60) % 24], ['minute', minutes % 60]];
  const first = units.findIndex(([, n]) => n > 0);
  const parts = first < 0 ? [span('soon')] : units.slice(first, first + 2).filter(([, n]) => n > 0).map(([unit, n]) => span(unit, n));
  return span(ms >= 0 ? 'until' : 'ago', parts.join(' '));
}

function drawDistances() {
  for (const element of document.querySelectorAll('[data-until]')) {
    const at = Date.parse(element.dataset.until);
    write(element, Number.isNaN(at) ? '' : distance(at));
  }
}

// Shows the distance to the time that is typed into a field.
for (const element of document.querySelectorAll('[data-until-of]')) {
  const field = document.getElementById(element.dataset.untilOf);
  const follow = () => {
    element.dataset.until = utcOf(field);
    drawDistances();
  };
  field.addEventListener('input', follow);
  follow();
}
if (span('until')) setInterval(drawDistances, 10_000);
drawDistances();

// ---- the checklist before a start ----

/** Lists failed checks in the dialog that starts a sale. */
async function showChecklist(box) {
  const link = box.querySelector('a');
  const { loading, failed, ready, anyway, checklist } = box.dataset;
  const paragraph = (textContent) => create('p', { textContent });
  box.setAttribute('aria-live', 'polite');
  box.replaceChildren(paragraph(loading), link);
  const { ok, data } = await call('GET', checklist);
  if (!ok || !data.checks) return box.replaceChildren(paragraph(failed), link);
  const problems = data.checks.filter(({ state }) => state === 'not_ok');
  box.dataset.worst = problems.length ? 'not_ok' : 'ok';
  const items = create('ul', {}, ...problems.map(({ text }) => create('li', { textContent: text })));
  box.replaceChildren(paragraph(problems.length ? anyway : ready), ...(problems.length ? [items] : []), link);
}

// This must run before the dialog takes the form out of its details. It listens on the document, because the dashboard
// replaces its dialogs.
document.addEventListener('click', ({ target }) => {
  target.closest('summary')?.parentElement.querySelectorAll(':scope > form [data-checklist]').forEach(showChecklist);
}, true);

// ---- the mode of a sale ----

/** Shows what the expected demand says about the mode. */
function advise(advice, fields) {
  const [n, units] = fields.map((field) => Number(field.value));
  const known = n > 0 && units > 0;
  const numbers = [n, units, Math.floor(n / units)];
  const words = n > units ? advice.dataset.rush : advice.dataset.enough;
  show(advice, known ? numbers.reduce((text, number) => text.replace('{}', count(number)), words) : '');
}

const advice = slot('advice');
if (advice) {
  const fields = ['expected_accounts', 'total'].map((id) => document.getElementById(id));
  for (const field of fields) field.addEventListener('input', () => advise(advice, fields));
  advise(advice, fields);
}

// ---- forms that are sent once ----

for (const form of document.querySelectorAll('form[data-once]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
    setTimeout(() => delete form.dataset.sent, 5000);
  });
}
// A page restored by the back button may be sent again; the server recognizes it by its key.
addEventListener('pageshow', () => document.querySelectorAll('form[data-sent]').forEach((form) => delete form.dataset.sent));

// ---- days in the visitor's time zone ----

const query = new URLSearchParams(location.search);

function inOwnZone() {
  query.set('zone', timeZone);
  location.replace(`${location.pathname}?${query}`);
}

const calendar = document.querySelector('[data-calendar]');
if (calendar && timeZone && !query.has('zone') && calendar.dataset.calendar !== timeZone) inOwnZone();

/** A filter counts days in the zone of the times that the page shows, even if its address came from another browser. */
const filterZone = document.querySelector('.filter [name="zone"]');
if (filterZone && timeZone && query.get('zone') !== timeZone) {
  if (query.get('from') || query.get('to')) inOwnZone();
  filterZone.value = timeZone;
  const line = slot('zone');
  write(line, line.dataset.words.replace('{}', timeZone));
}
