// A sale with a deposit, without scripts: the form of the sale leads to the rules, the rules lead to the top-up, and
// the top-up leads back. The wallet then shows what is set aside. With scripts the button says what is lacking.

import { sentAddress } from '../lib/address.mjs';
import { same } from '../lib/check.mjs';

const RULES = { deposit: { amount: 1_000, currency: 'CNY' }, total: 5 };

export default async function deposit(run) {
  const { shop } = run;
  const sale = await shop.openSale(RULES);
  await buttonTells(await (await run.visit()).logInAsNewUser(), sale);
  const visitor = await run.visit({ scripts: false });
  await visitor.logInAsNewUser();
  await visitor.account.ask('POST', '/api/addresses', { address: sentAddress(visitor) });
  await takePart(visitor, sale);
  await readWallet(visitor);
  const staff = await run.visit();
  await staff.logInAs(shop.admin);
  const planned = await shop.newSale({ ...RULES, opensIn: 3_600_000 });
  await staff.goAdmin(`/sales/${planned}/edit`);
  same(await staff.page.locator('#deposit').inputValue(), '10.00');
  await staff.page.locator('#deposit').scrollIntoViewIfNeeded();
  await staff.inspect('deposit-form');
}

async function buttonTells(visitor, sale) {
  visitor.expect(409, /\/token$/);
  await visitor.go(`/sales/${sale}`);
  await visitor.page.locator('.clock[data-phase="open"]').waitFor();
  await visitor.inspect('deposit-sale');
  await visitor.button(visitor.labels.buy).click();
  await visitor.slot('note').filter({ hasText: /./ }).waitFor();
  same((await visitor.account.ask('GET', '/api/wallet')).deposits, []);
}

async function takePart(visitor, sale) {
  const { page, labels } = visitor;
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.buy).click();
  await page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
  await visitor.inspect('deposit-lacking');
  await page.locator(`a[href$="/wallet?sale=${sale}"]`).click();
  await page.waitForURL(visitor.path(`/wallet?sale=${sale}`));
  same(await page.locator('#amount').inputValue(), '10.00');
  await visitor.inspect('deposit-top-up');
  await page.locator('.balance form button').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.inspect('deposit-cashier');
  await visitor.button(labels.payAtCashier).click();
  await page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
  await visitor.inspect('deposit-met');
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.buy).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/*`));
}

async function readWallet(visitor) {
  const { page } = visitor;
  await visitor.go('/wallet');
  same(await page.locator('.held strong').textContent(), '¥0');
  same(await page.locator('section[aria-labelledby="deposits"] .moved').allTextContents(), ['¥10']);
  await visitor.inspect('deposit-wallet');
}
