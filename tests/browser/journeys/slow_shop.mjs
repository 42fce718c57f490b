// A slow shop: a purchase without an answer, and an order that is not stored yet.

import { eventually, same } from '../lib/check.mjs';

export default async function slowShop(run) {
  const { shop, settings } = run;
  const sale = await shop.openSale({ total: 3 });
  const visitor = await (await run.visit()).logInAsNewUser();
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
    await visitor.inspect('order-reserved', tab);
    release();
    await tab.locator('main[data-status="unpaid"]').waitFor();
    await page.waitForURL(visitor.path(`/orders/${sale}/${order}`));
    await page.locator('main[data-status="unpaid"]').waitFor();
    same((await visitor.account.orders()).map(({ id }) => id), [order]);
  } finally {
    release();
  }
}

/** The purchase succeeds, but its answer is lost: the page sends it again until it gets an answer. */
async function loseTheFirstAnswer(visitor) {
  const { page, labels } = visitor;
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
  visitor.expectFailure('net::ERR_CONNECTION_RESET');
  await visitor.button(labels.buy).click();
  await page.locator('[data-slot="button"][aria-busy="true"]').waitFor();
  await visitor.inspect('sale-holding');
  looked();
  await eventually('it asks again', () => asked > 1);
  same(await visitor.slot('button').getAttribute('aria-disabled'), 'true');
}

async function heldOrder(visitor, sale) {
  const { page } = visitor;
  const answer = await page.waitForResponse((response) => /\/orders\/[\w-]+$/.test(response.url()));
  const { order } = await answer.json();
  same([order.status, order.sale_id], ['reserved', sale]);
  await visitor.inspect('sale-held');
  return order.id;
}

/** The process that stores orders, paused while at least one run needs it paused. */
const consumer = {
  holders: 0,
  pause(pid) {
    if (!pid) throw new Error('this journey needs the id of the process that stores orders: "consumer"');
    if (this.holders === 0) process.kill(pid, 'SIGSTOP');
    this.holders += 1;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.holders -= 1;
      if (this.holders === 0) process.kill(pid, 'SIGCONT');
    };
  },
};
