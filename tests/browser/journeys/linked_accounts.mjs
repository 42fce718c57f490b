// Linked accounts: staff see why they are linked, hold their orders, answer an appeal, release one and refund the
// others. The buyers read each reason, and appeal with and without scripts.

import { eventually, ok, same } from '../lib/check.mjs';
import { sentAddress } from '../lib/address.mjs';
import { confirmAction, isConfirmed } from '../lib/console.mjs';

const WORDS = {
  zh: { hold: '多个账号寄往同一地址', uphold: '请提供更多说明', release: '已确认是一家人', refund: '转售', appeal: '我们是一家人，各买一台。', more: '合租室友，各自付款。' },
  en: { hold: 'Many accounts, one address', uphold: 'Please tell us more', release: 'A family, it seems', refund: 'Resold', appeal: 'We are a family and each of us bought one.', more: 'We share a flat and paid on our own.' },
};
const LABELS = {
  zh: { hold: '暂缓发货', release: '放行', uphold: '维持审核', refund: '退款', appeal: '申诉', send: '提交申诉' },
  en: { hold: 'Hold', release: 'Release', uphold: 'Uphold the hold', refund: 'Refund', appeal: 'Appeal', send: 'Send appeal' },
};

export default async function groups(run) {
  const { shop, locale } = run;
  const [words, labels] = [WORDS[locale], LABELS[locale]];
  // The price is low, so that no refund waits for a second person.
  const sale = await shop.openSale({ total: 5, price: 9_900 });
  const staff = await (await run.visit()).logInAs(shop.admin);
  const list = `/admin/sales/${sale}/clusters?lang=${locale}`;
  await staff.page.goto(list);
  await staff.inspect('groups-empty');

  const buyers = await Promise.all([shop.register(), shop.register(), shop.register()]);
  const orders = await Promise.all(buyers.map((buyer) => deliveredOrder(buyer, sale, sentAddress(staff))));
  await staff.page.goto(`/admin/sales/${sale}?lang=${locale}`);
  await staff.page.locator(`.under a[href="${list}"]`).click();
  // The page may show the accounts as they were compared before these orders.
  await eventually('one group', async () => {
    if ((await staff.page.locator('[data-group]').count()) === 1) return true;
    await staff.page.goto(list);
    return false;
  }, 60_000);
  await staff.inspect('groups');
  await staff.page.locator('[data-group] h2 a').click();
  await staff.page.waitForURL(/clusters\/[0-9a-f-]{36}/);
  await confirmAction(staff, staff.page.locator('.case'), labels.hold, 'linked-hold', (dialog) => explain(dialog, words.hold));
  await staff.inspect('linked-held');
  const group = new URL(staff.page.url()).pathname;

  const owner = await (await run.visit()).logInAs(buyers[0]);
  await owner.page.goto(`/${locale}/orders/${sale}/${orders[0].id}`);
  await owner.page.locator('.hold', { hasText: words.hold }).waitFor();
  await owner.inspect('order-held');
  await owner.page.getByRole('button', { name: labels.appeal, exact: true }).click();
  const dialog = owner.page.getByRole('dialog');
  await dialog.waitFor();
  await owner.inspect('order-appeal');
  await dialog.locator('textarea').fill(words.appeal);
  await Promise.all([owner.page.waitForEvent('load'), dialog.getByRole('button', { name: labels.send }).click()]);
  await owner.page.locator('.timeline', { hasText: words.appeal }).waitFor();
  same(await owner.page.getByRole('button', { name: labels.appeal, exact: true }).count(), 0, 'one appeal at a time');
  await owner.inspect('order-appealed');
  await appealWithoutScripts(run, buyers[1], orders[1], [words, labels]);

  await staff.page.goto(`/admin/orders/${orders[0].id}?lang=${locale}`);
  await staff.page.locator('.timeline', { hasText: words.appeal }).waitFor();
  await staff.inspect('admin-order-held');
  await confirmAction(staff, staff.page.locator('.case'), labels.uphold, null, (form) => explain(form, words.uphold));
  await confirmAction(staff, staff.page.locator('.case'), labels.release, null, (form) => explain(form, words.release));
  await staff.inspect('admin-order-released');
  await owner.page.reload();
  await owner.page.locator('.timeline', { hasText: words.release }).waitFor();
  await owner.inspect('order-released');

  await staff.page.goto(`${group}?lang=${locale}`);
  await confirmAction(staff, staff.page.locator('.case'), labels.refund, 'linked-refund', (form) => explain(form, words.refund));
  await isConfirmed(staff);
  await staff.inspect('linked-refunded');
  for (const n of [1, 2]) {
    await eventually('the held order is refunded', async () => (await status(buyers[n], orders[n])) === 'refunded');
  }
  same(await status(buyers[0], orders[0]), 'paid');
}

/** Buys and pays one unit, which is sent to the address. */
async function deliveredOrder(buyer, sale, address) {
  const order = await buyer.buy(sale);
  await buyer.pay(order);
  await buyer.ask('PUT', `/api/sales/${sale}/orders/${order.id}/address`, { address });
  return order;
}

async function status(buyer, { id, sale_id: sale }) {
  return (await buyer.ask('GET', `/api/sales/${sale}/orders/${id}`)).order.status;
}

async function explain(dialog, reason) {
  await dialog.locator('textarea').fill(reason);
}

async function appealWithoutScripts(run, buyer, order, [words, labels]) {
  const visitor = await (await run.visit({ scripts: false })).logInAs(buyer);
  const { page } = visitor;
  await page.goto(`/${run.locale}/orders/${order.sale_id}/${order.id}`);
  await page.locator('.hold summary').click();
  await page.locator('#appeal-text').fill(words.more);
  await page.getByRole('button', { name: labels.send }).click();
  await page.locator('.timeline', { hasText: words.more }).waitFor();
  ok((await page.locator('#appeal-text').count()) === 0, 'one appeal at a time');
  await visitor.inspect('order-appeal-no-script');
}
