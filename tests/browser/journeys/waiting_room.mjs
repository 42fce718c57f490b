// A sale with a waiting room: the page of a shopper's turn in each of its states, with scripts and without.

import { eventually, ok, same } from '../lib/check.mjs';

const LABELS = {
  zh: { enter: '去排队', buy: '立即购买', again: '重新排到队尾', order: '查看订单', sound: /轮到时响铃/, seeSales: '看看其他秒杀' },
  en: { enter: 'Enter the waiting room', buy: 'Buy now', again: 'Join again at the end', order: 'View order', sound: /Sound on my turn/, seeSales: 'See other sales' },
};

const isIn = (page, state) => page.locator(`main[data-state="${state}"]`).waitFor({ timeout: 90_000 });

export default async function waitingRoom(run) {
  await callsInOrder(run);
  await missesATurn(run);
  await withoutScripts(run);
}

async function callsInOrder(run) {
  const { shop, locale } = run;
  const labels = LABELS[locale];
  const visitors = [await (await run.visit()).logInAsNewUser(), await (await run.visit()).logInAsNewUser()];
  const [visitor] = visitors;
  const later = await shop.newWaitingRoom(3_600_000, { queue_prequeue_s: 60 });
  await visitor.go(`/sales/${later}/line`);
  await isIn(visitor.page, 'early');
  await visitor.inspect('turn-early');

  const sale = await shop.newWaitingRoom(30_000);
  await visitor.go(`/sales/${sale}/line`);
  await isIn(visitor.page, 'outside');
  await visitor.inspect('turn-outside');
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('countdown').getByText(/^\d\d$/).first().waitFor();
  await visitor.inspect('queue-sale');
  for (const { page } of visitors) {
    await page.goto(`/${locale}/sales/${sale}`);
    await page.getByRole('button', { name: labels.enter, exact: true }).click();
    await isIn(page, 'gathering');
  }
  await visitor.button(labels.sound).click();
  same(await visitor.button(labels.sound).getAttribute('aria-pressed'), 'true');
  await visitor.inspect('turn-gathering');

  // The pages follow the waiting room by themselves.
  await Promise.race(visitors.map(({ page }) => isIn(page, 'called')));
  const states = await Promise.all(visitors.map(({ page }) => page.locator('main').getAttribute('data-state')));
  const [first, second] = states[0] === 'called' ? visitors : [...visitors].reverse();
  await isIn(second.page, 'waiting');
  await first.inspect('turn-called');
  await second.inspect('turn-waiting');
  await first.button(labels.buy).click();
  await first.page.waitForURL(first.path(`/orders/${sale}/*`));
  await eventually('the order is stored', async () => (await first.account.orders())[0]?.status === 'unpaid');
  await first.go(`/sales/${sale}/line`);
  await isIn(first.page, 'bought');
  await first.inspect('turn-bought');
  await second.slot('notice').filter({ hasText: '1' }).waitFor();
  await second.inspect('turn-all-taken');
  same((await second.account.orders()).length, 0);

  await shop.act(sale, 'pause');
  await second.slot('notice').filter({ hasText: locale === 'zh' ? '暂停' : 'paused' }).waitFor();
  await shop.act(sale, 'stop');
  await isIn(second.page, 'ended');
  await second.inspect('turn-ended');
  await second.button(labels.seeSales).click();
  await second.page.waitForURL(second.path('/'));
}

/** A shopper who does nothing loses the place to the next and may come again at the end. */
async function missesATurn(run) {
  const labels = LABELS[run.locale];
  const sale = await run.shop.newWaitingRoom(3_000, { queue_seat_s: 10 });
  const visitor = await (await run.visit()).logInAsNewUser();
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.enter).click();
  await isIn(visitor.page, 'called');
  await isIn(visitor.page, 'missed');
  await visitor.inspect('turn-missed');
  await visitor.button(labels.again).click();
  await isIn(visitor.page, 'waiting');
  ok(await visitor.page.evaluate((key) => localStorage.getItem(key), `seckill:place:${sale}`), 'the pass is kept');
  await visitor.inspect('turn-late');
  await isIn(visitor.page, 'called');
}

async function withoutScripts(run) {
  const labels = LABELS[run.locale];
  const sale = await run.shop.newWaitingRoom(4_000);
  const visitor = await (await run.visit({ scripts: false })).logInAsNewUser();
  await visitor.go(`/sales/${sale}`);
  await visitor.inspect('no-script-queue-sale');
  await visitor.button(labels.enter).click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/line`));
  // The page loads itself again.
  await isIn(visitor.page, 'called');
  await visitor.inspect('no-script-turn');
  await visitor.button(labels.buy).click();
  await visitor.page.waitForURL(visitor.path(`/orders/${sale}/*`));
}
