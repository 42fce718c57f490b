// Journeys through a running shop in a real browser, in both languages, on a phone and on a desktop.
//
//   node tests/browser/run.mjs '{"origins": ["http://127.0.0.1:8080"], "journeys": ["shopper"],
//                                "admin": {"username": "admin", "password": "…"}, "consumer": 4711}'
//
// A shop needs its demo goods; one journey goes through several shops at once. `consumer` is the process that writes
// orders; only `waiting` needs it. `places` limits the run, such as [["zh", 390]]; `"examine": false` leaves out
// accessibility, words and pictures. Pictures of every page lie in tests/browser/artifacts afterwards.

import { fileURLToPath } from 'node:url';

import { startBrowser } from './lib/browser.mjs';
import { ARTIFACTS } from './lib/look.mjs';
import { Shop } from './lib/shop.mjs';
import { Visitor } from './lib/visitor.mjs';

const PLACES = [['zh', 390], ['zh', 1280], ['en', 390], ['en', 1280]];
const JOURNEY_WITHIN_MS = 120_000;
/** What a journey exports as `lanes` when nobody else may be in its shop. */
const PER_SHOP = 'one per shop';

/** One journey in one language on one screen. */
class Stage {
  constructor(browser, shop, settings, locale, width) {
    Object.assign(this, { browser, shop, settings, locale, width, visitors: [] });
  }

  async visit(options) {
    const visitor = await Visitor.arrive(this.browser, this.shop, this, options);
    this.visitors.push(visitor);
    return visitor;
  }

  get faults() {
    return this.visitors.flatMap((visitor) => visitor.faults);
  }

  /** What the visitors saw last, for whoever has to find out. */
  async photograph(journey) {
    const pages = this.visitors.flatMap((visitor) => visitor.context.pages());
    for (const [n, page] of pages.entries()) {
      const path = `${ARTIFACTS}FAILED-${journey}-${this.locale}-${this.width}-${n}.png`;
      console.log(`  ${page.url()} looked like ${path}`);
      await page.screenshot({ path, timeout: 5000 }).catch(() => {});
    }
  }
}

async function perform(journey, play, stage) {
  const began = Date.now();
  const name = `${journey} ${stage.locale} ${stage.width}`;
  let late;
  const deadline = new Promise((_, reject) => {
    late = setTimeout(() => reject(new Error(`not done within ${JOURNEY_WITHIN_MS} ms`)), JOURNEY_WITHIN_MS);
  });
  const error = await Promise.race([play(stage), deadline]).then(() => null, (why) => why);
  clearTimeout(late);
  const failed = error !== null || stage.faults.length > 0;
  console.log(`${failed ? 'FAILED' : 'passed'} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
  for (const fault of new Set(stage.faults)) console.log(`  fault: ${fault}`);
  if (error) {
    console.log(`  ${error.stack}`);
    await stage.photograph(journey);
  }
  await Promise.all(stage.visitors.map((visitor) => visitor.leave().catch(() => {})));
  return !failed;
}

/** All places in a few lanes side by side: more at once would only starve each other, and the shop. */
async function performEverywhere(journey, browser, shops, settings) {
  const { default: play, lanes: wanted = 2 } = await import(`./journeys/${journey}.mjs`);
  const places = settings.places ?? PLACES;
  const lanes = wanted === PER_SHOP ? shops.length : wanted;
  const passed = await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    let all = true;
    for (let n = lane; n < places.length; n += lanes) {
      const stage = new Stage(browser, shops[lane % shops.length], settings, ...places[n]);
      all = await perform(journey, play, stage) && all;
    }
    return all;
  }));
  return passed.every(Boolean);
}

export async function run(settings) {
  const shops = await Promise.all(settings.origins.map((origin) => Shop.visit(origin, settings.admin)));
  const browser = await startBrowser();
  try {
    let passed = true;
    for (const journey of settings.journeys) passed = await performEverywhere(journey, browser, shops, settings) && passed;
    return passed;
  } finally {
    await browser.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const passed = await run(JSON.parse(process.argv[2])).catch((error) => (console.log(error.stack), false));
  process.exit(passed ? 0 : 1);
}
