// The live dashboard of a sale: one event per second, drawn at most once per frame. Numbers that are not fresh are
// never shown as live, whether the connection broke, the tab slept or the server is silent.

import { tiles } from './cockpit_tiles.js';
import { call, count, create, language, locale, poll, say as sayShared, slot, table, timeOfDay, translator, when, write } from './lib.js';
import { dialogs } from './shop.js';

const root = document.querySelector('[data-cockpit]');
const words = table('cockpit-words');
const say = translator(words);
const compact = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
/** Ticks are small multiples of a round step: three digits tell neighbors apart, such as 0.25 and 0.3. */
const tick = new Intl.NumberFormat(language, { notation: 'compact', maximumSignificantDigits: 3 });
const DAY_MS = 86_400_000;

/** Events come once a second. */
const STALE_AFTER_MS = 3500;
const RETRY_MS = 3000;
const RENEW_TIMEOUT_MS = 5000;
const LINE_INTERVAL_MS = 2000;
const HISTORY_S = 15 * 60;
/** A difference between Redis and the database that lasts longer is shown as drift. */
const DRIFT_AFTER_MS = 5000;

/** Sets an attribute only if it differs. */
const set = (element, name, value) => { if (element && element.getAttribute(name) !== value) element.setAttribute(name, value); };

// ---- numbers ----

let cells, bars, rows, queue;

/** Finds the elements that show numbers. Called again after parts of the page were replaced. */
function findPlaces() {
  [cells, bars, rows] = ['key', 'bar', 'row'].map((name) => new Map([...root.querySelectorAll(`[data-${name}]`)].map((e) => [e.dataset[name], e])));
  queue = root.querySelector('[data-line]');
}
findPlaces();

const number = (n) => (n == null ? '–' : count(n));
const percent = (part, all) => (all > 0 && part > 0 ? Math.min(100, (part / all) * 100) : 0);

/** Shows a number, and its share of `of` as a bar. */
function showNumber(key, value, of) {
  write(cells.get(key), number(value));
  if (of !== undefined) set(bars.get(key), 'width', `${percent(value, of).toFixed(2)}%`);
}

function showStock(s) {
  const total = s.sale.value?.total ?? s.gate.value?.total ?? null;
  const sold = s.sale.value?.sold ?? null;
  const booked = s.keeper === null ? sold : s.keeper.value?.booked ?? s.gate.value?.booked ?? null;
  const onTheWay = booked == null || sold == null ? null : Math.max(0, booked - sold);
  const left = total == null || booked == null ? null : Math.max(0, total - booked);
  for (const [key, value] of Object.entries({ total, sold, booked, on_the_way: onTheWay, left })) showNumber(`stock.${key}`, value);
  for (const key of ['waiting', 'open_offers']) showNumber(`sale.${key}`, s.sale.value?.[key]);
  showNumber('gate.access', s.gate.value?.access);
  for (const { bucket, allotted, booked: taken } of s.buckets ?? []) {
    showNumber(`bucket.${bucket}.allotted`, allotted);
    showNumber(`bucket.${bucket}.booked`, taken);
  }
  set(root.querySelector('[data-stack="sold"]'), 'width', `${percent(sold, total).toFixed(2)}%`);
  set(root.querySelector('[data-stack="on_the_way"]'), 'width', `${percent((sold ?? 0) + (onTheWay ?? 0), total).toFixed(2)}%`);
}

function showFunnel(s) {
  const r = s.requests.value;
  const refused = r && Object.values(r.refused).reduce((sum, n) => sum + n, 0);
  for (const key of ['asked', 'let_in', 'reserved', 'repeated']) showNumber(`requests.${key}`, r?.[key], r?.asked);
  showNumber('requests.refused', refused, r?.asked);
  for (const [key, row] of rows) {
    if (!key.startsWith('requests.reason_')) continue;
    const refusals = r ? r.refused[key.slice('requests.reason_'.length)] ?? 0 : null;
    showNumber(key, refusals, r?.asked);
    row.hidden = !refusals;
  }
  const o = s.orders.value;
  for (const key of ['persisted', 'unpaid', 'paid', 'cancelled', 'rejected', 'refunded', 'returned_units']) showNumber(`orders.${key}`, o?.[key], o?.persisted);
}

