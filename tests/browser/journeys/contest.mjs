// Two units and three shoppers: impatience buys only one, and what is given back is sold again.

import { eventually, same } from '../lib/check.mjs';

export default async function contest(stage) {
  const sale = await stage.shop.openSale({ total: 2 });
  const first = await (await stage.visit()).signInAsSomebody();
  const second = await (await stage.visit()).signInAsSomebody();
  await open(second, sale);

  const order = await buyImpatiently(first, sale);
  same((await stage.shop.button(sale)).remaining, 1);
  await (await stage.shop.register()).buy(sale);
  await second.page.locator('.clock[data-phase="sold_out"]').waitFor();
  same(await second.slot('button').textContent(), second.words.soldOut);
  same(await second.slot('button').getAttribute('aria-disabled'), 'true');
  await second.page.evaluate(() => { globalThis.sameLife = true; });

  await cancel(first, sale, order);
  await ready(second);
  same(await second.page.evaluate(() => globalThis.sameLife), true, 'the page was loaded again');
  await second.button(second.words.buy).click();
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

/** A double click here, a click in another tab, a reload in a third while the answer is on its way: one order. */
async function buyImpatiently(visitor, sale) {
  const [here, there, reloaded] = [visitor.page, await visitor.tab(), await visitor.tab()];
  for (const page of [here, there, reloaded]) await open(visitor, sale, page);
  const pressed = new Promise((resolve) => {
    reloaded.route('**/api/sales/*/orders', async (route) => {
      await route.fetch().catch(() => {});
      resolve();
      // The page is gone before this answer is: nobody can take it.
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
  // It was pressed there too, so that page goes on to the order by itself, unless the other tabs were told of it first:
  // then nothing is unfinished any more, and it offers the order.
  const seeOrder = reloaded.getByRole('button', { name: visitor.words.seeOrder });
  await Promise.any([reloaded.waitForURL(visitor.path(`/orders/${sale}/${id}`)), seeOrder.waitFor()]);
  // A page on which nobody has pressed only knows of it.
  await reloaded.goto(visitor.path(`/sales/${sale}`));
  await seeOrder.waitFor();
  await visitor.look('sale-have-order', reloaded);
  await seeOrder.click();
  await reloaded.waitForURL(visitor.path(`/orders/${sale}/${id}`));
  await there.close();
  await reloaded.close();
  return id;
}

/** First a change of mind, then the cancellation. */
async function cancel(visitor, sale, order) {
  const { page, words } = visitor;
  await page.locator('main[data-status="unpaid"]').waitFor();
  const dialog = page.getByRole('dialog');
  await visitor.button(words.cancel).click();
  await dialog.waitFor();
  await visitor.look('order-cancel');
  await dialog.getByRole('button', { name: words.keep }).click();
  await dialog.waitFor({ state: 'hidden' });
  same((await visitor.account.orders())[0].status, 'unpaid');
  await visitor.button(words.cancel).click();
  await dialog.getByRole('button', { name: words.reallyCancel }).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/${order}`));
  await page.locator('main[data-status="cancelled"]').waitFor();
  await visitor.look('order-cancelled');
}
