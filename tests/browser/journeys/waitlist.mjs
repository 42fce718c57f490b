// A sold-out sale: a shopper joins its waitlist, sees the place, and gets the unit that comes back, while the page of another
// shopper says that the sale is sold out. Without scripts forms join and leave.

import { ok, same } from '../lib/check.mjs';

/** Accounts that join within 15 s are shuffled. Then the order is processed, and the page polls only now and then. */
const TURN_TIMEOUT = 45_000;

export default async function waitlist(run) {
  const { shop } = run;
  const sale = await shop.openSale({ total: 1 });
  const buyer = await shop.register();
  const order = await buyer.buy(sale);
  await shop.shows(sale, 'sold_out');
  const visitor = await (await run.visit()).logInAsNewUser();
  const stranger = await (await run.visit()).logInAsNewUser();

  await join(visitor, sale);
  await visitor.inspect('waitlist-waiting');
  await visitor.openByKeys(visitor.button(visitor.labels.leaveWaitlist));
  await visitor.inspect('waitlist-leave');
  await visitor.page.keyboard.press('Escape');
  await visitor.switchLanguage();
  await joinAndLeaveWithoutScripts(run, sale);

  await stranger.go(`/sales/${sale}`);
  await stranger.page.locator('.clock[data-phase="sold_out"]').waitFor();
  await stranger.inspect('waitlist-sale');
  await buyer.ask('POST', `/api/sales/${sale}/orders/${order.id}/cancel`);
  // The page notices by itself that the turn has come.
  const toOrder = visitor.button(visitor.labels.payOffer);
  await toOrder.waitFor({ timeout: TURN_TIMEOUT });
  await visitor.inspect('waitlist-offered');
  same(await stranger.page.locator('.clock').getAttribute('data-phase'), 'sold_out');
  await toOrder.click();
  await visitor.page.waitForURL(visitor.path(`/orders/${sale}/*`));
  await visitor.page.locator('main[data-status="unpaid"]').waitFor();
  same((await visitor.account.orders()).map(({ status }) => status), ['unpaid']);
  same((await stranger.account.orders()).length, 0);
}

async function join(visitor, sale) {
  await visitor.go(`/sales/${sale}`);
  await visitor.page.locator('.clock[data-phase="sold_out"]').waitFor();
  await visitor.button(visitor.labels.joinWaitlist).click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/waitlist`));
  await visitor.inspect('waitlist-new');
  await visitor.button(visitor.labels.joinWaitlist).click();
  await visitor.button(visitor.labels.leaveWaitlist).waitFor();
}

/** Logs in on the way, as the page needs an account. */
async function joinAndLeaveWithoutScripts(run, sale) {
  const visitor = await run.visit({ scripts: false });
  const account = await run.shop.register();
  const { page, labels } = visitor;
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.joinWaitlist).click();
  await page.waitForURL(visitor.path('/login?*'));
  await visitor.fillCredentials(account.username);
  await visitor.button(labels.logIn).click();
  await page.waitForURL(visitor.path(`/sales/${sale}/waitlist`));
  await visitor.button(labels.joinWaitlist).click();
  await visitor.button(labels.leaveWaitlist).waitFor();
  ok((await account.ask('GET', `/api/sales/${sale}/waitlist`)).waitlist.state === 'waiting', 'the account waits');
  await visitor.button(labels.leaveWaitlist).click();
  await page.locator('.ask .danger').click();
  await visitor.button(labels.joinWaitlist).waitFor();
  await visitor.inspect('waitlist-left');
  same((await account.ask('GET', `/api/sales/${sale}/waitlist`)).waitlist.state, 'left');
}
