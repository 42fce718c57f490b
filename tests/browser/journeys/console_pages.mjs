// Every page of the console is inspected.

import { eventually, ok, same } from '../lib/check.mjs';
import { GOODS } from '../lib/shop.mjs';

export default async function consolePages(run) {
  const { shop } = run;
  const { open, paused, planned, order, waiting, shopper } = await createData(shop);
  const visitor = await (await run.visit()).logInAs(shop.admin);
  const { page } = visitor;
  const see = async (path, name, ready) => {
    same((await visitor.goAdmin(path)).status(), 200, path);
    if (ready) await page.locator(ready).first().waitFor();
    same(await page.locator('.tabs [aria-current="page"]').count(), 1, `${path} belongs to one section`);
    await visitor.inspect(`admin-${name}`);
    await visitor.fitsEveryWidth();
  };

  await see('', 'sales', '.freshness[data-state="live"]');
  await visitor.switchLanguage();
  for (const [sale, name] of [[open, 'cockpit'], [paused, 'cockpit-paused']]) await cockpit(visitor, see, sale, name);
  await see('/sales/new', 'sale-new');
  await see(`/sales/${planned}/edit`, 'sale-edit', '.checklist li');
  await see('/calendar', 'calendar', '.calendar li');
  await see('/goods', 'goods', '.goods-list tbody tr');
  await see('/goods/new', 'goods-new');
  await see(`/goods/${GOODS.phone}`, 'goods-edit', '.picture-list img');
  await see('/orders', 'orders', 'table.dense');
  await see('/orders/shipping', 'shipping', '.rate');
  await see('/orders?show=payments', 'payments', '.empty');
  await see('/orders?show=approvals', 'approvals', '[data-approval]');
  await see('/orders/invoices', 'invoices');
  await see('/orders/parcels', 'parcels');
  await see('/orders/books', 'books');
  await see('/orders/books?show=settlements', 'settlements');
  await see('/packets', 'packets');
  await see('/packets/new', 'packet-new');
  await see('/questions', 'questions');
  await see('/goods/categories', 'categories');
  await see('/goods/import', 'goods-import');
  await see(`/sales/${open}/report`, 'report', '.report');
  await see(`/sales/${open}/clusters`, 'clusters');
  await see(`/sales/${open}/decisions`, 'decisions');
  await see(`/orders/${waiting.id}`, 'order-waiting', '.timeline');
  await see(`/orders/${order.id}`, 'order', '.timeline');
  await see('/users', 'users', 'tbody th');
  await see(`/users/${order.user_id ?? shopper}`, 'user');
  await see('/users?show=staff', 'staff', 'tbody th');
  await see('/log', 'log', 'tbody tr');
  await see('/pages', 'shop-pages', 'textarea');
  await see('/log?show=security', 'security');
  await see('/system?show=mail', 'mail', '.empty');
  await see('/system?show=webhooks', 'webhooks', '.empty');
  await see('/system?show=tokens', 'tokens', '#new-token');
  await see('/system', 'dead-letters', '.empty');
  await firstScreen(visitor);
}

/** On a screen of 1280 by 800: four figures, and as many sales as there are, up to eight. One act is red. Ticked rows differ, and
 *  the bar with what can be done with them hides none. */
async function firstScreen(visitor) {
  const { page, width } = visitor;
  if (width !== 1280) return;
  await page.setViewportSize({ width: 1280, height: 800 });
  await visitor.goAdmin('?state=all');
  const rows = page.locator('[data-sale]');
  const inView = () => rows.evaluateAll((all) => all.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length);
  const all = await rows.count();
  await visitor.goAdmin();
  same(await page.locator('.overview > div').count(), 4, 'figures');
  ok(await inView() >= Math.min(8, await rows.count()), `${await inView()} sales of ${all} on the first screen`);
  const red = await page.locator('main :is(.btn, button)').evaluateAll((buttons) => buttons.filter((button) => button.checkVisibility() && !button.closest('details:not([open]) > :not(summary)') && getComputedStyle(button).backgroundColor === 'rgb(201, 48, 29)').map((button) => button.textContent));
  same(red.length, 1, `red acts: ${red}`);
  const tops = () => rows.evaluateAll((some) => some.map((row) => Math.round(row.getBoundingClientRect().top)));
  const [before, row] = [await tops(), rows.first()];
  const colour = () => row.locator('th').evaluate((cell) => getComputedStyle(cell).backgroundColor);
  const plain = await rows.nth(1).locator('th').evaluate((cell) => getComputedStyle(cell).backgroundColor);
  await row.locator('.pick input').check();
  ok(await colour() !== plain, 'a ticked row has another colour');
  same(await tops(), before, 'the bar moves no row');
  const bar = await page.locator('.bulk').boundingBox();
  ok((await row.boundingBox()).y >= bar.y + bar.height, 'the bar is above the rows');
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Creates sales in several states, with orders. */
async function createData(shop) {
  const [open, paused, planned] = await Promise.all([
    shop.openSale({ goods: GOODS.sneakers, total: 40, limit: 2 }),
    shop.openSale({ goods: GOODS.espresso, total: 5 }),
    shop.newSale({ goods: GOODS.headphones, opensIn: 3 * 3_600_000, closesIn: 5 * 3_600_000 }),
  ]);
  await shop.act(paused, 'pause');
  const shoppers = await Promise.all(Array.from({ length: 6 }, () => shop.register()));
  const orders = await Promise.all(shoppers.map((shopper, n) => shopper.buy(open, 1 + (n % 2))));
  await Promise.all([0, 1, 2].map((n) => shoppers[n].pay(orders[n])));
  const waiting = await refundThatWaits(shop, shoppers[0]);
  const { user } = await shoppers[0].ask('GET', '/api/me');
  return { open, paused, planned, order: orders[0], waiting, shopper: user?.id };
}

/** A paid order whose refund needs a second person. */
async function refundThatWaits(shop, shopper) {
  const order = await shopper.buy(await shop.openSale({ price: 600_000 }));
  await shopper.pay(order);
  const { approval } = await shop.admin.ask('POST', `/api/admin/orders/${order.id}/refund`, { reason: 'scratched' });
  same(approval.status, 'pending', 'more than one person refunds alone');
  return order;
}

async function cockpit(visitor, see, sale, name) {
  const { page } = visitor;
  await visitor.goAdmin(`/sales/${sale}`);
  await page.locator('[data-cockpit][data-old="no"]').waitFor();
  await eventually('plots are drawn', async () => (await page.locator('[data-plot] canvas').count()) >= 4);
  await see(`/sales/${sale}`, name, '[data-cockpit][data-old="no"]');
}