// ---- the waiting room ----

let line = null;
let heldChanged = false;

function showLine(s) {
  if (!line) return;
  const orders = s.orders.value;
  const bought = orders && orders.unpaid + orders.paid;
  const { called, seats, joined } = line;
  const missed = bought == null ? null : Math.max(0, called - seats - bought);
  const all = { called, seats, bought, missed, waiting: Math.max(0, joined - called), called_last_minute: line.called_last_minute };
  for (const [key, value] of Object.entries(all)) showNumber(`line.${key}`, value);
  const notice = slot('missed');
  notice.hidden = !missed;
  write(notice, say('missed', number(missed)));
  // Only after a change: the first state of the waiting room may be older than the page and differ from it.
  if (heldChanged && String(line.held) !== queue.dataset.held) renew();
}

function showDrift(s) {
  const place = slot('drift');
  if (!place) return;
  let text = say('drift_unknown');
  let mood = 'unknown';
  if (s.keeper === null) [text, mood] = [say('drift_none'), 'calm'];
  else if (s.drift) {
    const lasted = Date.parse(s.at) - Date.parse(s.drift.since);
    const units = number(s.drift.units);
    if (s.drift.kind === 'in_step') [text, mood] = [say('drift_in_step'), 'good'];
    else if (s.drift.kind === 'on_the_way') [text, mood] = [say('drift_on_the_way', units), 'calm'];
    else if (lasted < DRIFT_AFTER_MS) [text, mood] = [say('drift_settling', units), 'calm'];
    else [text, mood] = [say('drift_apart', units), 'bad'];
  }
  write(place, text);
  place.dataset.mood = mood;
  showNumber('keeper.outbox', s.keeper?.value?.outbox);
  showNumber('queue.ready', s.queue?.value?.ready);
  showNumber('queue.dead', s.queue?.value?.dead);
  const dead = s.queue?.value?.dead;
  const line = slot('dead');
  write(line.querySelector('span'), dead == null ? '' : dead > 0 ? say('dead_some', number(dead)) : say('dead_none'));
  line.dataset.mood = dead > 0 ? 'bad' : 'calm';
}

function showSources(s) {
  for (const row of root.querySelectorAll('[data-source]')) {
    const part = s[row.dataset.source];
    const state = row.querySelector('[data-says]');
    const age = row.querySelector('[data-age]');
    if (part === null) continue;
    const known = part.value !== null;
    write(state, known ? say('answers') : part.unknown_since ? say('unknown_since', timeOfDay(new Date(part.unknown_since), true)) : say('unknown'));
    state.dataset.mood = known ? 'good' : 'bad';
    write(age, part.at ? timeOfDay(new Date(part.at), true) : '–');
  }
}

let renewing = false;

/**
 * Replaces the parts that the server renders for a state, such as its buttons. Does not load the page again, because
 * that would end full screen. Does nothing while a dialog is open or a key waits. Without an answer, the next sample
 * tries again.
 */
async function renew() {
  if (renewing || document.querySelector('dialog[open], details[open]:not(.buckets), .pending')) return;
  renewing = true;
  try {
    const answer = await fetch(`${location.pathname}?lang=${locale}`, { signal: AbortSignal.timeout(RENEW_TIMEOUT_MS) });
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('[data-cockpit]');
    if (!fresh) return;
    Object.assign(root.dataset, { ...fresh.dataset, old: root.dataset.old });
    for (const part of root.querySelectorAll('[data-part]')) {
      const renewed = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
      if (!renewed) continue;
      const hadFocus = part.contains(document.activeElement);
      part.replaceWith(renewed);
      dialogs(renewed);
      if (hadFocus) renewed.querySelector('summary, a')?.focus();
    }
    findPlaces();
    drawSoon();
  } catch { /* The connection is lost. The page already says so. */ } finally {
    renewing = false;
  }
}

