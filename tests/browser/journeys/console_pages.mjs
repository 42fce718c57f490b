// Every page of the console is inspected.

import { eventually, same } from '../lib/check.mjs';
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
  };

  await see('', 'sales', '.freshness[data-state="live"]');
  await visitor.switchLanguage();
  for (const [sale, name] of [[open, 'cockpit'], [paused, 'cockpit-paused']]) await cockpit(visitor, see, sale, name);
  await see('/sales/new', 'sale-new');
  await see(`/sales/${planned}/edit`, 'sale-edit', '.checklist li');
  await see('/calendar', 'calendar', '.calendar li');
  await see('/goods', 'goods', '.goods-list li');
  await see('/goods/new', 'goods-new');
  await see(`/goods/${GOODS.phone}`, 'goods-edit', '.picture-list img');
  await see('/orders', 'orders', 'table.dense');
  await see('/orders/shipping', 'shipping', '.rate');
  await see('/orders/payments', 'payments', '.empty');
  await see('/orders/approvals', 'approvals', '[data-approval]');
  await see(`/orders/${waiting.id}`, 'order-waiting', '.timeline');
  await see(`/orders/${order.id}`, 'order', '.timeline');
  await see('/users', 'users', 'tbody th');
  await see(`/users/${order.user_id ?? shopper}`, 'user');
  await see('/staff', 'staff', 'tbody th');
  await see('/log', 'log', 'tbody tr');
  await see('/pages', 'shop-pages', 'textarea');
  await see('/mail', 'mail', '.empty');
  await see('/dead-letters', 'dead-letters', '.empty');
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
