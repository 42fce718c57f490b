// What is live on the shoppers' pages. Every page works without this file; it adds the visitor's name and time zone,
// the state of sales, the countdown, and a purchase that keeps trying for the visitor.

const main = document.getElementById('main');
const { locale = document.documentElement.lang.slice(0, 2), page = '' } = main.dataset;
const language = document.documentElement.lang;
const words = table('words');
const problems = table('problems');

/** The texts that the page carries for us in an inert template. */
function table(id) {
  const found = document.getElementById(id)?.content.querySelectorAll('[data-key]') ?? [];
  return Object.fromEntries([...found].map((e) => [e.dataset.key, e.textContent]));
}

const say = (key, value = '') => (words[key] ?? '').replace('{}', value);
const slot = (name, within = main) => within.querySelector(`[data-slot="${name}"]`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const jitter = (ms) => ms * Math.random();

function show(element, text) {
  if (!element) return;
  if (element.textContent !== text) element.textContent = text;
  element.hidden = text === '';
}

/** An answer whatever happens: `status` is 0 when none came, which says nothing about what the shop did. */
async function call(method, path, body) {
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
const clock = {
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
};

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

/** One day, two days: the browser knows how each language counts them. */
const dayCount = new Intl.NumberFormat(language, { style: 'unit', unit: 'day', unitDisplay: 'long' });
const unitOf = (n, unit) => (unit === 'days' ? dayCount.formatToParts(n).find((part) => part.type === 'unit').value : say(unit));

/** `[[days, "days"], …]` of a length of time, without leading days. */
function parts(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const clockwork = [[Math.floor(s / 3600) % 24, 'hours'], [Math.floor(s / 60) % 60, 'minutes'], [s % 60, 'seconds']];
  return s >= 86400 ? [[Math.floor(s / 86400), 'days'], ...clockwork] : clockwork;
}

function digits(ms) {
  const all = parts(ms);
  const time = all.slice(-3).map(([n]) => String(n).padStart(2, '0')).join(':');
  return all.length > 3 ? `${dayCount.format(all[0][0])} ${time}` : time;
}

function drawCountdown(element, ms) {
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
    show(number, String(n).padStart(2, '0'));
    show(label, unitOf(n, unit));
  });
  element.hidden = false;
}

/** Runs `step` again and again, after as many milliseconds as it asks for; rests while nobody looks at the page. */
function keepAsking(step) {
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
  run();
  return run;
}

// ---- who is looking ----

/** On pages that all share, the name comes from here; resolves to the user or null. */
async function fillAccount() {
  const link = document.querySelector('[data-account="ask"]');
  if (!link) return null;
  const { ok, data } = await call('GET', '/api/me');
  if (!ok || !data.user) return null;
  const form = document.getElementById('signed-in').content.cloneNode(true);
  form.querySelector('bdi').textContent = data.user.username;
  link.replaceWith(form);
  if (data.user.role !== 'user') {
    document.querySelector('.top nav').prepend(document.getElementById('admin-link').content.cloneNode(true));
  }
  return data.user;
}

// ---- the list ----

function fillCard(card, sale) {
  const badge = slot('phase', card);
  show(badge, say(`phase_${sale.phase}`));
  badge.dataset.phase = sale.phase;
  card.classList.toggle('over', sale.phase === 'ended');
  card.querySelector('.when').hidden = sale.phase !== 'upcoming' && !sale.opens_at;
  const until = sale.phase === 'upcoming' && sale.opens_at ? Date.parse(sale.opens_at) - clock.now() : 0;
  const left = sale.phase === 'open' && sale.remaining != null ? say('left', sale.remaining) : '';
  show(slot('live', card), until > 0 ? `${say('head_upcoming')} ${digits(until)}` : left);
}

