// Without a connection: visited pages stay readable and say how old they are, nothing can be bought from them, and
// nothing personal is stored.

import { eventually, ok, same } from '../lib/check.mjs';

export default async function offline(run) {
  const sale = await run.shop.openSale();
  const visitor = await run.visit();
  visitor.expectFailure('net::ERR_INTERNET_DISCONNECTED');
  await hasCacheOfAnotherVersion(visitor);
  await readsWhatWasSeen(visitor, sale);
  await eventually('the cache of another version is gone', async () => !(await visitor.page.evaluate(() => caches.has('pages-old'))));
  await worksAgain(visitor);
  await keepsNothingPersonal(visitor, sale);
}

/** Before this version's worker: the address has no script that installs it. */
async function hasCacheOfAnotherVersion({ page }) {
  await page.goto('/robots.txt');
  await page.evaluate(async () => (await caches.open('pages-old')).put('/old', new Response('old')));
}

/** The paths of everything that the worker has stored. */
function keptPaths(page) {
  return page.evaluate(async () => {
    const all = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return all.flat().map(({ url }) => new URL(url).pathname);
  });
}

const isKept = (page, path) => eventually(`${path} is kept`, async () => (await keptPaths(page)).includes(path));

async function readsWhatWasSeen(visitor, sale) {
  const { page, context } = visitor;
  const here = visitor.path(`/sales/${sale}`);
  await visitor.go(`/sales/${sale}`);
  // The page was there before the worker, and sends it the paths to store.
  await isKept(page, here);
  await eventually('the picture is kept', async () => (await keptPaths(page)).some((path) => path.startsWith('/static/goods/')));
  await visitor.go('/');
  await isKept(page, visitor.path('/'));

  // At once, because for a second the browser itself has the shop's answer about the button.
  await visitor.go(`/sales/${sale}`);
  await visitor.button(visitor.labels.logInToBuy).waitFor();
  await context.setOffline(true);
  await visitor.go(`/sales/${sale}`);
  ok(/\d\d:\d\d/.test(await page.locator('.kept').textContent()), 'the page says how old it is');
  same(await page.locator('h1:visible').count(), 1);
  await offersNothing(visitor);
  ok(await page.locator('.offer img').first().evaluate((image) => image.naturalWidth > 0), 'the picture is shown');
  await visitor.inspect('offline-sale');
  await visitor.go('/');
  await page.locator('.kept').waitFor();
  same(await page.locator('.card .go:visible').count(), 0, 'a kept card invites to nothing');
  await visitor.inspect('offline-list');

  // A page that is not stored.
  await visitor.go('/orders');
  await page.locator('[data-slot="kept"] li').first().waitFor();
  await visitor.inspect('offline-page');
  await page.locator(`[data-slot="kept"] a[href="${here}"]`).click();
  await page.waitForURL(here);
  await offersNothing(visitor);
}

/** The button is off from the first moment, and stays off while the scripts run. */
async function offersNothing({ page, locale }) {
  const words = locale === 'zh' ? '连不上商店，暂时不能购买' : 'Shop not reachable';
  const button = page.locator('button[data-slot="button"]');
  same([await button.isDisabled(), await button.textContent()], [true, words]);
  await page.waitForEvent('requestfailed', (request) => request.url().endsWith('/button'));
  same([await button.isDisabled(), await button.textContent()], [true, words]);
}

async function worksAgain(visitor) {
  const { page, context, labels } = visitor;
  await context.setOffline(false);
  await page.locator('.kept').waitFor({ state: 'detached' });
  await visitor.button(labels.logInToBuy).waitFor();
}

/** The worker stores nothing that belongs to an account; after the log-out, not even the pages that the account visited. */
async function keepsNothingPersonal(visitor, sale) {
  const { page, labels } = visitor;
  await visitor.logInAsNewUser();
  await visitor.account.buy(sale);
  for (const path of ['/orders', '/account', `/sales/${sale}`]) {
    await visitor.go(path);
    await page.waitForLoadState('load');
  }
  await eventually('the order is known', async () => (await visitor.button(labels.seeOrder).count()) === 1);
  const shared = /^\/(static|uploads)\/|^\/(zh|en)\/(offline|sales\/\d+)?$/;
  same((await keptPaths(page)).filter((path) => !shared.test(path)), []);
  // The page may ask for a token while the session ends.
  visitor.expect(401, /\/token$/);
  await visitor.button(labels.logOut).click();
  await page.waitForURL(visitor.path('/'));
  await eventually('goods are forgotten', async () => !(await keptPaths(page)).some((path) => path.includes('/sales/')));
}
