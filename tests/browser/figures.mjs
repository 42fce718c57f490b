// Loading figures of pages on a slow phone with a slow connection, measured through the DevTools protocol in
// Debian's Chromium: cold cache, 4x slower CPU, 1.6 Mbit/s down, 750 kbit/s up, 150 ms round trip (as in Lighthouse's
// mobile profile).
//
//   node tests/browser/figures.mjs http://127.0.0.1:8080 [/en/sales/1 …] [--runs 5]
//
// Needs a running shop, built with `--release`. Without paths: the list and the first sale.

import { startBrowser } from './lib/browser.mjs';

const LINE = { offline: false, latency: 150, downloadThroughput: (1.6e6 / 8), uploadThroughput: (750e3 / 8) };
const CPU_SLOWDOWN = 4;
/** More time than the page needs for anything it does by itself after loading. */
const SETTLES_IN_MS = 4000;

const args = process.argv.slice(2);
const runsAt = args.indexOf('--runs');
const runs = runsAt < 0 ? 3 : Number(args.splice(runsAt, 2)[1]);
const [origin, ...asked] = args;
if (!origin || !(runs > 0)) {
  console.error('usage: node tests/browser/figures.mjs ORIGIN [PATH…] [--runs N]');
  process.exit(2);
}

async function firstSale() {
  const { sales } = await (await fetch(`${origin}/api/sales`)).json();
  if (sales.length === 0) throw new Error(`${origin} sells nothing`);
  return `/en/sales/${sales.at(-1).id}`;
}

/** Runs in the page before its own scripts. */
function observe() {
  globalThis.figures = { lcp: 0, what: '', cls: 0, shifts: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      figures.lcp = entry.startTime;
      figures.what = entry.element?.tagName.toLowerCase() ?? '';
    }
  }).observe({ type: 'largest-contentful-paint', buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      figures.cls += entry.value;
      figures.shifts.push(...entry.sources.map(({ node }) => node?.parentElement ? `${node.nodeName} in .${node.parentElement.className}` : '?'));
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

/** One visit with a cold cache. Later polls are not counted. */
async function visit(browser, path) {
  const context = await browser.newContext({ viewport: { width: 412, height: 823 }, deviceScaleFactor: 1.75, isMobile: true, hasTouch: true });
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
  await devtools.send('Network.emulateNetworkConditions', LINE);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  const kinds = new Map();
  const bytes = { all: 0, code: 0, pictures: 0 };
  devtools.on('Network.responseReceived', ({ requestId, type }) => kinds.set(requestId, type));
  devtools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes.all += encodedDataLength;
    bytes[kinds.get(requestId) === 'Image' ? 'pictures' : 'code'] += encodedDataLength;
  });
  await page.addInitScript(observe);
  await page.goto(origin + path, { waitUntil: 'load' });
  const requests = kinds.size;
  const counted = { ...bytes };
  await page.waitForTimeout(SETTLES_IN_MS);
  const seen = await page.evaluate(() => ({
    ...figures,
    fcp: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    load: performance.getEntriesByType('navigation')[0].loadEventEnd,
  }));
  await context.close();
  return { ...seen, ...counted, requests };
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
const kib = (n) => (n / 1024).toFixed(1);

const browser = await startBrowser('chromium');
try {
  console.log('| page | first paint | largest paint | layout shift | HTML, CSS, JS, API (KiB sent) | pictures (KiB) | requests | load |');
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const path of asked.length > 0 ? asked : ['/en/', await firstSale()]) {
    const visits = [];
    for (let i = 0; i < runs; i += 1) visits.push(await visit(browser, path));
    const of = (key) => median(visits.map((v) => v[key]));
    console.log(`| ${path} | ${Math.round(of('fcp'))} ms | ${Math.round(of('lcp'))} ms (${visits[0].what}) | ${of('cls').toFixed(4)} | ${kib(of('code'))} | ${kib(of('pictures'))} | ${of('requests')} | ${Math.round(of('load'))} ms |`);
    const shifts = [...new Set(visits.flatMap((v) => v.shifts))];
    if (shifts.length > 0) console.error(`${path} shifted: ${shifts.join('; ')}`);
  }
} finally {
  await browser.close();
}
