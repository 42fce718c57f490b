// Support staff: orders, the audit log, blocking a user, adding a colleague.

import { readFile } from 'node:fs/promises';

import { sentAddress } from '../lib/address.mjs';
import { ok, same } from '../lib/check.mjs';
import { confirmAction, isConfirmed } from '../lib/console.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

const MESSAGE = '🙏 <b>';
const REASON = { zh: '顾客来电要求', en: 'They rang and asked' };

export default async function support(run) {
  const { shop } = run;
  const sale = await shop.openSale({ total: 5 });
  const [payer, waverer, receiver] = await Promise.all([shop.register(), shop.register(), shop.register()]);
  const [paid, unpaid, sent] = await Promise.all([payer.buy(sale), waverer.buy(sale), receiver.buy(sale)]);
  await Promise.all([payer.pay(paid), receiver.pay(sent)]);
  const visitor = await (await run.visit()).logInAs(shop.admin);
  await receiver.ask('PUT', `/api/sales/${sale}/orders/${sent.id}/address`, { address: sentAddress(visitor) });

  const owner = await sendParcel(run, visitor, sent, receiver);
  await returnGoods(visitor, sent, owner);
  await refundPart(run, visitor, paid, payer);
  await endOrder(visitor, { order: paid, of: payer, verb: visitor.labels.refundOrder, leads: /refund/ });
  await endOrder(visitor, { order: unpaid, of: waverer, verb: visitor.labels.dropOrder, leads: /cancelled/ });
  await download(visitor, sale, [paid, unpaid, sent]);
  await readTheLog(visitor, sale, [paid, unpaid]);
  await blockAndUnblock(visitor, waverer);
  await addColleague(run, visitor);
}

/** Packs and sends an order. Its owner sees where it is, asks for an invoice, and confirms the receipt. */
async function sendParcel(run, visitor, order, of) {
  const { page, labels, locale } = visitor;
  await page.goto(`/admin/orders/${order.id}?lang=${locale}`);
  await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: labels.pack, exact: true }).click()]);
  await isConfirmed(visitor);
  await confirmAction(visitor, page.locator('.case'), labels.ship, 'admin-order-ship', async (dialog) => {
    await dialog.locator('[name="carrier"]').fill('SF');
    await dialog.locator('[name="number"]').fill('SF1234567890');
  });
  await visitor.goAdmin('/orders/parcels');
  await visitor.inspect('admin-parcels');

  const owner = await (await run.visit()).logInAs(of);
  const path = `/${locale}/orders/${order.sale_id}/${order.id}`;
  await owner.page.goto(path);
  await owner.page.locator('.parcel a[href*="SF1234567890"]').waitFor();
  await owner.inspect('order-shipped');
  const dialog = owner.page.getByRole('dialog');
  await askForInvoice(owner);
  await owner.page.goto(`${path}/receipt`);
  await owner.page.locator('.receipt', { hasText: '91350100M000100Y43' }).waitFor();
  await owner.inspect('receipt');
  await owner.page.goto(path);
  await owner.page.getByRole('button', { name: labels.received, exact: true }).click();
  await Promise.all([owner.page.waitForEvent('load'), dialog.getByRole('button', { name: labels.received, exact: true }).click()]);
  await owner.page.locator('.parcel .timeline li').nth(2).waitFor();
  await visitor.goAdmin('/orders/invoices');
  const asked = page.locator('tbody tr', { hasText: '91350100M000100Y43' }).first();
  await asked.getByRole('checkbox').check();
  await visitor.openByKeys(page.locator('.bulk summary'));
  await visitor.inspect('admin-invoices-mark');
  await page.keyboard.press('Escape');
  ok(await asked.getByRole('checkbox').isChecked(), 'what was selected still is');
  await visitor.inspect('admin-invoices');
  return owner;
}

/** Asks for an invoice with a wrong tax number first. What was typed is kept when the dialog closes, and with the error. */
async function askForInvoice(owner) {
  const { page, labels } = owner;
  const ask = (within) => within.getByRole('button', { name: labels.askInvoice, exact: true });
  const send = (form) => Promise.all([page.waitForEvent('load'), ask(form).last().click()]);
  const dialog = await owner.openByKeys(ask(page));
  await dialog.locator('[name="title"]').fill('某某公司');
  await page.keyboard.press('Escape');
  await ask(page).press('Enter');
  same(await dialog.locator('[name="title"]').inputValue(), '某某公司');
  await dialog.locator('[name="tax_number"]').fill('123');
  await owner.inspect('order-invoice');
  owner.expect(422, /\/invoice$/);
  await send(dialog);
  const field = page.locator('#invoice-number[aria-invalid="true"]');
  ok((await field.getAttribute('aria-describedby')).includes('invoice-number-wrong'), 'the error stands at its field');
  same([await page.locator('#invoice-title').inputValue(), await field.inputValue()], ['某某公司', '123']);
  await owner.inspect('order-invoice-wrong');
  await field.fill('91350100M000100Y43');
  await send(page.locator('form[action$="/invoice"]'));
}

