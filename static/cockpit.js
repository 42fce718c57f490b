// The cockpit: one event a second, drawn once per frame, honest about its age. Numbers that are not fresh are never shown
// as live, whether the connection died, the tab slept or the server is silent.

const root = document.querySelector('[data-cockpit]');
const words = Object.fromEntries([...(document.getElementById('cockpit-words')?.content.querySelectorAll('[data-key]') ?? [])].map((e) => [e.dataset.key, e.textContent]));
const shared = Object.fromEntries([...(document.getElementById('words')?.content.querySelectorAll('[data-key]') ?? [])].map((e) => [e.dataset.key, e.textContent]));
const say = (key, value = '') => (words[key] ?? '').replace('{}', value);
const slot = (name) => root.querySelector(`[data-slot="${name}"]`);
const language = document.documentElement.lang;
const whole = new Intl.NumberFormat(language);
const brief = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

/** Older than this is old. Events come each second. */
const OLD_AFTER_MS = 3500;
const RETRY_MS = 3000;
const HISTORY_S = 15 * 60;
/** How long Redis and the database may differ before that is called drift. */
const SETTLED_AFTER_MS = 5000;

const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
const set = (element, name, value) => { if (element && element.getAttribute(name) !== value) element.setAttribute(name, value); };

// ---- numbers ----

const cells = new Map([...root.querySelectorAll('[data-key]')].map((e) => [e.dataset.key, e]));
const bars = new Map([...root.querySelectorAll('[data-bar]')].map((e) => [e.dataset.bar, e]));
const rows = new Map([...root.querySelectorAll('[data-row]')].map((e) => [e.dataset.row, e]));

const number = (n) => (n == null ? '–' : whole.format(n));
const share = (part, all) => (all > 0 && part > 0 ? Math.min(100, (part / all) * 100) : 0);

function show(key, value, of) {
  put(cells.get(key), number(value));
  if (of !== undefined) set(bars.get(key), 'width', `${share(value, of).toFixed(2)}%`);
}

function showStock(s) {
  const total = s.sale.value?.total ?? s.gate.value?.total ?? null;
  const sold = s.sale.value?.sold ?? null;
  const booked = s.keeper === null ? sold : s.keeper.value?.booked ?? s.gate.value?.booked ?? null;
  const way = booked == null || sold == null ? null : Math.max(0, booked - sold);
  const left = total == null || booked == null ? null : Math.max(0, total - booked);
  for (const [key, value] of Object.entries({ total, sold, booked, on_the_way: way, left })) show(`stock.${key}`, value);
  show('gate.access', s.gate.value?.access);
  for (const { bucket, allotted, booked: taken } of s.buckets ?? []) {
    show(`bucket.${bucket}.allotted`, allotted);
    show(`bucket.${bucket}.booked`, taken);
  }
  set(root.querySelector('[data-stack="sold"]'), 'width', `${share(sold, total).toFixed(2)}%`);
  set(root.querySelector('[data-stack="on_the_way"]'), 'width', `${share((sold ?? 0) + (way ?? 0), total).toFixed(2)}%`);
}

function showFunnel(s) {
  const r = s.requests.value;
  const refused = r && Object.values(r.refused).reduce((sum, n) => sum + n, 0);
  for (const key of ['asked', 'let_in', 'reserved', 'repeated']) show(`requests.${key}`, r?.[key], r?.asked);
  show('requests.refused', refused, r?.asked);
  for (const [key, row] of rows) {
    if (!key.startsWith('requests.reason_')) continue;
    const count = r ? r.refused[key.slice('requests.reason_'.length)] ?? 0 : null;
    show(key, count, r?.asked);
    row.hidden = !count;
  }
  const o = s.orders.value;
  for (const key of ['persisted', 'unpaid', 'paid', 'cancelled', 'rejected', 'refunded', 'returned_units']) show(`orders.${key}`, o?.[key], o?.persisted);
}

function showDrift(s) {
  const place = slot('drift');
  let text = say('drift_unknown');
  let mood = 'unknown';
  if (s.keeper === null) [text, mood] = [say('drift_none'), 'calm'];
  else if (s.drift) {
    const lasted = Date.parse(s.at) - Date.parse(s.drift.since);
    const units = number(s.drift.units);
    if (s.drift.kind === 'in_step') [text, mood] = [say('drift_in_step'), 'good'];
    else if (s.drift.kind === 'on_the_way') [text, mood] = [say('drift_on_the_way', units), 'calm'];
    else if (lasted < SETTLED_AFTER_MS) [text, mood] = [say('drift_settling', units), 'calm'];
    else [text, mood] = [say('drift_apart', units), 'bad'];
  }
  put(place, text);
  place.dataset.mood = mood;
  show('keeper.outbox', s.keeper?.value?.outbox);
  show('queue.ready', s.queue?.value?.ready);
  show('queue.dead', s.queue?.value?.dead);
  const dead = s.queue?.value?.dead;
  const line = slot('dead');
  put(line.querySelector('span'), dead == null ? '' : dead > 0 ? say('dead_some', number(dead)) : say('dead_none'));
  line.dataset.mood = dead > 0 ? 'bad' : 'calm';
}

