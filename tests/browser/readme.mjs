// Takes the pictures of the README, light and dark, in a demo shop that was just started (in an empty folder):
//
//   cargo run --release            prints the password of admin
//   node tests/browser/readme.mjs http://localhost:8080 PASSWORD
//
// The pictures are tests/browser/shots/NAME-{light,dark}.webp. It takes half a minute, most of it for the crowd whose
// rush the cockpit shows. One demo shop serves one run: the shopper of the last picture buys a bottle.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startBrowser } from './lib/browser.mjs';
import { eventually } from './lib/check.mjs';
import { Shop } from './lib/shop.mjs';
import { sentAddress } from './lib/address.mjs';

const SHOTS = new URL('./shots/', import.meta.url);
const DESK = { viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1.5 };
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true };

const [origin, password] = process.argv.slice(2);
if (!password) {
  console.error('usage: node tests/browser/readme.mjs ORIGIN PASSWORD-OF-ADMIN');
  process.exit(2);
}

/** Chinese and Latin letters of one family, wherever the pictures are taken: Debian's fonts-noto-cjk. */
function useGoodFont() {
  const file = join(mkdtempSync(join(tmpdir(), 'fonts-')), 'fonts.conf');
  const families = ['sans-serif', 'sans', 'system-ui', 'Segoe UI', 'Roboto'];
  const alias = (name) => `<match target="pattern"><test name="family"><string>${name}</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Noto Sans CJK SC</string></edit></match>`;
  writeFileSync(file, `<?xml version="1.0"?><fontconfig><include>/etc/fonts/fonts.conf</include>${families.map(alias).join('')}</fontconfig>`);
  process.env.FONTCONFIG_FILE = file;
}

/** Chromium takes PNG, which is large for photographs, and encodes WebP in a page. */
async function save(page, name, png) {
  const webp = await page.evaluate(async (data) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/webp', quality: 0.82 })).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }, png.toString('base64'));
  writeFileSync(new URL(`${name}.webp`, SHOTS), Buffer.from(webp, 'base64'));
}

useGoodFont();
const browser = await startBrowser();
try {
  const shop = await Shop.visit(origin, { username: 'admin', password });
  const encoder = await browser.newPage();
  const shoot = async (name, path, device, account) => {
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ ...device, baseURL: origin, locale: 'zh-CN', timezoneId: 'Asia/Shanghai', colorScheme, reducedMotion: 'reduce' });
      const cookies = account?.cookie.split('; ').map((cookie) => cookie.split('=')) ?? [];
      await context.addCookies(cookies.map(([key, value]) => ({ name: key, value, url: origin })));
      const page = await context.newPage();
      await page.goto(path, { waitUntil: 'load' });
      await page.waitForTimeout(1500);
      await save(encoder, `${name}-${colorScheme}`, await page.screenshot());
      await context.close();
    }
  };
  const { sales } = await shop.admin.ask('GET', '/api/sales');
  const sale = (word) => sales.find(({ goods }) => goods.name.en.includes(word)).id;

  const crowd = await fetch(`${origin}/admin/crowd?lang=zh`, { method: 'POST', redirect: 'manual', headers: { cookie: shop.admin.cookie } });
  const cockpit = crowd.headers.get('location');
  await shoot('home', '/zh/', DESK);
  await shoot('sale', `/zh/sales/${sale('mug')}`, PHONE);
  const shopper = await shop.register();
  const order = await shopper.buy(sale('bottle'));
  await eventually('the order takes an address', () =>
    shopper.ask('PUT', `/api/sales/${order.sale_id}/orders/${order.id}/address`, { address: sentAddress({ locale: 'zh' }) }));
  await shopper.pay(order);
  await shoot('win', `/zh/orders/${order.sale_id}/${order.id}`, PHONE, shopper);
  const id = cockpit.match(/sales\/(\d+)/)[1];
  await eventually('the crowd has bought everything', async () => (await shop.button(id)).remaining === 0);
  await shoot('cockpit', cockpit, DESK, shop.admin);
  console.log(`the pictures are in ${SHOTS.pathname}`);
} finally {
  await browser.close();
}
