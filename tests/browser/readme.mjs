// Takes the pictures of the README, light and dark, and of the two guides (docs/guide-*.md):
//
//   cargo build --release && node tests/browser/readme.mjs [readme | guides]
//
// Starts shops of its own: a demo, and an empty one for the guide of owners. SECKILL_TEST_PROGRAM names another program. The
// pictures are tests/browser/shots/NAME.webp. It takes a minute or two, most of it for the crowd whose rush the cockpit shows.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { sentAddress } from './lib/address.mjs';
import { startBrowser } from './lib/browser.mjs';
import { eventually } from './lib/check.mjs';
import { encode, useGoodFont } from './lib/pictures.mjs';
import { ADMIN, withShop } from './lib/program.mjs';
import { Shop } from './lib/shop.mjs';

const SHOTS = new URL('./shots/', import.meta.url);
const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
const CHINESE = { locale: 'zh-CN', timezoneId: 'Asia/Shanghai' };
const ENGLISH = { locale: 'en-GB', timezoneId: 'Europe/London' };
/** The guides are read on slow connections, too. */
const MAX_GUIDE_BYTES = 60_000;
/** Units and people of the first sale in the guide of owners. */
const [UNITS, PEOPLE] = [30, 40];

process.env.SECKILL_TEST_PROGRAM ??= fileURLToPath(new URL('../../target/release/seckill', import.meta.url));
const asked = process.argv[2] ?? 'all';

/** Takes pictures of a shop. */
class Camera {
  constructor(browser, encoder, origin) {
    Object.assign(this, { browser, encoder, origin });
  }

  async open(device, account) {
    const context = await this.browser.newContext({ ...device, baseURL: this.origin, reducedMotion: 'reduce' });
    const cookies = account?.cookie.split('; ').map((cookie) => cookie.split('=')) ?? [];
    await context.addCookies(cookies.map(([name, value]) => ({ name, value, url: this.origin })));
    return context.newPage();
  }

  /** A picture for the README, in both themes. */
  async both(name, path, device, account) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await this.open({ ...device, ...CHINESE, colorScheme }, account);
      await page.goto(path, { waitUntil: 'load' });
      await page.waitForTimeout(1500);
      writeFileSync(new URL(`${name}-${colorScheme}.webp`, SHOTS), await encode(this.encoder, await page.screenshot()));
      await page.context().close();
    }
  }

  /** A picture for a guide, of the page as it is. */
  async guide(name, page) {
    await page.waitForTimeout(1000);
    const png = await page.screenshot({ animations: 'disabled' });
    for (const quality of [0.8, 0.7, 0.6, 0.5, 0.4]) {
      const webp = await encode(this.encoder, png, { quality });
      if (webp.length > MAX_GUIDE_BYTES) continue;
      writeFileSync(new URL(`guide-${name}.webp`, SHOTS), webp);
      return;
    }
    throw new Error(`${name} is larger than ${MAX_GUIDE_BYTES} bytes`);
  }
}

/** A shopper with an address and a paid order. */
async function paidOrder(shop, sale, locale) {
  const shopper = await shop.register();
  const order = await shopper.buy(sale);
  await eventually('the order takes an address', () =>
    shopper.ask('PUT', `/api/sales/${order.sale_id}/orders/${order.id}/address`, { address: sentAddress({ locale }) }));
  await shopper.pay(order);
  return [shopper, order];
}

async function demoSale(shop, word) {
  const { sales } = await shop.admin.ask('GET', '/api/sales');
  return sales.find(({ goods }) => goods.name.en.includes(word)).id;
}

async function readmePictures(camera, shop) {
  const desk = { ...DESK, deviceScaleFactor: 1.5 };
  const phone = { ...PHONE, deviceScaleFactor: 2 };
  const crowd = await fetch(`${shop.origin}/admin/crowd?lang=zh`, { method: 'POST', redirect: 'manual', headers: { cookie: shop.admin.cookie } });
  const cockpit = crowd.headers.get('location');
  await camera.both('home', '/zh/', desk);
  await camera.both('sale', `/zh/sales/${await demoSale(shop, 'mug')}`, phone);
  const [shopper, order] = await paidOrder(shop, await demoSale(shop, 'bottle'), 'zh');
  await camera.both('win', `/zh/orders/${order.sale_id}/${order.id}`, phone, shopper);
  const id = cockpit.match(/sales\/(\d+)/)[1];
  await eventually('the crowd has bought everything', async () => (await shop.button(id)).remaining === 0);
  await camera.both('cockpit', cockpit, desk, shop.admin);
}

