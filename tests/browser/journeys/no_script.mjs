// The whole purchase with JavaScript turned off.

import { placeOf, shows, typeAddress } from '../lib/address.mjs';
import { same } from '../lib/check.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

export default async function noScript(stage) {
  const { shop } = stage;
  const sale = await shop.openSale({ total: 1 });
  const name = newName();
  const account = await shop.account('/api/register', name, PASSWORD);
  const visitor = await stage.visit({ scripts: false });
  const { page, words } = visitor;

  await visitor.go(`/sales/${sale}`);
  await visitor.look('no-script-sale');
  // Who presses before signing in comes back to the sale.
  await visitor.button(words.buy).click();
  await page.waitForURL(visitor.path('/login?*'));
  await visitor.fillCredentials(name);
  await visitor.button(words.logIn).click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await visitor.button(words.buy).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/*`));
  const order = page.url().split('/').at(-1);
  // While it is only reserved, the page reloads itself.
  await page.locator('main[data-status="unpaid"]').waitFor();
  await visitor.look('no-script-order');
  await visitor.switchLanguage();

  await lose(stage, sale);
  await declineThenPay(visitor);
  await page.locator('main[data-status="paid"]').waitFor();
  same((await account.orders()).map(({ id, status }) => [id, status]), [[order, 'paid']]);
  await cancelAnother(stage, visitor);
}

/** Whoever comes too late is told so on a page. */
async function lose(stage, sale) {
  const loser = await (await stage.visit({ scripts: false })).signInAsSomebody();
  loser.expect(409, /\/buy$/);
  await loser.go(`/sales/${sale}`);
  await loser.button(loser.words.buy).click();
  await loser.page.getByRole('heading', { name: loser.words.soldOut }).waitFor();
  await loser.look('no-script-sold-out');
}

/** The first time a payment asks for the address; the second time the order has it. */
async function declineThenPay(visitor) {
  const { page, words } = visitor;
  visitor.expect(422, /\/pay$/);
  await visitor.button(words.pay).click();
  await page.locator('#recipient').waitFor();
  await visitor.look('no-script-address');
  const place = placeOf(visitor);
  await typeAddress(visitor, place);
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(words.decline).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  await visitor.button(words.pay).click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(words.payAtCashier).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  await shows(visitor, place);
}

/** The question unfolds where a script would open a dialog. */
async function cancelAnother(stage, visitor) {
  const { page, words } = visitor;
  const sale = await stage.shop.openSale({ total: 5 });
  await visitor.go(`/sales/${sale}`);
  await visitor.button(words.buy).click();
  await page.locator('main[data-status="unpaid"]').waitFor();
  // The first order's address was kept: it is proposed, and nobody has to type it again.
  await shows(visitor, placeOf(visitor));
  await page.locator('summary', { hasText: words.cancel }).click();
  await visitor.look('no-script-cancel');
  await visitor.button(words.reallyCancel).click();
  await page.locator('main[data-status="cancelled"]').waitFor();
}
