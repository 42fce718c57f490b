// The sales desk: live numbers each second, honest about their age, and times in the administrator's own zone.
// Dialogs and printed times come from shop.js, which every page carries.

const main = document.getElementById('main');
const table = (id) => Object.fromEntries([...(document.getElementById(id)?.content.querySelectorAll('[data-key]') ?? [])].map((e) => [e.dataset.key, e.textContent]));
const words = table('words');
const states = table('states');
const say = (key, value = '') => (words[key] ?? '').replace('{}', value);

// ---- live numbers ----

const NUMBERS = ['total', 'booked', 'sold', 'access', 'outbox', 'unpaid', 'paid'];
const PAUSE_MS = 1000;
const OLD_AFTER_MS = 4000;

function put(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** The server knows best which buttons a state has; not while somebody is busy with a question or a search. */
function lookAgain() {
  if (!document.querySelector('dialog[open], details[open], .filter :focus')) location.reload();
}

function fill(row, sale) {
  for (const key of NUMBERS) put(row.querySelector(`dd[data-key="${key}"]`), sale[key] == null ? '–' : String(sale[key]));
  const state = row.querySelector('[data-key="state"]');
  if (state.dataset.status !== sale.state) lookAgain();
  put(state, states[sale.state] ?? sale.state);
  const phase = row.querySelector('[data-key="phase"]');
  if (phase) {
    put(phase, say(`phase_${sale.phase}`));
    phase.dataset.phase = sale.phase;
  }
  const percent = row.querySelector('[data-key="percent"]');
  if (percent && sale.total > 0) {
    const taken = Math.min(100, Math.floor(((sale.booked ?? sale.sold) * 100) / sale.total));
    put(percent, percent.dataset.words.replace('{}', taken));
    row.querySelector('progress').value = taken;
  }
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
        const current = new Map(data.sales.map((sale) => [sale.id, sale]));
        for (const row of desk.querySelectorAll('[data-sale]')) {
          const sale = current.get(row.dataset.sale);
          if (sale) fill(row, sale);
          // It has ended since, or was deleted.
          else if (row.querySelector('[data-key="state"]').dataset.status !== 'ended') lookAgain();
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

// ---- how long until then ----

const spans = table('spans');

/** `in 3 h 20 min`, with the two largest units. */
function distance(at) {
  const ms = at - Date.now();
  const minutes = Math.floor(Math.abs(ms) / 60_000);
  const units = [['day', Math.floor(minutes / 1440)], ['hour', Math.floor(minutes / 60) % 24], ['minute', minutes % 60]];
  const first = units.findIndex(([, n]) => n > 0);
  const parts = first < 0 ? [spans.soon] : units.slice(first, first + 2).filter(([, n]) => n > 0).map(([unit, n]) => spans[unit].replace('{}', n));
  return (ms >= 0 ? spans.until : spans.ago).replace('{}', parts.join(' '));
}

function tellDistances() {
  for (const element of document.querySelectorAll('[data-until]')) {
    const at = Date.parse(element.dataset.until);
    put(element, Number.isNaN(at) ? '' : distance(at));
  }
}

if (spans.until) setInterval(tellDistances, 10_000);

// ---- the checklist before a start ----

/** What is not as it should be, said in the dialog that asks whether to start. */
async function forewarn(box) {
  const link = box.querySelector('a');
  const { loading, failed, ready, anyway, checklist } = box.dataset;
  const text = (words) => Object.assign(document.createElement('p'), { textContent: words });
  box.setAttribute('aria-live', 'polite');
  box.replaceChildren(text(loading), link);
  try {
    const response = await fetch(checklist, { signal: AbortSignal.timeout(8000) });
    if (!response.ok) throw new Error(response.status);
    const found = (await response.json()).checks.filter(({ state }) => state === 'not_ok');
    box.dataset.worst = found.length ? 'not_ok' : 'ok';
    const list = document.createElement('ul');
    list.append(...found.map((check) => Object.assign(document.createElement('li'), { textContent: check.text })));
    box.replaceChildren(text(found.length ? anyway : ready), ...(found.length ? [list] : []), link);
  } catch {
    box.replaceChildren(text(failed), link);
  }
}

for (const box of document.querySelectorAll('[data-checklist]')) {
  box.closest('details')?.querySelector('summary').addEventListener('click', () => forewarn(box));
}

// ---- forms that are to be sent once ----

for (const form of document.querySelectorAll('form[data-once]')) {
  form.addEventListener('submit', (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = 'yes';
    setTimeout(() => delete form.dataset.sent, 5000);
  });
}
// A page that comes back from the browser's memory may be sent again; the server knows it by its key.
addEventListener('pageshow', () => document.querySelectorAll('form[data-sent]').forEach((form) => delete form.dataset.sent));

// ---- the calendar in one's own zone ----

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const calendar = document.querySelector('[data-calendar]');
const asked = new URLSearchParams(location.search);
if (calendar && ownZone && !asked.has('zone') && calendar.dataset.calendar !== ownZone) {
  asked.set('zone', ownZone);
  location.replace(`${location.pathname}?${asked}`);
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
    const until = document.querySelector(`[data-until-of="${field.id}"]`);
    if (until) {
      until.dataset.until = carrier.value;
      tellDistances();
    }
  };
  field.addEventListener('input', carry);
  carry();
  const help = document.getElementById(`${field.id}-help`);
  help.textContent = `${help.dataset.local} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}
tellDistances();
