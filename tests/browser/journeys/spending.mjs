// A wallet pays, and gives a red packet, only if the session has been proved within twelve hours: by the password with a code,
// by a passkey, or by the password alone, without scripts. Nothing that was entered is lost. The shop is at `localhost`, because
// browsers have no passkeys at an IP address.

import { exampleAddress, typeAddress } from '../lib/address.mjs';
import { addPasskey, leaveUnproved, nextDigitsFor, removeSecondFactor } from '../lib/authenticator.mjs';
import { ok, same } from '../lib/check.mjs';
import { PASSWORD } from '../lib/shop.mjs';

const NEW_PASSWORD = 'a better battery staple';
const GREETING = { zh: '新年快乐 “<b>” &', en: 'Happy “<b>” & new year' };
const PRICE = 5_000;

export default async function spending(run) {
  const sale = await run.shop.openSale({ total: 20, price: PRICE });
  await paysWithCode(run, sale);
  await givesWithPasskey(run);
  await paysWithoutScripts(run, sale);
}

async function shopperWithMoney(run) {
  const visitor = await (await run.visit()).logInAsNewUser();
  await visitor.account.fillWallet(3 * PRICE);
  return visitor;
}

/** Asks for the payment of a new order from the wallet, with the address that it needs. */
async function askToPay(visitor, order) {
  const { page } = visitor;
  visitor.expect(422, /\/(pay|address)$/);
  visitor.expect(403, /\/address$/);
  await visitor.go(`/orders/${order.sale_id}/${order.id}`);
  await page.locator('button[name="from"][value="wallet"]').click();
  await page.locator('#recipient').waitFor();
  await typeAddress(visitor, exampleAddress(visitor));
  await page.locator('button[name=then][value=pay]').click();
  await page.locator('#step-up-password').waitFor();
}

async function prove({ page }, password, code) {
  await page.locator('#step-up-password').fill(password);
  if (code) await page.locator('#step-up-code').fill(code);
  await page.locator('main form button:not(.show)').click();
}

async function isPaid(visitor, order) {
  const { page } = visitor;
  await page.waitForURL(visitor.path(`/orders/${order.sale_id}/${order.id}`));
  await page.locator('main[data-status="paid"]').waitFor();
  ok((await page.locator('main').textContent()).includes(exampleAddress(visitor).recipient), 'the address that was entered');
}

async function paysWithCode(run, sale) {
  const visitor = await shopperWithMoney(run);
  const { page } = visitor;
  const order = await visitor.account.buy(sale);
  const secret = await leaveUnproved(visitor, PASSWORD, NEW_PASSWORD);
  await askToPay(visitor, order);
  same(await page.locator('#passkey-step-up').count(), 0, 'the account has no passkey');
  await visitor.inspect('step-up-code');
  await prove(visitor, 'not the password', '000000');
  await page.locator('#step-up-password-wrong').waitFor();
  await prove(visitor, NEW_PASSWORD, '000000');
  await page.locator('#step-up-code-wrong').waitFor();
  await visitor.inspect('step-up-wrong-code');
  await prove(visitor, NEW_PASSWORD, nextDigitsFor(secret));
  await isPaid(visitor, order);
}

/** A press of a button on the device replaces password and code. The form goes on by itself. */
async function givesWithPasskey(run) {
  const visitor = await shopperWithMoney(run);
  const { page, locale } = visitor;
  await addPasskey(visitor, PASSWORD);
  await leaveUnproved(visitor, PASSWORD, NEW_PASSWORD);
  visitor.expect(403, /\/packets(\/preview)?$/);
  await visitor.go('/packets/new');
  await page.locator('#total').fill('100');
  await page.locator('#count').fill('2');
  await page.locator('#greeting').fill(GREETING[locale]);
  await page.locator('.give .big').click();
  await page.locator('#passkey-step-up button').waitFor();
  await visitor.inspect('step-up-either');
  await page.locator('#passkey-step-up button').click();
  await page.waitForURL(visitor.path('/packets/*/given'));
  const link = new URL(page.url()).pathname.replace('/given', '');
  await page.goto(link);
  await page.getByText(GREETING[locale]).first().waitFor();
  const wallet = await (await visitor.context.request.get('/api/wallet')).json();
  same(wallet.balance.amount, 3 * PRICE - 10_000, 'the amount that was entered');
}

/** An account without a second factor needs only its password. */
async function paysWithoutScripts(run, sale) {
  const before = await shopperWithMoney(run);
  const order = await before.account.buy(sale);
  await removeSecondFactor(before, NEW_PASSWORD, await leaveUnproved(before, PASSWORD, NEW_PASSWORD));
  const visitor = await run.visit({ scripts: false });
  await visitor.context.addCookies(await before.context.cookies());
  await askToPay(visitor, order);
  same(await visitor.page.locator('#step-up-code').count(), 0);
  await visitor.inspect('step-up-password');
  await prove(visitor, NEW_PASSWORD);
  await isPaid(visitor, order);
}
