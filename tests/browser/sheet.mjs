// The contact sheets: see `sheet`, which starts this.

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

import { startBrowser } from './lib/browser.mjs';
import { ARTIFACTS } from './lib/inspect.mjs';
import { dressGoods, encode, useGoodFont } from './lib/pictures.mjs';
import { ADMIN, withShop } from './lib/program.mjs';
import { Shop } from './lib/shop.mjs';
import { run } from './run.mjs';

/** Which tours show the pages of goods with which pictures. */
const TOURS = [
  { kind: 'photograph', prefix: '', journeys: ['outcome', 'shop_pages', 'purchase', 'waitlist', 'waiting_room', 'draw', 'packets', 'wallet', 'questions', 'console_pages'] },
  { kind: 'drawing', prefix: 'drawn-', journeys: ['shop_pages', 'purchase'] },
];
/** A thumbnail in CSS pixels; what is higher is cut off. */
const THUMBS = { 390: { width: 195, height: 480, columns: 9 }, 1280: { width: 320, height: 400, columns: 6 } };

const names = process.argv.slice(2);
const themes = names[0] === '--dark' ? (names.shift(), ['light', 'dark']) : ['light'];
const places = (names.length > 0 ? names : ['zh-390', 'en-390', 'zh-1280', 'en-1280']).map((name) => {
  const [locale, width] = name.split('-');
  if (!['zh', 'en'].includes(locale) || !THUMBS[width]) throw new Error(`no such place: ${name}`);
  return [locale, Number(width)];
});

/** Returns the names of journeys that failed. */
async function tour(browser, place) {
  const failed = [];
  for (const { kind, prefix, journeys } of TOURS) {
    await withShop({ SECKILL_DEMO: 'true' }, async (origin) => {
      const page = await browser.newPage();
      await dressGoods(page, await Shop.visit(origin, ADMIN), kind);
      await page.close();
      for (const journey of journeys) {
        const passed = await run({ origin, admin: ADMIN, journeys: [journey], places: [place], prefix });
        if (!passed) failed.push(`${prefix}${journey}`);
      }
    });
  }
  return failed;
}

/** Lays the screenshots of a place side by side. */
async function sheet(browser, [locale, width], theme) {
  const ending = `-${locale}-${width}-${theme}.png`;
  const { columns, ...thumb } = THUMBS[width];
  const page = await browser.newPage({ viewport: { width: columns * (thumb.width + 16) + 16, height: 900 } });
  const files = readdirSync(ARTIFACTS, { withFileTypes: true }).map(({ name }) => name)
    .filter((name) => name.endsWith(ending) && !/^(FAILED|sheet)/.test(name)).sort();
  const figures = [];
  for (const file of files) {
    const picture = await encode(page, readFileSync(ARTIFACTS + file), { ...thumb, type: 'image/jpeg', quality: 0.85 });
    figures.push(`<figure><figcaption>${file.slice(0, -ending.length)}</figcaption><img src="data:image/jpeg;base64,${picture.toString('base64')}"></figure>`);
  }
  await page.setContent(`<!doctype html><style>
    body { display: grid; grid-template-columns: repeat(${columns}, ${thumb.width}px); gap: 16px; margin: 16px; background: #9a9da6; font: 12px sans-serif; }
    figure { margin: 0; } figcaption { overflow: hidden; padding-bottom: 2px; white-space: nowrap; } img { display: block; }
  </style>${figures.join('')}`);
  const path = `${ARTIFACTS}sheet${ending.replace('.png', '.jpg')}`;
  writeFileSync(path, await page.screenshot({ fullPage: true, type: 'jpeg', quality: 85 }));
  await page.close();
  console.log(`${files.length} pages: ${path}`);
}

const failed = [];
for (const place of places) {
  useGoodFont(place[0]);
  const browser = await startBrowser();
  try {
    for (const file of readdirSync(ARTIFACTS)) if (file.includes(`-${place.join('-')}-`)) rmSync(ARTIFACTS + file);
    failed.push(...(await tour(browser, place)).map((name) => `${name} ${place.join(' ')}`));
    for (const theme of themes) await sheet(browser, place, theme);
  } finally {
    await browser.close();
  }
}
if (failed.length > 0) {
  console.error(`left out, because they failed: ${failed.join(', ')}`);
  process.exit(1);
}
