// The sales desk: live numbers each second, honest about their age, and times in the administrator's own zone.
// Dialogs and printed times come from shop.js, which every page carries.

const main = document.getElementById('main');
const table = (id) => Object.fromEntries([...(document.getElementById(id)?.content.querySelectorAll('[data-key]') ?? [])].map((e) => [e.dataset.key, e.textContent]));
const words = table('words');
const states = table('states');
const say = (key, value = '') => (words[key] ?? '').replace('{}', value);

/** Marks the tab of this page. */
for (const tab of document.querySelectorAll('.tabs a')) {
  if (new URL(tab.href).pathname === location.pathname) tab.setAttribute('aria-current', 'page');
}

// ---- live numbers ----

const NUMBERS = ['total', 'booked', 'sold', 'access', 'outbox', 'unpaid', 'paid'];
const PAUSE_MS = 1000;
const OLD_AFTER_MS = 4000;

function fill(row, sale) {
  for (const key of NUMBERS) {
    const cell = row.querySelector(`dd[data-key="${key}"]`);
    const text = sale[key] == null ? '–' : String(sale[key]);
    if (cell.textContent !== text) cell.textContent = text;
  }
  const state = row.querySelector('[data-key="state"]');
  const phase = row.querySelector('[data-key="phase"]');
  // Which buttons there are depends on the state, and the server knows that best; not while a question is open.
  if (state.dataset.status !== sale.state && !document.querySelector('dialog[open], details[open]')) location.reload();
  state.textContent = states[sale.state] ?? sale.state;
  phase.textContent = say(`phase_${sale.phase}`);
  phase.dataset.phase = sale.phase;
}

async function watch(desk) {
  const pulse = main.querySelector('[data-slot="pulse"]');
  let seen = Date.now();
  let queue = null;
  const tell = () => {
    const age = Date.now() - seen;
    const old = age > OLD_AFTER_MS;
    const text = old ? say('data_old', Math.round(age / 1000)) : say('data_live') + (queue == null ? '' : ` · ${say('queue_ready', queue)}`);
    if (pulse.textContent !== text) pulse.textContent = text;
    pulse.dataset.state = old ? 'old' : 'live';
  };
  // A status that changes every second must not be read aloud every second.
  pulse.removeAttribute('role');
  for (;;) {
    if (!document.hidden) {
      try {
        const response = await fetch(desk.dataset.live, { signal: AbortSignal.timeout(5000) });
        if (!response.ok) throw new Error(response.status);
        const data = await response.json();
        seen = Date.now();
        queue = data.queue?.ready ?? null;
        for (const sale of data.sales) {
          const row = desk.querySelector(`[data-sale="${CSS.escape(sale.id)}"]`);
          if (row) fill(row, sale);
        }
      } catch {
        // The age that `tell` shows says it all.
      }
      tell();
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

const desk = document.querySelector('[data-live]');
if (desk?.children.length) watch(desk);

// ---- the log ----

/** What a record says, a line for each value. */
function lines(code) {
  const record = code.textContent ? JSON.parse(code.textContent) : {};
  const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
  return Object.entries(record).map(([key, value]) => `${key}: ${text(value)}`);
}

// Of two records only what differs.
for (const row of document.querySelectorAll('.log tbody tr')) {
  const [before, after] = row.querySelectorAll('code');
  const [old, now] = [lines(before), lines(after)];
  before.textContent = old.filter((line) => !now.includes(line)).join('\n');
  after.textContent = now.filter((line) => !old.includes(line)).join('\n');
}

// ---- times in forms ----

/** `2026-11-21T20:00:00` in the administrator's zone, as such a field wants it. */
function forField(at) {
  const two = (n) => String(n).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The field shows local time; a hidden one of the same name carries RFC 3339 in UTC. */
for (const field of document.querySelectorAll('input[data-utc]')) {
  const carrier = document.createElement('input');
  carrier.type = 'hidden';
  carrier.name = field.name;
  field.removeAttribute('name');
  field.after(carrier);
  const given = field.value && new Date(`${field.value}Z`);
  if (given && !Number.isNaN(given.getTime())) field.value = forField(given);
  const carry = () => {
    const at = new Date(field.value);
    carrier.value = Number.isNaN(at.getTime()) ? '' : at.toISOString();
  };
  field.addEventListener('input', carry);
  carry();
  const help = document.getElementById(`${field.id}-help`);
  help.textContent = `${help.dataset.local} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}