/** The words of a key with numbers in their places. */
const filled = (key, numbers) => numbers.reduce((text, n) => text.replace('{}', count(n)), say(key, '{}'));

function showState(s) {
  const phase = s.gate.value?.phase ?? s.sale.value?.phase;
  const state = s.sale.value?.state;
  if (s.sale.value?.version > Number(root.dataset.saleVersion)) renew();
  if (!phase) return;
  root.querySelector('.state').dataset.phase = phase;
  const sold = phase === 'sold_out' && root.dataset.phases === 'mean_' && s.verdict.find(({ key }) => key === 'verdict_sold_within');
  const named = say(root.dataset.phases.replace('mean', 'phase') + phase) || sayShared(`phase_${phase}`) || phase;
  write(slot('phase'), sold ? filled('sold_out_in', sold.numbers.slice(0, 3)) : named);
  write(slot('verdict'), s.verdict.map(({ key, numbers }) => filled(key, numbers)).join(' '));
  write(slot('meaning'), say(state === 'draft' ? 'mean_draft' : root.dataset.phases + phase));
}

// ---- plots ----

/** The keys of the words for refusals, in the order of their lines. The rest of a key is the code. */
const REASONS = Object.keys(words).filter((key) => key.startsWith('reason_'));
/** Requests and grants in the slots of the first seconds of the sale, kept as long as its counters. */
let opening = null;
const total = (list) => list.reduce((sum, n) => sum + n, 0);

/** The slots up to the last one with requests, with some room. */
function openingData() {
  const slots = Math.max(20, Math.ceil(opening.asked.length * 1.1));
  const line = (list) => Array.from({ length: slots }, (_, n) => list[n] ?? 0);
  return [Array.from({ length: slots }, (_, n) => n * opening.slot_ms), line(opening.asked), line(opening.accepted)];
}

const plots = {
  opening: { data: openingData, lines: [['asked', () => total(opening.asked), 1], ['accepted', () => total(opening.accepted), 2]] },
  requests: { lines: [['asked', (p) => p.asked, 1], ['accepted', (p) => p.accepted, 2, 'right']] },
  refusals: { lines: REASONS.map((key, n) => [key, (p) => (p.asked == null ? null : p.refused[key.slice('reason_'.length)] ?? 0), n + 1]) },
  latency: { lines: [['half', (p) => p.p50_ms, 1], ['most', (p) => p.p99_ms, 2]] },
  queues: { lines: [['outbox', (p) => p.outbox, 1], ['queue', (p) => p.ready, 2]] },
  persisted: { lines: [['persisted', (p) => p.persisted, 1]] },
  calls: { lines: [['calls', (p) => p.called, 1], ['in_line', (p) => p.waiting, 2, 'right']] },
};
/** The history, oldest first. */
let points = [];

const color = (name) => getComputedStyle(root).getPropertyValue(name).trim() || '#888';
const lineColor = (n) => color(`--plot-${((n - 1) % 6) + 1}`);

const fromZero = (u, min, max) => [0, max > 0 ? max * 1.1 : 1];

/** Lines differ in their dashes too, for readers who cannot tell the colors apart. */
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [4, 6]];

/** The size of a plot: the style sheet gives its place a size. */
const sizeOf = (plot) => {
  const { clientWidth, clientHeight } = plot.figure.querySelector('[data-canvas]');
  return { width: Math.max(200, clientWidth), height: clientHeight };
};

