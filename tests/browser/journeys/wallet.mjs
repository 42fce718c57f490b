// The wallet is topped up at the test checkout, pays an order, and lists both.

import { exampleAddress, typeAddress } from '../lib/address.mjs';
import { eventually, same } from '../lib/check.mjs';

const PRICE = 12_500;

export default async function wallet(run) {
  const { shop } = run;
  const visitor = await (await run.visit()).logInAsNewUser();
  const sale = await shop.openSale({ price: PRICE, total: 5 });
  const { id } = await visitor.account.buy(sale);
  await eventually('the order is stored', () => visitor.account.ask('GET', `/api/sales/${sale}/orders/${id}`)
    .then(({ order }) => order.status === 'unpaid'));
  await cannotPay(visitor, `/orders/${sale}/${id}`);
  await fill(visitor);
  await pay(visitor, `/orders/${sale}/${id}`);
  await readActivity(visitor, `/orders/${sale}/${id}`);
}

/** An empty wallet cannot pay, and nobody is told to fill it in the moment of joy. */
async function cannotPay({ page, ...visitor }, order) {
  await page.goto(`/${visitor.locale}${order}`);
  same(await page.locator('button[name="from"][value="wallet"]').count(), 0);
  same(await page.locator('form.pay a[href$="/wallet"]').count(), 0);
  await page.goto(`/${visitor.locale}/wallet`);
  await page.locator('.empty').waitFor();
}

async function fill(visitor) {
  const { page, labels } = visitor;
  await visitor.inspect('wallet-empty');
  await visitor.switchLanguage();
  visitor.expect(422, /\/wallet\/top-ups$/);
  await page.locator('.balance summary').click();
  await page.locator('#amount').fill('0.5');
  await page.locator('.balance form button').click();
  await page.locator('#amount-wrong').waitFor();
  same(await page.locator('#amount').inputValue(), '0.5', 'the input is kept');
  await visitor.inspect('wallet-wrong-amount');
  await page.locator('#amount').fill('200');
  await page.locator('.balance form button').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(labels.payAtCashier).click();
  await page.waitForURL(visitor.path('/wallet'));
  await page.locator('.entries li').waitFor();
  same(await page.locator('.held strong').textContent(), '¥200');
}

/** A payment from the wallet asks for the delivery address too. */
async function pay(visitor, order) {
  const { page } = visitor;
  visitor.expect(422, /\/(pay|address)$/);
  await visitor.go(order);
  await visitor.inspect('order-wallet');
  await page.locator('button[name="from"][value="wallet"]').click();
  await page.locator('#recipient').waitFor();
  await typeAddress(visitor, exampleAddress(visitor));
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL(visitor.path(order));
  await page.locator('main[data-status="paid"]').waitFor();
}

async function readActivity(visitor, order) {
  const { page } = visitor;
  await visitor.go('/wallet');
  same(await page.locator('.held strong').textContent(), '¥75');
  same(await page.locator('.moved').allTextContents(), ['-¥125', '+¥200']);
  await visitor.inspect('wallet');
  await page.locator(`.entries a[href$="${order}"]`).click();
  await page.locator('main[data-status="paid"]').waitFor();
}