/** The owner asks for a return, which staff accept; the goods come back, and a part of the money is refunded. */
async function returnGoods(visitor, order, owner) {
  const { page, labels, locale } = visitor;
  const path = `/${locale}/orders/${order.sale_id}/${order.id}`;
  const dialog = owner.page.getByRole('dialog');
  const open = async (label, name) => {
    await owner.page.goto(path);
    await owner.page.getByRole('button', { name: label, exact: true }).click();
    await dialog.waitFor();
    if (name) await owner.inspect(name);
  };
  const send = (label) => Promise.all([owner.page.waitForEvent('load'), dialog.getByRole('button', { name: label, exact: true }).click()]);
  await open(labels.askReturn, 'order-return-ask');
  await dialog.locator('[name="reason"]').selectOption('damaged');
  await dialog.locator('[name="note"]').fill(MESSAGE);
  await send(labels.askReturn);

  await page.goto(`/admin/orders?lang=${locale}&return=asked`);
  await page.locator(`table.dense a[href*="${order.id}"]`).click();
  await page.waitForURL(`/admin/orders/${order.id}?*`);
  await confirmAction(visitor, page.locator('.case'), labels.acceptReturn, 'admin-order-return', (dialog) => dialog.locator('[name="words"]').fill('Shop\n1 Main St'));
  await open(labels.sentBack, 'order-return-accepted');
  await dialog.locator('[name="carrier"]').fill('SF');
  await dialog.locator('[name="number"]').fill('SF7654321');
  await send(labels.sentBack);

  await page.reload();
  await page.locator('.case a[href*="SF7654321"]').waitFor();
  await confirmAction(visitor, page.locator('.case'), labels.receiveReturn, 'admin-order-return-receive', async (dialog) => {
    await dialog.locator('#return-amount').fill('1.50');
    await dialog.locator('#return-restock').selectOption('no');
    await dialog.locator('#return-reason').fill('scratched');
  });
  await visitor.inspect('admin-order-returned');
  await owner.page.goto(path);
  await owner.page.locator('.hold .timeline li').nth(3).waitFor();
  await owner.inspect('order-returned');
}

/** Gives a part of the money into the owner's wallet, who reads why on the page of the order. */
async function refundPart(run, visitor, order, of) {
  const { page, labels, locale } = visitor;
  const path = `/admin/orders/${order.id}?lang=${locale}`;
  await page.goto(path);
  visitor.expect(422, /refund-part/);
  await page.locator('.case').getByRole('button', { name: labels.refundPart, exact: true }).click();
  await fillPart(page.getByRole('dialog'), '9999999');
  await Promise.all([page.waitForEvent('load'), page.getByRole('dialog').getByRole('button', { name: labels.refundPart, exact: true }).click()]);
  await page.locator('#part-amount-wrong').waitFor();
  same(await page.locator('#part-message').inputValue(), MESSAGE, 'what was entered is kept');
  await visitor.inspect('admin-order-part-wrong');
  await page.goto(path);
  await confirmAction(visitor, page.locator('.case'), labels.refundPart, 'admin-order-part', (dialog) => fillPart(dialog, '1.50'));
  await visitor.inspect('admin-order-part-done');

  const owner = await (await run.visit()).logInAs(of);
  await owner.page.goto(`/${locale}/orders/${order.sale_id}/${order.id}`);
  await owner.page.locator('blockquote', { hasText: MESSAGE }).waitFor();
  await owner.inspect('order-part');
}

async function fillPart(dialog, amount) {
  await dialog.locator('#part-amount').fill(amount);
  await dialog.locator('#part-to').selectOption('wallet');
  await dialog.locator('#part-reason').fill('scratched');
  await dialog.locator('#part-message').fill(MESSAGE);
}

/** Finds the order by its user, and cancels or refunds it with a reason. */
async function endOrder(visitor, { order, of, verb, leads }) {
  const { page, locale } = visitor;
  await visitor.goAdmin('/orders');
  await visitor.unfold('search');
  await page.locator('#user').fill(of.username);
  await page.locator('form.search button').click();
  await page.waitForURL(/[?&]user=/);
  same(await page.locator('table.dense tbody tr').count(), 1, 'one order of that user');
  await page.locator(`table.dense a[href*="${order.id}"]`).click();
  await page.waitForURL(`/admin/orders/${order.id}?*`);
  const refund = verb === visitor.labels.refundOrder;
  if (refund) await visitor.switchLanguage();
  await confirmAction(visitor, page.locator('.case'), verb, refund ? 'admin-order-refund' : undefined, async (dialog) => {
    await dialog.locator('#reason').fill(REASON[locale]);
  });
  await page.locator('.timeline .why', { hasText: REASON[locale] }).waitFor();
  ok(leads.test(await page.locator('.lead .status').getAttribute('data-status')));
  await visitor.inspect(refund ? 'admin-order-refunded' : 'admin-order-cancelled');
}

