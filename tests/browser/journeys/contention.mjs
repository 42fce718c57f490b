// Two units and three shoppers: repeated clicks buy one unit, and returned units are sold again.

import { eventually, same } from '../lib/check.mjs';

export default async function contention(run) {
  const sale = await run.shop.openSale({ total: 2 });
  const first = await (await run.visit()).logInAsNewUser();
  const second = await (await run.visit()).logInAsNewUser();
  await open(second, sale);

  const order = await buyWithRepeatedClicks(first, sale);
  same((await run.shop.button(sale)).remaining, 1);
  await (await run.shop.register()).buy(sale);
  await second.page.locator('.clock[data-phase="sold_out"]').waitFor();
  same(await second.slot('button').textContent(), second.labels.soldOut);
  same(await second.slot('button').getAttribute('aria-disabled'), 'true');
  await second.page.evaluate(() => { globalThis.notReloaded = true; });

  await cancel(first, sale, order);
  await ready(second);
  same(await second.page.evaluate(() => globalThis.notReloaded), true, 'the page was loaded again');
  await second.button(second.labels.buy).click();
  await second.page.locator('main[data-status="unpaid"]').waitFor();
  same((await second.account.orders()).length, 1);

  await first.go(`/sales/${sale}`);
  await first.page.locator('.clock[data-phase="sold_out"]').waitFor();
  same((await first.account.orders()).map(({ status }) => status), ['cancelled']);
}

async function open(visitor, sale, page = visitor.page) {
  await page.goto(visitor.path(`/sales/${sale}`));
  await ready(visitor, page);
}

async function ready(visitor, page = visitor.page) {
  await page.locator('[data-slot="button"][aria-disabled="false"]').waitFor();
}

/** A double click, a click in another tab, and a reload in a third before the answer: one order. */
async function buyWithRepeatedClicks(visitor, sale) {
  const [here, there, reloaded] = [visitor.page, await visitor.tab(), await visitor.tab()];
  for (const page of [here, there, reloaded]) await open(visitor, sale, page);
  const pressed = new Promise((resolve) => {
    reloaded.route('**/api/sales/*/orders', async (route) => {
      await route.fetch().catch(() => {});
      resolve();
      // The page is reloaded before this answer arrives.
    }, { times: 1 });
  });
  const press = (page) => page.locator('[data-slot="button"]').click({ noWaitAfter: true });
  await Promise.all([here.locator('[data-slot="button"]').dblclick({ noWaitAfter: true }), press(there), press(reloaded)]);
  await pressed;
  await reloaded.reload();

  for (const page of [here, there]) await page.waitForURL(visitor.path(`/orders/${sale}/*`));
  const orders = await eventually('one order', async () => {
    const all = await visitor.account.orders();
    return all.length > 0 && all;
  });
  same(orders.length, 1);
  const [{ id }] = orders;
  for (const page of [here, there]) same(new URL(page.url()).pathname, visitor.path(`/orders/${sale}/${id}`));
  // The reloaded page resumes its purchase and opens the order, unless the other tabs finished first: then it offers the
  // order.
  const seeOrder = reloaded.getByRole('button', { name: visitor.labels.seeOrder });
  await Promise.any([reloaded.waitForURL(visitor.path(`/orders/${sale}/${id}`)), seeOrder.waitFor()]);
  // A page without a click offers the order.
  await reloaded.goto(visitor.path(`/sales/${sale}`));
  await seeOrder.waitFor();
  await visitor.inspect('sale-have-order', reloaded);
  await seeOrder.click();
  await reloaded.waitForURL(visitor.path(`/orders/${sale}/${id}`));
  await there.close();
  await reloaded.close();
  return id;
}

/** Closes the dialog first, then cancels. */
async function cancel(visitor, sale, order) {
  const { page, labels } = visitor;
  await page.locator('main[data-status="unpaid"]').waitFor();
  const dialog = page.getByRole('dialog');
  await visitor.button(labels.cancel).click();
  await dialog.waitFor();
  await visitor.inspect('order-cancel');
  await dialog.getByRole('button', { name: labels.keep }).click();
  await dialog.waitFor({ state: 'hidden' });
  same((await visitor.account.orders())[0].status, 'unpaid');
  await visitor.button(labels.cancel).click();
  await dialog.getByRole('button', { name: labels.reallyCancel }).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/${order}`));
  await page.locator('main[data-status="cancelled"]').waitFor();
  await visitor.inspect('order-cancelled');
}