function showSources(s) {
  for (const row of root.querySelectorAll('[data-source]')) {
    const part = s[row.dataset.source];
    const says = row.querySelector('[data-says]');
    const age = row.querySelector('[data-age]');
    if (part === null) continue;
    const known = part.value !== null;
    put(says, known ? say('answers') : part.unknown_since ? say('unknown_since', clock.format(new Date(part.unknown_since))) : say('unknown'));
    says.dataset.mood = known ? 'good' : 'bad';
    put(age, part.at ? clock.format(new Date(part.at)) : '–');
  }
}

function showState(s) {
  const phase = s.gate.value?.phase ?? s.sale.value?.phase;
  const state = s.sale.value?.state;
  // Which buttons there are depends on the sale's state, and the server knows that best; not while a question is open.
  if (s.sale.value?.version > Number(root.dataset.saleVersion) && !document.querySelector('dialog[open], details[open]:not(.buckets)')) {
    location.assign(`${location.pathname}?lang=${language.startsWith('zh') ? 'zh' : 'en'}`);
    return;
  }
  if (!phase) return;
  root.querySelector('.state').dataset.phase = phase;
  put(slot('phase'), shared[`phase_${phase}`] ?? phase);
  put(slot('meaning'), state === 'draft' ? say('mean_draft') : say(`mean_${phase}`));
}

// ---- plots ----

const REASONS = ['sold_out', 'busy', 'not_open', 'rate_limited', 'bad_token', 'over_limit', 'ended', 'overloaded', 'bad_quantity', 'no_such_sale'];
const plots = {
  requests: { lines: [['asked', (p) => p.asked, 1], ['accepted', (p) => p.accepted, 2, 'right']] },
  refusals: { lines: REASONS.map((reason, n) => [`reason_${reason}`, (p) => (p.asked == null ? null : p.refused[reason] ?? 0), n + 1]) },
  latency: { lines: [['half', (p) => p.p50_ms, 1], ['most', (p) => p.p99_ms, 2]] },
  queues: { lines: [['outbox', (p) => p.outbox, 1], ['queue', (p) => p.ready, 2]] },
  persisted: { lines: [['persisted', (p) => p.persisted, 1]] },
};
let points = [];

const colour = (n) => getComputedStyle(root).getPropertyValue(`--plot-${((n - 1) % 6) + 1}`).trim();

const fromZero = (u, min, max) => [0, max > 0 ? max * 1.1 : 1];

/** Lines that nobody can tell apart by colour alone differ in their dashes too. */
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [4, 6]];

function options(name, width) {
  const ink = colourOf('--pico-muted-color');
  const grid = colourOf('--line');
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '12px system-ui' };
  return {
    width,
    height: 180,
    legend: { show: false },
    cursor: { show: false },
    padding: [8, 8, 0, 0],
    scales: { x: { time: true }, y: { range: fromZero }, right: { range: fromZero } },
    axes: [
      { ...axis, space: 80, values: (u, ticks) => ticks.map((t) => clock.format(new Date(t * 1000)).slice(0, ticks[1] - ticks[0] < 60 ? 8 : 5)) },
      { ...axis, size: 52, values: (u, ticks) => ticks.map((t) => brief.format(t)) },
      // What is a hundred times smaller has an axis of its own, in the colour of its line.
      ...(plots[name].lines.some(([, , , scale]) => scale) ? [{ ...axis, scale: 'right', side: 1, size: 46, stroke: colour(2), grid: { show: false }, values: (u, ticks) => ticks.map((t) => brief.format(t)) }] : []),
    ],
    series: [{}, ...plots[name].lines.map(([key, , n, scale = 'y']) => ({ label: say(key), scale, stroke: colour(n), dash: DASHES[(n - 1) % 6], width: 2, points: { show: false }, spanGaps: false }))],
  };
}

const colourOf = (name) => getComputedStyle(root).getPropertyValue(name).trim() || '#888';

function data(name) {
  const end = points.length ? points[points.length - 1].at / 1000 : Date.now() / 1000;
  const recent = points.filter((p) => p.at / 1000 >= end - HISTORY_S);
  return [recent.map((p) => p.at / 1000), ...plots[name].lines.map(([, value]) => recent.map((p) => value(p) ?? null))];
}