function options(name) {
  // In full screen the letters are larger.
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const ink = color('--muted');
  const grid = color('--line');
  const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, size: 24 * rem + 8, font: `${12 * rem}px system-ui` };
  return {
    ...sizeOf(plots[name]),
    legend: { show: false },
    // One cursor for all plots of the last minutes; their legends show its values.
    cursor: { show: !plots[name].data, points: { show: false }, drag: { x: false, y: false }, y: false, sync: { key: 'plots' } },
    hooks: { setCursor: [hover] },
    padding: [8, plots[name].data ? 28 : 8, 0, 0],
    scales: { x: { time: !plots[name].data }, y: { range: fromZero }, right: { range: fromZero } },
    axes: [
      plots[name].data ? { ...axis, space: 60 * rem, values: (u, ticks) => ticks.map((t) => `${count(t)} ms`) } : { ...axis, space: 80 * rem, values: (u, ticks) => ticks.map((t) => timeOfDay(new Date(t * 1000), ticks[1] - ticks[0] < 60)) },
      { ...axis, size: 52 * rem, values: (u, ticks) => ticks.map((t) => tick.format(t)) },
      // A line of much smaller values has its own axis, in the line's color.
      ...(plots[name].lines.some(([, , , scale]) => scale) ? [{ ...axis, scale: 'right', side: 1, size: 46 * rem, stroke: lineColor(2), grid: { show: false }, values: (u, ticks) => ticks.map((t) => tick.format(t)) }] : []),
    ],
    series: [{}, ...plots[name].lines.map(([key, , n, scale = 'y']) => ({ label: say(key), scale, stroke: lineColor(n), dash: DASHES[(n - 1) % 6], width: 2, points: { show: false }, spanGaps: false }))],
  };
}

function data(name) {
  if (plots[name].data) return plots[name].data();
  const recent = recentPoints();
  return [recent.map((p) => p.at / 1000), ...plots[name].lines.map(([, value]) => recent.map((p) => value(p) ?? null))];
}

/** The point under the cursor; null without one. */
let hovered = null;

function hover(u) {
  if (u.cursor.idx === hovered) return;
  hovered = u.cursor.idx ?? null;
  for (const [name, plot] of Object.entries(plots)) if (plot.made) drawLegend(name, plot.figure);
}

/** The points that the plots show. */
const recentPoints = () => {
  const end = points.length ? points[points.length - 1].at / 1000 : Date.now() / 1000;
  return points.filter((p) => p.at / 1000 >= end - HISTORY_S);
};

/** The legend with the values under the cursor, otherwise the newest. */
function drawLegend(name, figure) {
  const list = figure.querySelector('[data-keys]');
  const last = (hovered != null && !plots[name].data && recentPoints()[hovered]) || points[points.length - 1];
  plots[name].lines.forEach(([key, value, n], index) => {
    let item = list.children[index];
    if (!item) {
      const mark = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
      mark.setAttribute('width', '22');
      mark.setAttribute('height', '8');
      mark.setAttribute('aria-hidden', 'true');
      const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
      for (const [k, v] of Object.entries({ x1: 0, x2: 22, y1: 4, y2: 4, 'stroke-width': 3, 'stroke-dasharray': DASHES[(n - 1) % 6].join(' '), class: `plot-${((n - 1) % 6) + 1}` })) line.setAttribute(k, v);
      mark.append(line);
      item = create('span', {}, mark, create('b'));
      list.append(item);
    }
    const now = last ? value(last) : null;
    // Show only reasons that occurred.
    item.hidden = name === 'refusals' && !points.some((p) => (value(p) ?? 0) > 0);
    write(item.querySelector('b'), `${say(key)} ${now == null ? '–' : compact.format(now)}`);
  });
}

function makePlots() {
  if (!window.uPlot) return;
  for (const [name, plot] of Object.entries(plots)) {
    const figure = root.querySelector(`[data-plot="${name}"]`);
    if (!figure || (name === 'opening' && !opening)) continue;
    figure.hidden = false;
    plot.made?.destroy();
    plot.figure = figure;
    plot.made = new window.uPlot(options(name), data(name), figure.querySelector('[data-canvas]'));
  }
}

function drawPlots() {
  for (const [name, plot] of Object.entries(plots)) {
    if (!plot.made) continue;
    plot.made.setData(data(name));
    drawLegend(name, plot.figure);
  }
}

