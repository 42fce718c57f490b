// Shared by the scripts of all pages: texts, requests to the shop, the shop's clock, formatting, DOM helpers.

export const main = document.getElementById('main');
export const { locale = document.documentElement.lang.slice(0, 2), page = '' } = main.dataset;
export const language = document.documentElement.lang;

// ---- texts ----

/** What `value` reads of each item in an inert `<template>` of the page, by key: its text, unless told otherwise. */
export function table(id, value = (item) => item.textContent) {
  const items = document.getElementById(id)?.content.querySelectorAll('[data-key]') ?? [];
  return Object.fromEntries([...items].map((item) => [item.dataset.key, value(item)]));
}

/** A function that returns the text of a key with a value in the place of `{}`; empty for an unknown key. */
export const translator = (texts) => (key, value = '') => (texts[key] ?? '').replace('{}', value);

export const say = translator(table('words'));

// ---- DOM ----

export const slot = (name, within = main) => within.querySelector(`[data-slot="${name}"]`);

/** A new element with properties and children. */
export function create(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Changes the text only if it differs, because a screen reader repeats a live region that is written again. */
export function write(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

/** Like `write`, and hides an element without text. */
export function show(element, text) {
  if (!element) return;
  write(element, text);
  element.hidden = text === '';
}

// ---- requests ----

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const jitter = (ms) => ms * Math.random();

const CALL_TIMEOUT_MS = 8000;
/**
 * On a page from the service worker's cache, the browser's own cache must not answer in place of an unreachable shop.
 */
const CACHE = document.documentElement.hasAttribute('data-kept') ? 'no-store' : 'default';

/**
 * Sends a request and never throws. `status` is 0 without an answer; the shop may have processed the request
 * nevertheless.
 */
export async function call(method, path, body, timeout = CALL_TIMEOUT_MS) {
  const began = Date.now();
  try {
    const response = await fetch(path, {
      method,
      cache: CACHE,
      headers: body ? { 'content-type': 'application/json' } : {},
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
    const data = await response.json().catch(() => ({}));
    const wait = Number(response.headers.get('retry-after')) * 1000 || 0;
    return { status: response.status, ok: response.ok, data, code: data.code ?? '', wait, took: Date.now() - began };
  } catch {
    return { status: 0, ok: false, data: {}, code: '', wait: 0, took: Date.now() - began };
  }
}

/**
 * Runs `step` repeatedly, each time after the milliseconds that it returned. Pauses while the page is hidden, unless
 * `whileHidden`.
 */
export function poll(step, { whileHidden = false } = {}) {
  let timer = 0;
  let running = false;
  const run = async () => {
    clearTimeout(timer);
    if (running || (document.hidden && !whileHidden)) return;
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

// ---- the shop's clock ----

// A cached answer is older than it looks, so the sample that puts the clock furthest ahead is the freshest one. Half of
// its round trip is how much it aged on the way.
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
  /** Milliseconds until a time on the shop's clock; `NaN` without a time. */
  until(time) {
    return time ? Date.parse(time) - this.now() : NaN;
  },
};

// ---- formatting ----

const integer = new Intl.NumberFormat(language);
export const count = (n) => integer.format(n);

const DAY_MS = 86_400_000;
const formats = new Map();

/** A formatter of dates, made once. */
function format(options) {
  const key = JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(language, options));
  return formats.get(key);
}

const sameDay = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });

/** The time of day, of 24 hours in both languages. */
export const timeOfDay = (at, seconds = false) => format({ hour: '2-digit', minute: '2-digit', ...(seconds && { second: '2-digit' }), hourCycle: 'h23' }).format(at);

/** A day with its year only if that is not the current one, or always. */
export const dateOf = (at, withYear = at.getFullYear() !== new Date().getFullYear()) => format({ month: 'short', day: 'numeric', ...(withYear && { year: 'numeric' }) }).format(at);

/** A time as people say it: “today 19:37”, “tomorrow 08:00”, “Nov 28 19:37”. `src/words/dates.rs` says it the same way; change both. */
export function when(at, seconds = false) {
  const midnight = (time) => new Date(time.getFullYear(), time.getMonth(), time.getDate());
  const days = Math.round((midnight(at) - midnight(new Date())) / DAY_MS);
  return `${Math.abs(days) <= 1 ? sameDay.format(days, 'day') : dateOf(at)} ${timeOfDay(at, seconds)}`;
}

/** A time with its day of the week and its zone. */
export const inFull = (at) => format({ dateStyle: 'full', timeStyle: 'long', hourCycle: 'h23' }).format(at);

/** Whether a time is on this day, which its reader knows. */
export const isToday = (at) => at.toDateString() === new Date().toDateString();

/**
 * A price as shops write it: `¥1,999`, `¥19.90`. A round price has no decimals. `Display` in `domain/money.rs` does the
 * same; change both.
 */
export function money({ amount, currency }) {
  const style = { style: 'currency', currency, currencyDisplay: 'narrowSymbol' };
  const digits = new Intl.NumberFormat('en', style).resolvedOptions().maximumFractionDigits;
  const shown = amount % 10 ** digits === 0 ? 0 : digits;
  const format = new Intl.NumberFormat('en', { ...style, minimumFractionDigits: shown, maximumFractionDigits: shown });
  const text = format.format(amount / 10 ** digits);
  return currency === 'JPY' ? text.replace('¥', 'JP¥') : text;
}

/** The browser knows the plural forms of "day" in each language. */
const dayCount = new Intl.NumberFormat(language, { style: 'unit', unit: 'day', unitDisplay: 'long' });
const unitLabel = (n, unit) => (unit === 'days' ? dayCount.formatToParts(n).find((part) => part.type === 'unit').value : say(unit));

/** A duration as `[[days, 'days'], [hours, 'hours'], …]`. Days are left out below one day. */
function parts(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const time = [[Math.floor(s / 3600) % 24, 'hours'], [Math.floor(s / 60) % 60, 'minutes'], [s % 60, 'seconds']];
  return s >= 86400 ? [[Math.floor(s / 86400), 'days'], ...time] : time;
}

/** A duration on one line: `00:12:05`, with the days in front. */
export function digits(ms) {
  const all = parts(ms);
  const time = all.slice(-3).map(([n]) => String(n).padStart(2, '0')).join(':');
  return all.length > 3 ? `${dayCount.format(all[0][0])} ${time}` : time;
}

/** A duration below an hour as `12:05`, a longer one as [`digits`]. */
export function shortDigits(ms) {
  return ms > 3_599_000 ? digits(ms) : digits(ms).slice(3);
}

/** A duration as one labeled cell per unit. */
export function drawCountdown(element, ms) {
  const units = parts(ms);
  if (element.children.length !== units.length) {
    element.replaceChildren(...units.map(() => create('span', {}, create('b'), create('small'))));
  }
  units.forEach(([n, unit], i) => {
    const { firstChild: number, lastChild: label } = element.children[i];
    write(number, String(n).padStart(2, '0'));
    write(label, unitLabel(n, unit).trim());
  });
  element.hidden = false;
}

/** Percent of a sale's units that are reserved or sold. */
export function percentTaken({ total, remaining }) {
  return Math.min(100, Math.max(0, Math.floor(((total - remaining) / total) * 100)));
}

// ---- times in forms ----

export const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The instant typed into a `datetime-local` field as RFC 3339 in UTC; empty without a valid one. */
export function utcOf(field) {
  const at = new Date(field.value);
  return Number.isNaN(at.getTime()) ? '' : at.toISOString();
}

/** Makes a field that came with a UTC time show local time. A hidden field takes its name and carries the UTC time. */
export function useLocalTime(field) {
  const carrier = create('input', { type: 'hidden', name: field.name });
  field.removeAttribute('name');
  field.after(carrier);
  const given = field.value && new Date(`${field.value}Z`);
  if (given && !Number.isNaN(given.getTime())) {
    field.value = new Date(given.getTime() - given.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  }
  const carry = () => { carrier.value = utcOf(field); };
  field.addEventListener('input', carry);
  carry();
  const help = document.getElementById(`${field.id}-help`);
  help.textContent = `${help.dataset.local} (${timeZone})`;
}

// ---- what outlives the page ----

/**
 * Asks for an order. If the shop does not know it, asks again with the receipt that this browser has stored, for
 * which a lost order is granted again. The receipt is dropped once the order is in the database.
 */
export async function fetchOrder(statusUrl) {
  const key = `receipt:${statusUrl}`;
  const receipt = storage.get(key);
  const answer = await call('GET', statusUrl);
  if (answer.status === 404 && receipt) return call('GET', `${statusUrl}?receipt=${encodeURIComponent(receipt)}`);
  if (answer.ok && answer.data.order && answer.data.order.status !== 'reserved') storage.set(key, null);
  return answer;
}

/** Values in a storage of the browser. If it is full or forbidden, nothing is stored and nothing breaks. */
const within = (area) => ({
  get(key) {
    try {
      return JSON.parse(area().getItem(`seckill:${key}`));
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      if (value == null) area().removeItem(`seckill:${key}`);
      else area().setItem(`seckill:${key}`, JSON.stringify(value));
    } catch { /* The page works without storage. */ }
  },
});

export const storage = within(() => localStorage);
/** For this tab only, until it is closed. */
export const session = within(() => sessionStorage);

// ---- the session ----

/** A cookie that scripts can read, beside the session cookie, so that visitors without a session cause no request. */
const SESSION_HINT = 'seckill_hint=1';

async function fetchUser() {
  if (!document.cookie.split('; ').includes(SESSION_HINT)) return null;
  const { status, data } = await call('GET', '/api/me');
  if (status === 401) {
    document.cookie = 'seckill_hint=; Path=/; Max-Age=0';
    return null;
  }
  return data.user;
}

let user;

/**
 * The user who is logged in, null without a session, undefined if the shop did not answer. The request is made once
 * per page.
 */
export function currentUser() {
  user ??= fetchUser();
  return user;
}