function keysOf(name, figure) {
  const list = figure.querySelector('[data-keys]');
  const last = points[points.length - 1];
  plots[name].lines.forEach(([key, value, n], index) => {
    let item = list.children[index];
    if (!item) {
      item = document.createElement('span');
      const mark = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      mark.setAttribute('width', '22');
      mark.setAttribute('height', '8');
      mark.setAttribute('aria-hidden', 'true');
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
      for (const [k, v] of Object.entries({ x1: 0, x2: 22, y1: 4, y2: 4, 'stroke-width': 3, 'stroke-dasharray': DASHES[(n - 1) % 6].join(' '), class: `plot-${((n - 1) % 6) + 1}` })) line.setAttribute(k, v);
      mark.append(line);
      item.append(mark, document.createElement('b'));
      list.append(item);
    }
    const now = last ? value(last) : null;
    // Of many reasons only those that happen.
    item.hidden = name === 'refusals' && !points.some((p) => (value(p) ?? 0) > 0);
    put(item.querySelector('b'), `${say(key)} ${now == null ? '–' : brief.format(now)}`);
  });
}

function makePlots() {
  if (!window.uPlot) return;
  for (const [name, plot] of Object.entries(plots)) {
    const figure = root.querySelector(`[data-plot="${name}"]`);
    figure.hidden = false;
    plot.made?.destroy();
    plot.figure = figure;
    const place = figure.querySelector('[data-canvas]');
    plot.made = new window.uPlot(options(name, Math.max(200, place.clientWidth)), data(name), place);
  }
}

function drawPlots() {
  for (const [name, plot] of Object.entries(plots)) {
    if (!plot.made) continue;
    plot.made.setData(data(name));
    keysOf(name, plot.figure);
  }
}

// ---- the stream ----

let sample = null;
let heard = 0;
let over = false;
let source = null;
let frame = 0;
let fading = 0;

function draw() {
  frame = 0;
  if (!sample) return;
  showState(sample);
  showStock(sample);
  showFunnel(sample);
  showDrift(sample);
  showSources(sample);
  drawPlots();
  tell();
}

/** Once per frame at most, and not at all while nobody can see it. */
const plan = () => { frame ||= requestAnimationFrame(draw); };

/** Says how old everything is. */
function tell() {
  const age = Date.now() - heard;
  const old = over || !heard || age > OLD_AFTER_MS;
  const beat = slot('beat');
  const notice = slot('old');
  const seconds = Math.round(age / 1000);
  if (!heard && !over) {
    put(beat, say('connecting'));
    beat.dataset.state = 'off';
    root.dataset.old = 'off';
    return;
  }
  root.dataset.old = old ? 'yes' : 'no';
  beat.dataset.state = old ? 'old' : 'live';
  put(beat, old ? say('old', seconds) : `${say('live')} · ${clock.format(new Date(sample.at))}`);
  notice.hidden = !old;
  // Said once; the ticking age beside it is not read aloud.
  if (old) put(notice, say(over ? 'signed_out' : 'old_alert'));
}

function connect() {
  source?.close();
  if (over) return;
  source = new EventSource(root.dataset.cockpit);
  source.addEventListener('history', (event) => {
    const known = new Set(points.map((p) => p.at));
    points = [...points, ...JSON.parse(event.data).filter((p) => !known.has(p.at))].sort((a, b) => a.at - b.at);
  });
  source.addEventListener('sample', (event) => {
    sample = JSON.parse(event.data);
    heard = Date.now();
    if (points[points.length - 1]?.at !== sample.point.at) points.push(sample.point);
    if (points.length > 2 * HISTORY_S) points = points.slice(-HISTORY_S);
    plan();
  });
  source.addEventListener('end', (event) => {
    over = JSON.parse(event.data).reason === 'not_allowed';
    source.close();
    if (!over) setTimeout(connect, RETRY_MS);
    tell();
  });
  source.addEventListener('error', () => {
    // A browser comes back by itself after a broken line, but not after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED && !over) {
      clearTimeout(fading);
      fading = setTimeout(connect, RETRY_MS);
    }
    tell();
  });
}

if (root) {
  connect();
  makePlots();
  tell();
  setInterval(tell, 1000);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    tell();
    // A connection may have died in its sleep without anybody being told.
    if (Date.now() - heard > OLD_AFTER_MS) connect();
  });
  let width = root.clientWidth;
  new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    for (const plot of Object.values(plots)) plot.made?.setSize({ width: Math.max(200, plot.figure.querySelector('[data-canvas]').clientWidth), height: 180 });
  }).observe(root);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { makePlots(); plan(); });
}