async function download(visitor, sale, orders) {
  const { page } = visitor;
  await page.goto(`/admin/orders?lang=${visitor.locale}&sale=${sale}`);
  await page.locator('table.dense').waitFor();
  await page.locator('.head .menu > summary').click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator('a[href^="/admin/step-up"]').click()]);
  const bytes = await readFile(await file.path());
  same([...bytes.subarray(0, 3)], [0xef, 0xbb, 0xbf], 'a byte order mark, for Excel');
  const lines = bytes.toString('utf8').trim().split(/\r?\n/);
  same(lines.length, 1 + orders.length);
  for (const { id } of orders) ok(lines.some((line) => line.startsWith(id)), `order ${id} is in the file`);
}

async function readTheLog(visitor, sale, orders) {
  const { page } = visitor;
  await page.goto(`/admin/log?lang=${visitor.locale}`);
  await page.locator('tbody tr').first().waitFor();
  await visitor.switchLanguage();
  await visitor.unfold('filter');
  const subjects = [[`sale ${sale}`, 2], ...orders.map(({ id }) => [`order ${id}`, 1])];
  for (const [subject, least] of subjects) {
    await page.locator('input[name="subject"]').fill(subject);
    await Promise.all([page.waitForEvent('load'), page.locator('form.filter button').click()]);
    const rows = await page.locator('tbody tr').allTextContents();
    ok(rows.length >= least && rows.length < 10, `${subject} is on record: ${rows.join(' | ').slice(0, 600)}`);
  }
  await page.locator('input[name="subject"]').fill('sale 999999');
  await Promise.all([page.waitForEvent('load'), page.locator('form.filter button').click()]);
  await page.locator('.empty').waitFor();
}

/** Blocking logs the user out at once; an unblocked user can log in again. */
async function blockAndUnblock(visitor, user) {
  const { page, labels, locale } = visitor;
  await visitor.goAdmin('/users');
  await visitor.switchLanguage();
  await page.locator('input[name="q"]').fill(user.username);
  await Promise.all([page.waitForEvent('load'), page.locator('.quick [type="search"]').press('Enter')]);
  await page.locator('tbody th a').click();
  await page.waitForURL('/admin/users/*');
  await page.locator('#reason').fill(REASON[locale]);
  await visitor.button(labels.block).click();
  await isConfirmed(visitor);
  await visitor.inspect('admin-user-blocked');
  const access = () => user.orders().then(() => 'granted', (error) => error.message);
  ok(/401/.test(await access()), 'logged out at once');
  await confirmAction(visitor, page.locator('main'), labels.unblock);
  const back = await visitor.shop.account('/api/login', user.username, PASSWORD);
  same((await back.orders()).length, 1);
}

/** A new colleague logs in with a one-time password, sets another, and sees the sections of the support role only. */
async function addColleague(run, visitor) {
  const { page, labels } = visitor;
  const name = newName();
  await visitor.goAdmin('/users?show=staff');
  await visitor.switchLanguage();
  await page.locator('#create-username').fill(name);
  await page.locator('#create-role').selectOption('support');
  await visitor.button(labels.createAccount).click();
  const once = await page.locator('.created code').textContent();
  await visitor.inspect('admin-staff-created');

  const colleague = await run.visit();
  colleague.expect(403, /^\/admin/);
  await colleague.go('/login');
  await colleague.fillCredentials(name, once);
  await colleague.button(labels.logIn).click();
  await colleague.page.waitForURL((url) => !url.pathname.endsWith('/login'));
  await colleague.goAdmin('/orders');
  same(await colleague.page.locator('.tabs').count(), 0, 'no console before the password is changed');
  await colleague.inspect('must-change-password');
  await colleague.go('/account');
  await colleague.inspect('account-must-change');
  await colleague.page.locator('#password').fill(once);
  await colleague.page.locator('#new_password').fill(PASSWORD);
  await colleague.button(labels.newPassword).click();
  await isConfirmed(colleague);

  await colleague.goAdmin('/orders');
  await colleague.page.locator('table.dense').waitFor();
  same(await colleague.page.locator('.under a[href*="show=staff"]').count(), 0, 'only owners see the staff');
  await colleague.goAdmin();
  same(await colleague.page.locator('.sales :is(.ask, input), a[href*="/admin/sales/new"]').count(), 0, 'the support role does not run sales');
  await colleague.inspect('admin-sales-support');
  await colleague.goAdmin('/users?show=staff');
  await colleague.page.locator('.message').waitFor();
}
