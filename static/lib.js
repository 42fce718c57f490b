// What the scripts of the shop's pages share: texts, asking the shop, its clock, and ways to show time.

export const main = document.getElementById('main');
export const { locale = document.documentElement.lang.slice(0, 2), page = '' } = main.dataset;
export const language = document.documentElement.lang;

/** The texts that the page carries for us in an inert template. */
export function table(id) {
  const found = document.getElementById(id)?.content.querySelectorAll('[data-key]') ?? [];
  return Object.fromEntries([...found].map((e) => [e.dataset.key, e.textContent]));
}

const words = table('words');

export const say = (key, value = '') => (words[key] ?? '').replace('{}', value);
export const slot = (name, within = main) => within.querySelector(`[data-slot="${name}"]`);
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const jitter = (ms) => ms * Math.random();

/** Writes only what differs: a live region says again what is written again. */
export function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** As `write`; an element without a text is not there. */
export function show(element, text) {
  if (!element) return;
  write(element, text);
  element.hidden = text === '';
}

/** An answer whatever happens: `status` is 0 when none came, which says nothing about what the shop did. */
export async function call(method, path, body) {
  const began = Date.now();
  try {
    const response = await fetch(path, {
      method,
      headers: body ? { 'content-type': 'application/json' } : {},
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(8000),
    });
    const data = await response.json().catch(() => ({}));
    const wait = Number(response.headers.get('retry-after')) * 1000 || 0;
    return { status: response.status, ok: response.ok, data, code: data.code ?? '', wait, took: Date.now() - began };
  } catch {
    return { status: 0, ok: false, data: {}, code: '', wait: 0, took: Date.now() - began };
  }
}

// The shop's clock. A cached answer is older than it looks, so the sample that puts the clock furthest ahead is the
// freshest one; half its round trip is what it aged on the way.
export const clock = {
  lead: -Infinity,
  offset: 0,
  learn(now, took) {
    const lead = Date.parse(now) - Date.now();
    if (Number.isNaN(lead) || lead <= this.lead) return;
    this.lead = lead;
    this.offset = lead + took / 2;
  },
  now() {
    return Date.now() + this.offset;
  },
  /** Milliseconds until a time of the shop's; `NaN` for none. */
  until(time) {
    return time ? Date.parse(time) - this.now() : NaN;
  },
};

/** One day, two days: the browser knows how each language counts them. */
const dayCount = new Intl.NumberFormat(language, { style: 'unit', unit: 'day', unitDisplay: 'long' });
const unitOf = (n, unit) => (unit === 'days' ? dayCount.formatToParts(n).find((part) => part.type === 'unit').value : say(unit));

/** `[[days, "days"], …]` of a length of time, without leading days. */
function parts(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const clockwork = [[Math.floor(s / 3600) % 24, 'hours'], [Math.floor(s / 60) % 60, 'minutes'], [s % 60, 'seconds']];
  return s >= 86400 ? [[Math.floor(s / 86400), 'days'], ...clockwork] : clockwork;
}

export function digits(ms) {
  const all = parts(ms);
  const time = all.slice(-3).map(([n]) => String(n).padStart(2, '0')).join(':');
  return all.length > 3 ? `${dayCount.format(all[0][0])} ${time}` : time;
}

export function drawCountdown(element, ms) {
  const units = parts(ms);
  if (element.children.length !== units.length) {
    element.replaceChildren(...units.map(() => {
      const cell = document.createElement('span');
      cell.append(document.createElement('b'), document.createElement('small'));
      return cell;
    }));
  }
  units.forEach(([n, unit], i) => {
    const { firstChild: number, lastChild: label } = element.children[i];
    write(number, String(n).padStart(2, '0'));
    write(label, unitOf(n, unit).trim());
  });
  element.hidden = false;
}

const number = new Intl.NumberFormat(language);
export const count = (n) => number.format(n);

/** Percent of a sale's units that somebody holds. */
export function share({ total, remaining }) {
  return Math.min(100, Math.max(0, Math.floor(((total - remaining) / total) * 100)));
}

/** Runs `step` again and again, after as many milliseconds as it asks for; rests while nobody looks at the page. */
export function keepAsking(step) {
  let timer = 0;
  let running = false;
  const run = async () => {
    clearTimeout(timer);
    if (running || document.hidden) return;
    running = true;
    const wait = await step().catch(() => 5000);
    running = false;
    timer = setTimeout(run, wait);
  };
  document.addEventListener('visibilitychange', run);
  addEventListener('online', run);
  run();
  return run;
}

/** Small notes that outlive the page. A browser that keeps none has none to show. */
export const notes = {
  read(key) {
    try {
      return JSON.parse(localStorage.getItem(`seckill:${key}`));
    } catch {
      return null;
    }
  },
  keep(key, value) {
    try {
      if (value == null) localStorage.removeItem(`seckill:${key}`);
      else localStorage.setItem(`seckill:${key}`, JSON.stringify(value));
    } catch { /* Full or forbidden: the page works without. */ }
  },
};

// ---- who is looking ----

const HINT = 'seckill_hint=1';

/** Whether somebody is signed in, as far as this browser knows without asking. */
const maybeSignedIn = () => document.cookie.split('; ').includes(HINT);

async function ask() {
  if (!maybeSignedIn()) return null;
  const { ok, status, data } = await call('GET', '/api/me');
  if (status === 401) document.cookie = 'seckill_hint=; Path=/; Max-Age=0';
  return ok && data.user ? data.user : null;
}

let asked;

/** The user who is signed in, or null. Strangers cause no request. */
export function whoIsHere() {
  asked ??= ask();
  return asked;
}
