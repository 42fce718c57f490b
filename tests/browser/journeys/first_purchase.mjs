// A first purchase of a new visitor: from a shared link to a paid order, with an account made on the way. With
// SECKILL_TEST_LONG=1 keys and clicks come as fast as a person's, and the time that the journey prints means something.

import { exampleAddress } from '../lib/address.mjs';
import { ok, same } from '../lib/check.mjs';
import { PASSWORD, newName } from '../lib/shop.mjs';

/** Time between two keys, and before a click, of a person who does not hurry. */
const [KEY_MS, LOOK_MS] = process.env.SECKILL_TEST_LONG === '1' ? [90, 900] : [0, 0];

/** The hands of a visitor. They count clicks and fields. */
class Hands {
  constructor(page) {
    Object.assign(this, { page, clicks: 0, fields: 0 });
  }

  async click(target) {
    await target.waitFor();
    await this.page.waitForTimeout(LOOK_MS);
    this.began ??= Date.now();
    this.clicks += 1;
    await target.click();
  }

  async type(target, text) {
    this.fields += 1;
    await target.click();
    await target.pressSequentially(text, { delay: KEY_MS });
  }
}

export default async function firstPurchase(run) {
  const sale = await run.shop.openSale();
  const visitor = await run.visit();
  const { page, labels } = visitor;
  const hands = new Hands(page);
  // The button without a session asks for the log-in, and the payment for the address.
  visitor.expect(401, /\/token$/);
  visitor.expect(422, /\/pay$/);
  // A shared link leads to the page of the sale.
  await visitor.go(`/sales/${sale}`);
  await hands.click(visitor.button(labels.logInToBuy));
  await hands.type(page.getByLabel(labels.username), newName());
  await hands.type(page.getByLabel(labels.password, { exact: true }), PASSWORD);
  await hands.click(visitor.button(labels.register));
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await hands.click(visitor.button(labels.buy));
  await page.locator('main[data-status="unpaid"]').waitFor();
  await hands.click(visitor.button(labels.pay));
  const { district = '', ...place } = exampleAddress(visitor);
  const { recipient, phone, region, city, line1, postal_code: code } = place;
  const whole = district ? `${recipient}，${phone} ${region}${city}${district}${line1}` : `${recipient}, ${phone}, ${line1}, ${place.line2}, ${city}, ${region} ${code}`;
  await hands.type(page.locator('#paste'), whole);
  const filled = district ? { recipient, phone, region, city, district, line1 } : place;
  for (const [id, text] of Object.entries(filled)) same(await page.locator(`#${id}`).inputValue(), text, id);
  await visitor.inspect('first-address');
  await hands.click(page.locator('button[name=then][value=pay]'));
  await page.waitForURL('/sandbox/cashier/*');
  await hands.click(visitor.button(labels.payAtCashier));
  await page.locator('main[data-status="paid"]').waitFor();
  console.log(`  first purchase ${run.locale} ${run.width}: ${((Date.now() - hands.began) / 1000).toFixed(1)} s from the first click, ${hands.clicks} clicks, ${hands.fields} fields`);
  // A shopper who buys for the first time may give up at each further step or field.
  same([hands.clicks, hands.fields], [6, 3]);
  ok((await visitor.page.locator('h1').count()) === 1);
  const next = await run.shop.openSale();
  await visitor.go(`/sales/${next}`);
  const before = hands.clicks;
  await hands.click(visitor.button(labels.buy));
  await page.locator('main[data-status="unpaid"]').waitFor();
  await hands.click(visitor.button(labels.pay));
  await page.waitForURL('/sandbox/cashier/*');
  same(hands.clicks - before, 2, 'the next time the shop asks nothing');
}
