// Staff refund money, and the console asks again who they are: for the password, with a code or with a passkey if the
// account has one, and without scripts. Afterwards it carries out the request, with everything that was entered. The
// shop is at `localhost`, because browsers have no passkeys at an IP address.

import { addPasskey, changePassword, leaveUnproved, nextDigitsFor, removeSecondFactor } from '../lib/authenticator.mjs';
import { ok, same } from '../lib/check.mjs';
import { isConfirmed } from '../lib/console.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

const NEW_PASSWORD = 'a better battery staple';
const REASON = { zh: '商品有划痕 “<b>” & 补偿', en: 'scratched “<b>” & sorry' };
const MESSAGE = { zh: '抱歉 🙏', en: 'Sorry 🙏' };

export default async function stepUp(run) {
  const sale = await run.shop.openSale({ total: 9, price: 10_000 });
  await withCode(run, sale);
  await withPasskey(run, sale);
  await withoutScripts(run, sale);
}

async function paidOrder(run, sale) {
  const payer = await run.shop.register();
  const order = await payer.buy(sale);
  await payer.pay(order);
  return { order, payer };
}

/** A member of the staff with an authenticator app, whose session proves nothing. */
async function colleague(run, prepare = async () => {}) {
  const username = newName();
  const { password } = await run.shop.admin.ask('POST', '/api/admin/staff', { username, role: 'support' });
  const visitor = await run.visit();
  visitor.expect(403, /\/refund(-part)?$/);
  same((await visitor.context.request.post('/api/login', { data: { username, password } })).status(), 200);
  await changePassword(visitor, password, PASSWORD);
  await prepare(visitor);
  return { visitor, secret: await leaveUnproved(visitor, PASSWORD, NEW_PASSWORD) };
}

function openOrder(visitor, order) {
  return visitor.page.goto(`/admin/orders/${order.id}?lang=${visitor.locale}`);
}

/** Presses the button that refunds the order, and fills its form. `within` is where the form is. */
async function askForRefund(visitor, within) {
  const { page, labels, locale } = visitor;
  await page.locator('.case').getByText(labels.refundOrder, { exact: true }).first().click();
  await within.locator('#reason').fill(REASON[locale]);
  await within.locator('#message').fill(MESSAGE[locale]);
  await within.getByRole('button', { name: labels.refundOrder, exact: true }).click();
  await page.locator('#step-up-password').waitFor();
}

async function prove({ page }, password, code) {
  await page.locator('#step-up-password').fill(password);
  if (code) await page.locator('#step-up-code').fill(code);
  await page.locator('main form button:not(.show)').click();
}

/** The order is refunded for the reason that was entered before the password, and its owner reads the message. */
async function isRefunded(run, visitor, { order, payer }) {
  const { page, locale } = visitor;
  await isConfirmed(visitor);
  same(new URL(page.url()).pathname, `/admin/orders/${order.id}`);
  await page.locator('.timeline .why', { hasText: REASON[locale] }).waitFor();
  ok(/refund/.test(await page.locator('.lead .status').getAttribute('data-status')));
  const owner = await (await run.visit()).logInAs(payer);
  await owner.page.goto(`/${locale}/orders/${order.sale_id}/${order.id}`);
  await owner.page.getByText(MESSAGE[locale]).first().waitFor();
}

/** Nothing happens for a wrong password or code, and nothing that was entered is lost. */
async function withCode(run, sale) {
  const paid = await paidOrder(run, sale);
  const { visitor, secret } = await colleague(run);
  const { page } = visitor;
  visitor.expect(422, /\/refund$/);
  await openOrder(visitor, paid.order);
  await askForRefund(visitor, page.getByRole('dialog'));
  ok(await page.locator('#passkey-step-up').count() === 0, 'the account has no passkey');
  await visitor.inspect('admin-step-up-code');
  await prove(visitor, 'not the password', '000000');
  await page.locator('#step-up-password-wrong').waitFor();
  await prove(visitor, NEW_PASSWORD, '000000');
  await page.locator('#step-up-code-wrong').waitFor();
  await visitor.inspect('admin-step-up-wrong-code');
  same((await paid.payer.orders())[0].status, 'paid');
  await prove(visitor, NEW_PASSWORD, nextDigitsFor(secret));
  await isRefunded(run, visitor, paid);

  // The proof holds for a while.
  const next = await paidOrder(run, sale);
  await openOrder(visitor, next.order);
  await refundPart(visitor, '1.25');
  await isConfirmed(visitor);
}

async function refundPart(visitor, amount) {
  const { page, labels, locale } = visitor;
  await page.locator('.case').getByRole('button', { name: labels.refundPart, exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('#part-amount').fill(amount);
  await dialog.locator('#part-to').selectOption('wallet');
  await dialog.locator('#part-reason').fill(REASON[locale]);
  await dialog.locator('#part-message').fill(MESSAGE[locale]);
  await dialog.getByRole('button', { name: labels.refundPart, exact: true }).click();
}

/** A press of a button on the device replaces password and code. The form goes on by itself. */
async function withPasskey(run, sale) {
  const { order, payer } = await paidOrder(run, sale);
  const { visitor } = await colleague(run, (own) => addPasskey(own, PASSWORD));
  const { page, locale } = visitor;
  await openOrder(visitor, order);
  await refundPart(visitor, '12.50');
  await page.locator('#passkey-step-up button').waitFor();
  await visitor.inspect('admin-step-up-either');
  await page.locator('#passkey-step-up button').click();
  await isConfirmed(visitor);
  same(new URL(page.url()).pathname, `/admin/orders/${order.id}`);
  const owner = await (await run.visit()).logInAs(payer);
  await owner.page.goto(`/${locale}/orders/${order.sale_id}/${order.id}`);
  await owner.page.locator('blockquote', { hasText: MESSAGE[locale] }).waitFor();
  ok((await owner.page.locator('main').textContent()).includes('12.50'), 'the amount that was entered');
}

/** An account without a second factor needs only its password. */
async function withoutScripts(run, sale) {
  const paid = await paidOrder(run, sale);
  const { visitor: before, secret } = await colleague(run);
  await removeSecondFactor(before, NEW_PASSWORD, secret);
  const visitor = await run.visit({ scripts: false });
  await visitor.context.addCookies(await before.context.cookies());
  const { page } = visitor;
  visitor.expect(403, /\/refund$/);
  await openOrder(visitor, paid.order);
  await askForRefund(visitor, page.locator('.case details[open] form'));
  same(await page.locator('#step-up-code').count(), 0);
  await visitor.inspect('admin-step-up-no-script');
  await prove(visitor, NEW_PASSWORD);
  await isRefunded(run, visitor, paid);
}
