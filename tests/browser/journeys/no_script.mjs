// A purchase with JavaScript turned off.

import { exampleAddress, showsAddress, typeAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

export default async function noScript(run) {
  const { shop } = run;
  const sale = await shop.openSale({ total: 1 });
  const name = newName();
  const account = await shop.account('/api/register', name, PASSWORD);
  const visitor = await run.visit({ scripts: false });
  const { page, labels } = visitor;

  await visitor.go(`/sales/${sale}`);
  await visitor.inspect('no-script-sale');
  const largest = await page.request.get(await page.locator('[data-zoom]').first().getAttribute('href'));
  same([largest.status(), largest.headers()['content-type']], [200, 'image/webp']);
  // The login page leads back to the sale.
  await visitor.button(labels.buy).click();
  await page.waitForURL(visitor.path('/login?*'));
  await visitor.fillCredentials(name);
  await visitor.button(labels.logIn).click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await visitor.button(labels.buy).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/*`));
  const order = page.url().split('/').at(-1);
  // The page of a reserved order reloads itself.
  await page.locator('main[data-status="unpaid"]').waitFor();
  await visitor.inspect('no-script-order');
  await visitor.switchLanguage();

  await seeSoldOut(run, sale);
  await declineThenPay(visitor);
  await page.locator('main[data-status="paid"]').waitFor();
  ok(/^(预计 \d+月\d+日 前发货|Ships by \w+ \d+)$/.test(await page.locator('.win .number').textContent()), 'when it is sent');
  ok(/^(今天|today) \d\d:\d\d$/.test(await page.locator('.stations time').first().textContent()), 'times of people');
  await visitor.inspect('no-script-paid');
  same((await account.orders()).map(({ id, status }) => [id, status]), [[order, 'paid']]);
  await cancelAnother(run, visitor);
}

/** A late shopper gets a page that says so. */
async function seeSoldOut(run, sale) {
  const loser = await (await run.visit({ scripts: false })).logInAsNewUser();
  loser.expect(409, /\/buy$/);
  await loser.go(`/sales/${sale}`);
  await loser.button(loser.labels.buy).click();
  await loser.page.getByRole('heading', { name: loser.labels.soldOut }).waitFor();
  await loser.inspect('no-script-sold-out');
}

/** The first payment asks for the address; for the second the order has it. */
async function declineThenPay(visitor) {
  const { page, labels } = visitor;
  visitor.expect(422, /\/pay$/);
  await visitor.button(labels.pay).click();
  await page.locator('#recipient').waitFor();
  await visitor.inspect('no-script-address');
  const place = exampleAddress(visitor);
  await typeAddress(visitor, place);
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(labels.decline).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  // The provider reports it by webhook, so it may take a moment.
  await eventually('the decline is shown', async () => { await page.reload(); return page.locator('main[data-declined]').count(); });
  await visitor.inspect('no-script-declined');
  await visitor.button(labels.pay).click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(labels.payAtCashier).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  await showsAddress(visitor, place);
}

/** The confirmation unfolds instead of opening a dialog. */
async function cancelAnother(run, visitor) {
  const { page, labels } = visitor;
  const sale = await run.shop.openSale({ total: 5 });
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.buy).click();
  await page.locator('main[data-status="unpaid"]').waitFor();
  // The address of the first order was saved and is proposed.
  await showsAddress(visitor, exampleAddress(visitor));
  await page.locator('summary', { hasText: labels.cancel }).click();
  await visitor.inspect('no-script-cancel');
  await visitor.button(labels.reallyCancel).click();
  await page.locator('main[data-status="cancelled"]').waitFor();
}
