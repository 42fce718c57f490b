// Runs journeys through a running shop in a real browser, in both languages, at the width of a phone and of a desktop.
//
//   node tests/browser/run.mjs '{"origin": "http://127.0.0.1:8080", "journeys": ["purchase"],
//                                "admin": {"username": "admin", "password": "…"}, "consumer": 4711}'
//
// The shop needs the demo products. Settings that may be added:
//
//   places         languages and widths, such as [["zh", 390]]
//   browser        the program, by default `chromium-headless-shell`
//   examine        false skips the checks of accessibility and language, and the screenshots
//   prefix         begins the names of screenshots
//   consumer       the id of the process that stores orders, for `slow_shop`
//   smtp           the port at which `registration` takes the shop's mail
//   providers      the origins of the pages on which `payments` is made, the first with all payments that wait
//   secret         the shop's, with which `console_details` signs a report of the sandbox
//
// With SCREENSHOTS=1 in the environment, tests/browser/artifacts has pictures of every page afterwards. It always has
// pictures of failures.

import { fileURLToPath } from 'node:url';

import { startBrowser } from './lib/browser.mjs';
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

async function runOnce(journey, play, run) {
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
  await Promise.all(run.visitors.map((visitor) => visitor.close().catch(() => {})));
  return !failed;
}

/** Runs a journey in one place after the other. Two at once would use more than one processor while other tests run. */
async function runEverywhere(journey, browser, shop, settings) {
  const { default: play } = await import(`./journeys/${journey}.mjs`);
  let passed = true;
  for (const [locale, width] of settings.places ?? PLACES) {
    passed = await runOnce(journey, play, new Run(browser, shop, settings, locale, width)) && passed;
  }
  return passed;
}

export async function run(settings) {
  const shop = await Shop.visit(settings.origin, settings.admin);
  const browser = await startBrowser(settings.browser);
  try {
    let passed = true;
    for (const journey of settings.journeys) passed = await runEverywhere(journey, browser, shop, settings) && passed;
    return passed;
  } finally {
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const passed = await run(JSON.parse(process.argv[2])).catch((error) => (console.log(error.stack), false));
  process.exit(passed ? 0 : 1);
}