// ---- the stream ----

const showTiles = root && tiles(root, say, (at) => (Date.now() - at < DAY_MS / 2 ? timeOfDay : when)(new Date(at), true));
let sample = null;
/** When the newest event arrived; 0 before the first. */
let receivedAt = 0;
/** Whether the server ended the stream because this user may no longer watch. */
let denied = false;
let source = null;
let frame = 0;
let retry = 0;

function draw() {
  frame = 0;
  if (!sample) return;
  showState(sample);
  showStock(sample);
  showFunnel(sample);
  showLine(sample);
  showDrift(sample);
  showTiles(sample, points);
  showSources(sample);
  drawPlots();
  showAge();
}

/** Draws at most once per frame, and not while the page is hidden. */
const drawSoon = () => { frame ||= requestAnimationFrame(draw); };

/** Shows how old the numbers are. */
function showAge() {
  const age = Date.now() - receivedAt;
  const stale = denied || !receivedAt || age > STALE_AFTER_MS;
  const freshness = slot('freshness');
  const notice = slot('old');
  const seconds = Math.round(age / 1000);
  if (!receivedAt && !denied) {
    write(freshness, say('connecting'));
    freshness.dataset.state = 'off';
    root.dataset.old = 'off';
    return;
  }
  root.dataset.old = stale ? 'yes' : 'no';
  freshness.dataset.state = stale ? 'old' : 'live';
  write(freshness, stale ? say('old', seconds) : `${say('live')} · ${timeOfDay(new Date(sample.at), true)}`);
  notice.hidden = !stale;
  // An alert is read aloud once; the age beside it is not.
  if (stale) write(notice, say(denied ? 'signed_out' : 'old_alert'));
}

function connect() {
  source?.close();
  if (denied) return;
  source = new EventSource(root.dataset.cockpit);
  source.addEventListener('history', (event) => {
    const known = new Set(points.map((p) => p.at));
    points = [...points, ...JSON.parse(event.data).filter((p) => !known.has(p.at))].sort((a, b) => a.at - b.at);
  });
  source.addEventListener('sample', (event) => {
    sample = JSON.parse(event.data);
    receivedAt = Date.now();
    if (points[points.length - 1]?.at !== sample.point.at) points.push(sample.point);
    if (points.length > 2 * HISTORY_S) points = points.slice(-HISTORY_S);
    drawSoon();
  });
  source.addEventListener('opening', (event) => {
    const isFirst = opening === null;
    opening = JSON.parse(event.data);
    if (isFirst) makePlots();
    drawSoon();
  });
  source.addEventListener('end', (event) => {
    denied = JSON.parse(event.data).reason === 'not_allowed';
    source.close();
    if (!denied) setTimeout(connect, RETRY_MS);
    showAge();
  });
  source.addEventListener('error', () => {
    // A browser reconnects by itself after a broken connection, but not after an answer that is not a stream.
    if (source.readyState === EventSource.CLOSED && !denied) {
      clearTimeout(retry);
      retry = setTimeout(connect, RETRY_MS);
      // A rehearsal that was removed has no page any more. Its last numbers do not stay.
      fetch(location.href).then(({ status }) => status === 404 && location.reload(), () => {});
    }
    showAge();
  });
}

if (queue) {
  poll(async () => {
    const { ok, data } = await call('GET', queue.dataset.line);
    if (ok) {
      heldChanged ||= line !== null && line.held !== data.held;
      line = data;
    }
    drawSoon();
    return LINE_INTERVAL_MS;
  });
}

if (root) {
  connect();
  showAge();
  setInterval(showAge, 1000);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return;
    showAge();
    // A connection that broke while the tab slept causes no event.
    if (Date.now() - receivedAt > STALE_AFTER_MS) connect();
  });
  const again = () => { makePlots(); drawSoon(); };
  const observer = new ResizeObserver(again);
  root.querySelectorAll('[data-canvas]').forEach((place) => observer.observe(place));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
}
