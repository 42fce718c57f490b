// Runs journeys through a running shop in a real browser.
//
//   node tests/browser/run.mjs '{"origin": "http://127.0.0.1:8080", "admin": {"username": "admin", "password": "…"},
//                                "journeys": [{"name": "purchase", "places": [["en", 390]]}]}'
//
// The shop needs the demo products. A journey is played in each of its `places`, which are languages and widths; without them
// in both languages, at the width of a phone and of a desktop. With one place, its pages are looked at in the other language
// at the other width as well. `lanes` journeys run at a time, by default
// one: while one waits for a clock, another goes on.
//
// Settings of all journeys or of one: `consumer` is the id of the process that stores orders, which `slow_shop` needs; `smtp`
// the port at which `registration` takes the shop's mail; `report` the file that `rehearsal_report` reads. `"examine": false`
// skips the checks of accessibility and language, and the screenshots. `browser` is the program, by default
// `chromium-headless-shell`. With SCREENSHOTS=1 in the environment, tests/browser/artifacts has pictures of
// every page afterwards. It always has pictures of failures.

import { fileURLToPath } from 'node:url';

import { startBrowser } from './lib/browser.mjs';
import { Elsewhere } from './lib/elsewhere.mjs';
import { ARTIFACTS } from './lib/inspect.mjs';
import { Shop } from './lib/shop.mjs';
import { Visitor } from './lib/visitor.mjs';

const PLACES = [['zh', 390], ['zh', 1280], ['en', 390], ['en', 1280]];
/** Enough for a machine that is busy with other tests as well. */
const JOURNEY_TIMEOUT_MS = 300_000;

/** One run of a journey, in one language at one width. */
class Run {
  constructor(browser, shop, settings, locale, width) {
    Object.assign(this, { browser, shop, settings, locale, width, visitors: [] });
  }

  async visit(options) {
    const visitor = await Visitor.open(this.browser, this.shop, this, options);
    this.visitors.push(visitor);
    return visitor;
  }

  get faults() {
    return this.visitors.flatMap((visitor) => visitor.faults);
  }

  /** Screenshots of all open pages, for the analysis of a failure. */
  async screenshot(journey) {
    const pages = this.visitors.flatMap((visitor) => visitor.context.pages());
    for (const [n, page] of pages.entries()) {
      const path = `${ARTIFACTS}FAILED-${journey}-${this.locale}-${this.width}-${n}.png`;
      console.log(`  screenshot of ${page.url()}: ${path}`);
      await page.screenshot({ path, timeout: 5000 }).catch(() => {});
    }
  }
}

async function playOnce(journey, play, run) {
  const began = Date.now();
  const name = `${journey} ${run.locale} ${run.width}`;
  let late;
  const deadline = new Promise((_, reject) => {
    late = setTimeout(() => reject(new Error(`not finished within ${JOURNEY_TIMEOUT_MS} ms`)), JOURNEY_TIMEOUT_MS);
  });
  const error = await Promise.race([play(run), deadline]).then(() => null, (why) => why);
  clearTimeout(late);
  const failed = error !== null || run.faults.length > 0;
  console.log(`${failed ? 'FAILED' : 'passed'} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  for (const fault of new Set(run.faults)) console.log(`  fault: ${fault}`);
  if (error) {
    console.log(`  ${error.stack}`);
    await run.screenshot(journey);
  }
  await Promise.all([...run.visitors, run.elsewhere].map((visitor) => visitor?.close().catch(() => {})));
  return !failed;
}

/** What is to be played: each journey in each of its places. */
async function plan(journeys) {
  const all = await Promise.all(journeys.map(async (journey) => {
    const { default: play } = await import(`./journeys/${journey.name}.mjs`);
    const places = journey.places ?? PLACES;
    return places.map(([locale, width]) => ({ journey, play, locale, width, isAlone: places.length === 1 }));
  }));
  return all.flat();
}

/** Returns the names of the journeys that failed. */
export async function run({ origin, admin, journeys, lanes = 1, browser: program, ...settings }) {
  const shop = await Shop.visit(origin, admin);
  const waiting = await plan(journeys);
  const browser = await startBrowser(program);
  const failed = new Set();
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const run = new Run(browser, shop, { ...settings, admin, ...next.journey }, next.locale, next.width);
      if (next.isAlone) run.elsewhere = new Elsewhere(run);
      if (!await playOnce(next.journey.name, next.play, run)) failed.add(next.journey.name);
    }
  };
  try {
    await Promise.all(Array.from({ length: lanes }, lane));
    return [...failed];
  } finally {
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const failed = await run(JSON.parse(process.argv[2])).catch((error) => (console.log(error.stack), ['all']));
  if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
  process.exit(failed.length > 0 ? 1 : 0);
}
