// The large figures of the live dashboard with their short curves, its alarms, and the wall mode.

import { chime } from './chime.js';
import { count, create, money, slot, write } from './lib.js';

const CURVE_POINTS = 120;
const CURVE_HEIGHT = 28;
/** Longer values are written smaller. The same constant is in `src/console/cockpit/page.rs`; change both. */
const MAX_LARGE_CHARS = 7;

const rounded = (n, digits = 1) => count(Number(n.toFixed(digits)));

/** For each tile: how its value is written, and the value of a point for its curve. */
function tilesOf(price) {
  const revenue = (units) => money({ ...price, amount: price.amount * units });
  return {
    left: { text: count, curve: (p) => p.left },
    revenue: { text: revenue, curve: (p) => p.paid_units },
    paid_share: { text: (n) => `${rounded(n)}%`, curve: (p) => p.paid_share },
    waiting: { text: count, curve: (p) => p.waiting },
    rate: { text: (n) => rounded(n), curve: (p) => p.accepted },
    p99: { text: (n) => rounded(n, n < 10 ? 1 : 0), curve: (p) => p.p99_ms },
  };
}

/** The line of a curve from the bottom left, in the units of its view box. Gaps are bridged. */
function curve(values) {
  const known = values.map((value, n) => [n, value]).filter(([, value]) => value != null);
  if (known.length < 2) return '';
  const numbers = known.map(([, value]) => value);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const y = (value) => (high > low ? 2 + (CURVE_HEIGHT - 4) * (1 - (value - low) / (high - low)) : CURVE_HEIGHT - 2);
  return known.map(([n, value]) => `${((n / (values.length - 1)) * 100).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
}

/** Shows tiles and alarms within the dashboard. `say` has its words, `time` writes a time. */
export function tiles(root, say, time) {
  const all = tilesOf(JSON.parse(root.dataset.price));
  const title = document.title;
  const bell = root.querySelector('[data-sound]');
  const sound = bell && chime(bell);
  const list = slot('alarm-events', root);
  let before = null;

  function showTiles(sample, points) {
    const last = sample.point;
    const values = { left: last.left, revenue: last.paid_units, paid_share: last.paid_share, waiting: last.waiting, rate: last.accepted, p99: last.p99_ms };
    const recent = points.slice(-CURVE_POINTS);
    for (const [name, tile] of Object.entries(all)) {
      const place = root.querySelector(`[data-tile="${name}"]`);
      const value = values[name];
      const text = value == null ? '–' : tile.text(value);
      write(place.querySelector('dd'), text);
      place.toggleAttribute('data-long', text.length > MAX_LARGE_CHARS);
      place.dataset.mood = sample.moods[name] ?? 'calm';
      place.querySelector('polyline').setAttribute('points', curve(recent.map(tile.curve)));
    }
  }

  function showAlarms(sample) {
    const { alarms } = sample;
    const place = slot('alarms', root);
    write(place, alarms.length ? alarms.map((alarm) => say(`alarm_${alarm}`)).join(' · ') : say('no_alarms'));
    place.dataset.mood = !alarms.length ? 'good' : alarms.every((alarm) => alarm === 'nearly_sold') ? 'warn' : 'bad';
    document.title = alarms.length ? `(${alarms.length}) ${title}` : title;
    if (before && alarms.some((alarm) => !before.includes(alarm))) sound?.ring();
    before = alarms;

    const shown = JSON.stringify(sample.events);
    if (list.dataset.shown === shown) return;
    list.dataset.shown = shown;
    list.replaceChildren(...sample.events.map(({ alarm, rose_at: rose, ended_at: ended }) => {
      const times = [rose, ended].filter(Boolean).map((at) => create('time', { dateTime: at, textContent: time(new Date(at)) }));
      return create('li', {}, times[0], ' – ', ...times.slice(1), ` ${say(`alarm_${alarm}`)}`);
    }));
  }

  const wall = root.querySelector('[data-wall]');
  if (wall && document.fullscreenEnabled) {
    wall.hidden = false;
    wall.addEventListener('click', () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen()));
    document.addEventListener('fullscreenchange', () => {
      const isOn = document.fullscreenElement === root;
      write(wall, say(isOn ? 'wall_leave' : 'wall'));
      root.toggleAttribute('data-on-wall', isOn);
    });
  }

  return (sample, points) => {
    showTiles(sample, points);
    showAlarms(sample);
  };
}
