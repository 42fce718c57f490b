// The wallet: it is filled at the cashier, says what came and went, and pays an order.

import { placeOf, typeAddress } from '../lib/address.mjs';
import { eventually, same } from '../lib/check.mjs';

const PRICE = 12_500;

export default async function wallet(stage) {
  const { shop } = stage;
  const visitor = await (await stage.visit()).signInAsSomebody();
  const sale = await shop.openSale({ price: PRICE, total: 5 });
  const { id } = await visitor.account.buy(sale);
  await eventually('the order is written', () => visitor.account.ask('GET', `/api/sales/${sale}/orders/${id}`)
    .then(({ order }) => order.status === 'unpaid'));
  await isTooShort(visitor, `/orders/${sale}/${id}`);
  await fill(visitor);
  await pay(visitor, `/orders/${sale}/${id}`);
  await readLines(visitor, `/orders/${sale}/${id}`);
}

/** An empty wallet pays nothing, and says where money comes from. */
async function isTooShort({ page, ...visitor }, order) {
  await page.goto(`/${visitor.locale}${order}`);
  same(await page.locator('button[name="from"][value="wallet"]').count(), 0);
  await page.locator('form.pay a[href$="/wallet"]').click();
  await page.waitForURL(`/${visitor.locale}/wallet`);
  await page.locator('.empty').waitFor();
}

async function fill(visitor) {
  const { page, words } = visitor;
  await visitor.look('wallet-empty');
  await visitor.switchLanguage();
  visitor.expect(422, /\/wallet\/top-ups$/);
  await page.locator('.purse summary').click();
  await page.locator('#amount').fill('0.5');
  await page.locator('.purse form button').click();
  await page.locator('#amount-wrong').waitFor();
  same(await page.locator('#amount').inputValue(), '0.5', 'what was typed is kept');
  await visitor.look('wallet-wrong-amount');
  await page.locator('#amount').fill('200');
  await page.locator('.purse form button').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(words.payAtCashier).click();
  await page.waitForURL(visitor.path('/wallet'));
  await page.locator('.entries li').waitFor();
  same(await page.locator('.held strong').textContent(), '¥200.00');
}

/** From the wallet as from anywhere, the shop asks first where the order goes. */
async function pay(visitor, order) {
  const { page } = visitor;
  visitor.expect(422, /\/(pay|address)$/);
  await visitor.go(order);
  await visitor.look('order-wallet');
  await page.locator('button[name="from"][value="wallet"]').click();
  await page.locator('#recipient').waitFor();
  await typeAddress(visitor, placeOf(visitor));
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL(visitor.path(order));
  await page.locator('main[data-status="paid"]').waitFor();
}

async function readLines(visitor, order) {
  const { page } = visitor;
  await visitor.go('/wallet');
  same(await page.locator('.held strong').textContent(), '¥75.00');
  same(await page.locator('.moved').allTextContents(), ['-¥125.00', '+¥200.00']);
  await visitor.look('wallet');
  await page.locator(`.entries a[href$="${order}"]`).click();
  await page.locator('main[data-status="paid"]').waitFor();
}