/** What a shopper sees from the list to the parcel, and after losing. */
async function shopperGuide(camera, shop) {
  const device = { ...PHONE, ...ENGLISH, deviceScaleFactor: 1.5 };
  const shopper = await shop.register();
  const page = await camera.open(device, shopper);
  await page.goto('/en/');
  await camera.guide('shop-list', page);
  const upcoming = await shop.newSale({ goods: '2', price: 59_900, opensIn: 26 * 60_000, total: 50 });
  await shop.shows(upcoming, 'upcoming');
  await page.goto(`/en/sales/${upcoming}`);
  await camera.guide('shop-sale', page);

  const won = await shop.openSale({ goods: '7', price: 12_900, total: 20 });
  const order = await shopper.buy(won);
  await page.goto(`/en/orders/${won}/${order.id}`);
  await page.locator('main[data-status="unpaid"]').waitFor();
  await camera.guide('shop-won', page);

  // Another shopper takes the last unit while the request is on its way.
  const last = await shop.openSale({ goods: '3', price: 89_900, total: 1 });
  const winner = await shop.register();
  await page.goto(`/en/sales/${last}`);
  await page.locator('[data-slot="button"][aria-disabled="false"]').waitFor();
  await page.route('**/api/sales/*/orders', async (route) => { await winner.buy(last); await route.continue(); }, { times: 1 });
  await page.locator('[data-slot="button"]').click();
  await page.locator('#lost-title').waitFor();
  await camera.guide('shop-lost', page);

  const [buyer, paid] = await paidOrder(shop, won, 'en');
  const other = await camera.open(device, buyer);
  await other.goto(`/en/orders/${won}/${paid.id}`);
  await other.locator('main[data-status="paid"]').waitFor();
  await camera.guide('shop-paid', other);
}

/** An owner's way from the empty shop to the report of the first sale, which sells out. */
async function ownerGuide(camera, shop) {
  const page = await camera.open({ ...DESK, ...ENGLISH }, shop.admin);
  await page.goto('/admin?lang=en');
  await camera.guide('owner-steps', page);

  await page.goto('/admin/goods/new?lang=en');
  await page.locator('#name_zh').fill('意式咖啡机');
  await page.locator('#name_en').fill('Espresso machine');
  await page.locator('#description_en').fill('Nine bar, ready in **forty seconds**.');
  await page.locator('#pictures').setInputFiles({
    name: 'espresso.jpg', mimeType: 'image/jpeg', buffer: readFileSync(new URL('../../static/goods/espresso-800.jpg', import.meta.url)),
  });
  await page.locator('button[value="save"]').click();
  await page.waitForURL(/admin\/goods\?/);
  const { goods: [{ id: goods }] } = await shop.admin.ask('GET', '/api/admin/goods');
  await page.goto(`/admin/goods/${goods}?lang=en`);
  await camera.guide('owner-product', page);

  await page.goto(`/admin/sales/new?goods=${goods}&lang=en`);
  const fill = (id, value) => page.locator(`#${id}`).fill(value);
  await fill('price', '1999');
  await fill('list_price', '2999');
  await fill('total', String(UNITS));
  const opens = new Date(Date.now() + 45_000 - new Date().getTimezoneOffset() * 60_000);
  await fill('opens_at', opens.toISOString().slice(0, 19));
  await page.locator('[data-card] .off').waitFor();
  await camera.guide('owner-sale', page);
  const people = [];
  for (let n = 0; n < PEOPLE; n += 1) people.push(await shop.register());
  await page.locator('button[value="schedule"]').click();
  await page.waitForURL(/admin\?/);
  const { sales: [{ id: sale }] } = await shop.admin.ask('GET', '/api/admin/sales');
  await shop.shows(sale, 'open');
  await page.goto(`/admin/sales/${sale}?lang=en`);
  const bought = await Promise.all(people.map((person) => person.buy(sale).catch(() => null)));
  await Promise.all(bought.map((order, n) => order && n % 5 !== 0 && people[n].pay(order)));
  await eventually('it is sold out', async () => (await shop.button(sale)).remaining === 0);
  await page.locator('.state[data-phase="sold_out"]').waitFor();
  await camera.guide('owner-cockpit', page);
  await page.goto(`/admin/sales/${sale}/report?lang=en`);
  await page.locator('.fairness').evaluate((section) => section.scrollIntoView({ block: 'end' }));
  await camera.guide('owner-report', page);
}

/** Lets `take` photograph a shop that was just started, in a font for the language of its pages. */
async function inShop(locale, settings, take) {
  useGoodFont(locale);
  const browser = await startBrowser();
  try {
    const encoder = await browser.newPage();
    await withShop({ SECKILL_FREE_REGISTRATIONS: '1000', ...settings }, async (origin) =>
      take(new Camera(browser, encoder, origin), await Shop.visit(origin, ADMIN)));
  } finally {
    await browser.close();
  }
}

if (asked !== 'guides') await inShop('zh', { SECKILL_DEMO: 'true' }, readmePictures);
if (asked !== 'readme') {
  await inShop('en', { SECKILL_DEMO: 'true' }, shopperGuide);
  await inShop('en', { SECKILL_DEMO: 'false' }, ownerGuide);
}
console.log(`the pictures are in ${SHOTS.pathname}`);
