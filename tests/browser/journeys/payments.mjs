// Payments at three providers: on their pages, and by codes that the payer's phone reads from the screen.

import jsQR from 'jsqr';
import { PNG } from 'pngjs';

import { sentAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';

/** Providers have pages of their own for phones. */
const PHONE = 'Mozilla/5.0 (Linux; Android 16; Pixel 10) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Mobile Safari/537.36';

export default async function payments(run) {
  const [payers] = run.settings.providers;
  const isPhone = run.width < 600;
  const visitor = await (await run.visit({ agent: isPhone ? PHONE : undefined })).logInAsNewUser();
  await visitor.account.ask('POST', '/api/addresses', { address: sentAddress(visitor) });
  const ways = [];
  const orders = [];
  for (const provider of ['wechatpay', 'alipay', 'stripe']) {
    orders.push(await buy(visitor));
    ways.push(await begin(visitor, provider));
    await pay(visitor);
  }
  // WeChat Pay has a page for browsers on phones only. Alipay has its own on both.
  same(ways, [isPhone ? 'page' : 'code', 'page', 'page']);
  await payAtAnother(visitor, payers);
  await payAfterARefusal(visitor, payers);
  await cancelWhilePaying(visitor, payers);
  await refund(visitor, orders[1]);
  await expireWhilePaying(visitor, payers);
}

const show = (visitor, { sale_id: sale, id }) => visitor.go(`/orders/${sale}/${id}`);

/** Each order is of a sale of its own, since nobody buys twice in one. */
async function buy(visitor) {
  const order = await visitor.account.buy(await visitor.shop.openSale());
  await show(visitor, order);
  await visitor.page.locator('main[data-status="unpaid"]').waitFor();
  return order;
}

/** Goes to the provider's page, or to the shop's page with a code. Returns which of both it is. */
async function begin(visitor, provider) {
  const { page, providers: [payers] } = visitor;
  await page.locator(`form.pay button[value="${provider}"]`).click();
  const code = page.locator('.qr img');
  await eventually('a page or a code', async () => page.url().startsWith(payers) || (await code.isVisible()));
  if (page.url().startsWith(payers)) return 'page';
  await visitor.inspect(`payment-${provider}`);
  return 'code';
}

/** The text of the code on the screen, as a camera sees it. */
async function codeOn(page) {
  const picture = PNG.sync.read(await page.locator('.qr img').screenshot());
  const code = jsQR(Uint8ClampedArray.from(picture.data), picture.width, picture.height);
  ok(code, 'the code cannot be read');
  return code.data;
}

const scan = (payers, code) => fetch(`${payers}/?code=${encodeURIComponent(code)}`, { method: 'POST', redirect: 'manual' });

/** Pays on the provider's page, or with a phone that scans the code. Both lead back to the paid order. */
async function pay({ page, providers: [payers] }) {
  if (page.url().startsWith(payers)) await page.getByRole('button', { name: 'Pay', exact: true }).click();
  else same((await scan(payers, await codeOn(page))).status, 303);
  await page.locator('main[data-status="paid"]').waitFor();
}

/** A payer who comes back without having paid chooses another provider. The first one takes no money any more. */
async function payAtAnother(visitor, payers) {
  const order = await buy(visitor);
  await begin(visitor, 'stripe');
  await show(visitor, order);
  await begin(visitor, 'wechatpay');
  await pay(visitor);
  await eventually('no payment waits', async () => (await (await fetch(payers)).text()).includes('None.'));
}

/** The payer's bank refuses after the provider's page led back. The order says so, and is paid at another provider. */
async function payAfterARefusal(visitor, payers) {
  const { page } = visitor;
  const order = await buy(visitor);
  await begin(visitor, 'stripe');
  await page.getByRole('button', { name: 'bank that refuses' }).click();
  await eventually('the refusal is told', async () => {
    await show(visitor, order);
    return page.locator('.alert').isVisible();
  });
  await begin(visitor, 'alipay');
  await pay(visitor);
  same(await page.locator('.alert').count(), 0, 'the refusal is forgotten');
  ok((await (await fetch(payers)).text()).includes('None.'), 'no payment waits');
}

/** The order is cancelled in another window while the payer looks at the provider's page or the code. */
async function cancelWhilePaying(visitor, payers) {
  const { account, page } = visitor;
  const order = await buy(visitor);
  const way = await begin(visitor, 'wechatpay');
  const code = way === 'code' && (await codeOn(page));
  await account.ask('POST', `/api/sales/${order.sale_id}/orders/${order.id}/cancel`);
  await eventually('the payment is closed', async () => (await (await fetch(payers)).text()).includes('None.'));
  if (code) {
    // The page with the code leads on by itself.
    await page.locator('main[data-status="cancelled"]').waitFor();
    same((await scan(payers, code)).status, 404);
  }
}

/** The time to pay ends while the payer looks at the provider's page or the code: the provider takes no money any more. */
async function expireWhilePaying(visitor, payers) {
  const { page } = visitor;
  const order = await buy(visitor);
  const way = await begin(visitor, 'wechatpay');
  const code = way === 'code' && (await codeOn(page));
  if (code) await page.locator('main[data-status="cancelled"]').waitFor({ timeout: 90_000 });
  await eventually('the payment is closed', async () => (await (await fetch(payers)).text()).includes('None.'), 90_000);
  if (code) same((await scan(payers, code)).status, 404);
  await show(visitor, order);
  await page.locator('main[data-status="cancelled"]').waitFor();
}

/** Staff refund what was paid, and the shopper sees it. */
async function refund(visitor, order) {
  await visitor.shop.admin.ask('POST', `/api/admin/orders/${order.id}/refund`, { reason: 'They rang and asked' });
  await eventually('the order is refunded', async () => {
    await show(visitor, order);
    return (await visitor.page.locator('main').getAttribute('data-status')) === 'refunded';
  });
}
