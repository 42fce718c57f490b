// What a shopper sees while the shop is slow: an answer that never comes, and an order that is not written yet.

import { eventually, same } from '../lib/check.mjs';

export default async function waiting(stage) {
  const { shop, settings } = stage;
  const sale = await shop.openSale({ total: 3 });
  const visitor = await (await stage.visit()).signInAsSomebody();
  const { page } = visitor;
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('button').and(page.locator('[aria-disabled="false"]')).waitFor();

  const release = consumer.pause(settings.consumer);
  try {
    await loseTheFirstAnswer(visitor);
    const order = await heldOrder(visitor, sale);
    const tab = await visitor.tab();
    await tab.goto(visitor.path(`/orders/${sale}/${order}`));
    await tab.locator('main[data-status="reserved"]').waitFor();
    await visitor.look('order-reserved', tab);
    release();
    await tab.locator('main[data-status="unpaid"]').waitFor();
    await page.waitForURL(visitor.path(`/orders/${sale}/${order}`));
    await page.locator('main[data-status="unpaid"]').waitFor();
    same((await visitor.account.orders()).map(({ id }) => id), [order]);
  } finally {
    release();
  }
}

/** The order is taken, but the shopper never hears of it: the page asks again until it does. */
async function loseTheFirstAnswer(visitor) {
  const { page, words } = visitor;
  let asked = 0;
  let looked;
  const enough = new Promise((resolve) => { looked = resolve; });
  await page.route('**/api/sales/*/orders', async (route) => {
    asked += 1;
    if (asked > 1) return route.continue();
    await route.fetch().catch(() => {});
    await enough;
    return route.abort('connectionreset');
  });
  visitor.foresee('net::ERR_CONNECTION_RESET');
  await visitor.button(words.buy).click();
  await page.locator('[data-slot="button"][aria-busy="true"]').waitFor();
  await visitor.look('sale-holding');
  looked();
  await eventually('it asks again', () => asked > 1);
  same(await visitor.slot('button').getAttribute('aria-disabled'), 'true');
}

async function heldOrder(visitor, sale) {
  const { page } = visitor;
  const answer = await page.waitForResponse((response) => /\/orders\/[\w-]+$/.test(response.url()));
  const { order } = await answer.json();
  same([order.status, order.sale_id], ['reserved', sale]);
  await visitor.look('sale-held');
  return order.id;
}

/** The process that writes orders, stopped for as long as anybody wants it stopped. */
const consumer = {
  wanted: 0,
  pause(pid) {
    if (!pid) throw new Error('this journey needs the process that writes orders: "consumer"');
    if (this.wanted === 0) process.kill(pid, 'SIGSTOP');
    this.wanted += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.wanted -= 1;
      if (this.wanted === 0) process.kill(pid, 'SIGCONT');
    };
  },
};