function runList() {
  const cards = new Map([...document.querySelectorAll('.card[data-sale]')].map((c) => [c.dataset.sale, c]));
  let sales = [];
  const draw = () => sales.forEach((sale) => cards.has(String(sale.id)) && fillCard(cards.get(String(sale.id)), sale));
  keepAsking(async () => {
    const { ok, data, took } = await call('GET', '/api/sales');
    if (!ok) return 4000 + jitter(4000);
    if (data.now) clock.learn(data.now, took);
    sales = data.sales ?? [];
    draw();
    const wait = Math.max(1000, data.poll_after_ms ?? 5000);
    const starts = sales.filter((s) => s.phase === 'upcoming' && s.opens_at).map((s) => Date.parse(s.opens_at) - clock.now());
    const next = Math.min(...starts.filter((ms) => ms > 0));
    return Math.min(wait + jitter(wait), Math.max(500, next) + jitter(1000));
  });
  setInterval(draw, 1000);
}

// ---- one sale ----

function runSale() {
  const id = main.dataset.sale;
  const api = `/api/sales/${id}`;
  const form = main.querySelector('.buy');
  const button = slot('button');
  const clockBox = main.querySelector('.clock');
  const state = { phase: '', live: null, busy: false, lost: false, token: null, user: null, warned: 0 };
  const login = `/${locale}/login?next=${encodeURIComponent(location.pathname)}`;

  const announce = (text) => { slot('announce').textContent = text; };

  function note(text, href, label) {
    const element = slot('note');
    element.replaceChildren(text);
    if (href) {
      const link = document.createElement('a');
      link.href = href;
      link.textContent = label;
      element.append(' ', link);
    }
    element.classList.toggle('login', href === login);
    element.hidden = text === '';
  }

  /** `aria-disabled` rather than `disabled`, so that the focus stays where it is. */
  function label(text, enabled) {
    show(button, text);
    button.setAttribute('aria-disabled', String(!enabled));
  }

  function draw() {
    const { live, phase } = state;
    if (!live) return;
    clockBox.dataset.phase = phase;
    drawClock(live, phase);
    drawStock(live, phase);
    if (state.busy) return;
    label(say(`button_${phase}`), phase === 'open');
    show(slot('hint'), state.lost ? say('hint_reconnecting') : say(`hint_${phase}`));
  }

  function drawClock(live, phase) {
    const target = { upcoming: live.opens_at, open: live.closes_at }[phase];
    const ms = target ? Date.parse(target) - clock.now() : 0;
    slot('opens').hidden = phase !== 'upcoming';
    const endless = phase === 'open' ? 'head_open_endless' : phase === 'upcoming' ? 'head_unknown' : `phase_${phase}`;
    show(slot('head'), say(target && ms > 0 ? `head_${phase}` : endless));
    if (target && ms > 0) drawCountdown(slot('countdown'), ms);
    else slot('countdown').hidden = true;
    if (phase === 'upcoming' && ms > 0) warn(ms);
  }

  /** Said aloud twice before the start, for those who do not see the countdown. */
  function warn(ms) {
    if (ms <= 10_000 && state.warned < 2) { state.warned = 2; announce(say('starts_in_ten')); }
    if (ms <= 60_000 && ms > 10_000 && state.warned < 1) { state.warned = 1; announce(say('starts_in_minute')); }
  }

  function drawStock(live, phase) {
    const known = live.total > 0 && live.remaining != null && phase !== 'upcoming';
    slot('stock').hidden = !known;
    if (!known) return;
    const taken = Math.min(100, Math.max(0, Math.floor(((live.total - live.remaining) / live.total) * 100)));
    slot('stock').querySelector('progress').value = taken;
    slot('left').textContent = say('left', Math.max(0, live.remaining));
    slot('taken').textContent = say('taken', taken);
  }

  const ask = keepAsking(async () => {
    const { ok, data, took, wait } = await call('GET', `${api}/button`);
    state.lost = !ok;
    if (!ok) {
      draw();
      if (!state.live && !state.busy) show(slot('hint'), say('hint_reconnecting'));
      return Math.max(wait, 1500) + jitter(1500);
    }
    clock.learn(data.now, took);
    const opened = data.phase === 'open' && state.phase === 'upcoming';
    Object.assign(state, { live: data, phase: data.phase });
    if (opened) { announce(say('now_open')); prepare(); }
    draw();
    const pause = Math.max(250, data.poll_after_ms ?? 2000);
    const untilOpen = data.phase === 'upcoming' && data.opens_at ? Date.parse(data.opens_at) - clock.now() : NaN;
    const later = pause + jitter(pause);
    return untilOpen > 0 ? Math.min(later, untilOpen + jitter(600)) : later;
  });
  setInterval(draw, 250);

  /** A token in hand saves a round trip when the button is pressed. Only for those who are known to be logged in. */
  async function prepare() {
    if (!state.user || state.token || state.busy) return;
    await sleep(jitter(300));
    const { ok, data } = await call('POST', `${api}/token`);
    if (ok) state.token = data.token;
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (state.busy || (state.live && state.phase !== 'open')) return;
    state.busy = true;
    button.setAttribute('aria-busy', 'true');
    label(say('button_holding'), false);
    show(slot('hint'), say('hint_holding'));
    note('');
    announce(say('button_holding'));
    buy().then((result) => {
      if (result === 'leaving') return;
      state.busy = false;
      button.removeAttribute('aria-busy');
      draw();
      note(result);
      announce(result);
      ask();
    });
  });

  const TRANSIENT = new Set(['busy', 'rate_limited', 'overloaded']);
  const GIVE_UP_AFTER_MS = 180_000;

  /** Tries until there is an answer that settles it. Returns what to tell the visitor, or `leaving`. */
  async function buy() {
    const quantity = Number(new FormData(form).get('quantity')) || 1;
    const began = Date.now();
    let stale = 0;
    for (let attempt = 1; Date.now() - began < GIVE_UP_AFTER_MS; attempt += 1) {
      const answer = await attemptOnce(quantity);
      if (answer.ok && answer.data.order) return follow(answer.data);
      if (answer.status === 401) return leave(login);
      if (answer.code === 'bad_token' && stale < 3) {
        stale += 1;
        state.token = null;
        await sleep(jitter(300));
        continue;
      }
      const transient = answer.status === 0 || answer.status >= 500 || TRANSIENT.has(answer.code);
      if (!transient) return problems[answer.code] ?? problems.internal;
      // No answer is not a refusal: asking again brings the same order, if there is one.
      show(slot('hint'), say(answer.status === 0 ? 'hint_unanswered' : 'hint_retrying', attempt + 1));
      const backoff = Math.min(8000, 400 * 1.6 ** attempt);
      await sleep(Math.max(answer.wait, backoff / 2) + jitter(backoff / 2));
    }
    return say('hint_gave_up');
  }

  async function attemptOnce(quantity) {
    if (!state.token) {
      const answer = await call('POST', `${api}/token`);
      if (!answer.ok) return answer;
      state.token = answer.data.token;
    }
    return call('POST', `${api}/orders`, { quantity, token: state.token });
  }

  /** Waits until the order is written, then shows it. Its page knows how to wait too, so this need not succeed. */
  async function follow({ order, status_url: url = `${api}/orders/${order.id}` }) {
    label(say('button_held'), false);
    show(slot('hint'), say('hint_holding'));
    announce(say('button_held'));
    let { status } = order;
    for (let i = 0; status === 'reserved' && i < 20; i += 1) {
      await sleep(300 + 100 * i + jitter(200));
      const answer = await call('GET', url);
      status = answer.data.order?.status ?? status;
    }
    return leave(`/${locale}/orders/${id}/${order.id}`);
  }

  const leave = (path) => (location.assign(path), 'leaving');

  return async (user) => {
    state.user = user;
    if (!user) {
      note(say('hint_login'), login, say('link_login'));
      return;
    }
    if (state.phase === 'open') prepare();
    const { ok, data } = await call('GET', '/api/orders');
    const live = ['reserved', 'unpaid', 'paid'];
    const mine = ok && (data.orders ?? []).find((o) => String(o.sale_id) === id && live.includes(o.status));
    if (mine && !state.busy) note(say('hint_have_order'), `/${locale}/orders/${id}/${mine.id}`, say('link_order'));
  };
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
const onUser = { list: runList, sale: runSale, order: runOrder, retry: runRetry }[page]?.();
fillAccount().then((user) => page === 'sale' && onUser(user));
