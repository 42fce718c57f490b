// Details of the console's pages: the preview of goods, days of a filter, the plots of a sale that opened unwatched, the
// question before a disputed payment is refunded.

import { createHmac } from 'node:crypto';

import { eventually, ok, same } from '../lib/check.mjs';
import { GOODS } from '../lib/shop.mjs';

const OPENS_IN_MS = 6000;

export default async function consoleDetails(run) {
  const visitor = await (await run.visit()).logInAs(run.shop.admin);
  await goodsPreview(visitor);
  await daysOfTheLog(visitor);
  await openingOfASale(run, visitor);
  await disputedPayment(run, visitor);
}

/** The preview looks like the shop's pages. */
async function goodsPreview(visitor) {
  const { page, labels } = visitor;
  await visitor.goAdmin(`/goods/${GOODS.phone}`);
  await visitor.button(labels.preview).click();
  const card = page.locator('#preview .card').first();
  await card.waitFor();
  const inConsole = await card.evaluate((element) => getComputedStyle(element).borderRadius);
  await visitor.inspect('goods-preview');
  await visitor.go('/');
  same(inConsole, await page.locator('.card').first().evaluate((element) => getComputedStyle(element).borderRadius));
}

/** The filter's days are the days of the times in the table. */
async function daysOfTheLog(visitor) {
  const { page } = visitor;
  await visitor.goAdmin('/log');
  await visitor.unfold('filter');
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  ok((await visitor.slot('zone').textContent()).includes(zone));
  const newest = await page.locator('tbody .lead-cell time').first().getAttribute('datetime');
  const dayOf = (time) => new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(time);
  const entries = () => page.locator('tbody .lead-cell time').evaluateAll((times) => times.map((time) => time.dateTime));
  const filter = async (from, to) => {
    await page.locator('[name="from"]').fill(from);
    await page.locator('[name="to"]').fill(to);
    await Promise.all([page.waitForURL((url) => url.searchParams.get('from') === from && url.searchParams.get('zone') === zone), page.locator('.filter button').click()]);
  };
  const today = new Date(newest);
  const [day, next] = [today, new Date(today.getTime() + 86_400_000)].map(dayOf);
  await filter(day, next);
  const shown = await entries();
  ok(shown.includes(newest), 'the newest entry is of its day');
  same(shown.filter((time) => dayOf(new Date(time)) !== day), [], 'entries of other days');
  await visitor.inspect('log-of-a-day');
  await filter(next, '');
  same(await entries(), []);
  // The days in an address from elsewhere are read in this browser's time zone.
  await page.goto(`/admin/log?from=${day}&lang=${visitor.locale}`);
  await page.waitForURL((url) => url.searchParams.get('zone') === zone);
}

/** Purchases within a few milliseconds leave a plot that shows them, although no page watched them. */
async function openingOfASale(run, visitor) {
  const { shop } = run;
  const buyers = await Promise.all(Array.from({ length: 8 }, () => shop.register()));
  const sale = await shop.newSale({ opensIn: OPENS_IN_MS, total: 20 });
  await shop.shows(sale, 'open');
  await Promise.all(buyers.map((buyer) => eventually('a purchase', () => buyer.buy(sale))));

  const { page } = visitor;
  await page.addInitScript(() => {
    globalThis.drawn = new Set();
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function record(text, ...rest) {
      globalThis.drawn.add(text);
      return fillText.call(this, text, ...rest);
    };
  });
  await visitor.goAdmin(`/sales/${sale}`);
  const plot = page.locator('[data-plot="opening"]');
  await plot.locator('canvas').waitFor();
  const legend = visitor.locale === 'zh' ? '抢到 8' : 'Successful 8';
  await plot.locator('[data-keys]').filter({ hasText: legend }).waitFor();
  // An empty plot reaches from 0 to 1 in quarters.
  await eventually('axes are labeled', () => page.evaluate(() => globalThis.drawn.has('0.25') && globalThis.drawn.has('0.75')));
  await visitor.inspect('cockpit-opening');
}

const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

/** Delivers a report as the sandbox does. */
async function report({ shop, settings }, id, content) {
  const [at, body] = [String(Math.floor(Date.now() / 1000)), JSON.stringify(content)];
  const signature = hmac(hmac(settings.secret, 'sandbox webhooks'), `${id}.${at}.${body}`).toString('base64');
  const headers = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': `v1,${signature}` };
  const { status } = await fetch(`${shop.origin}/api/webhooks/payments/sandbox`, { method: 'POST', headers, body });
  same(status, 204, 'the report is accepted');
}

/** Both refunds of a disputed payment ask whether it is meant. Nothing has answered for the member of the staff. */
async function disputedPayment(run, visitor) {
  const { shop } = run;
  const { page, labels, locale } = visitor;
  const payer = await shop.register();
  const order = await payer.buy(await shop.openSale({ total: 5 }));
  await payer.pay(order);
  const { order: known } = await shop.admin.ask('GET', `/api/admin/orders/${order.id}`);
  await report(run, `msg_${order.id}`, { type: 'payment.disputed', data: { payment_id: known.payments[0].id, reason: 'not received' } });
  await page.goto(`/admin/orders/${order.id}?lang=${locale}`);
  for (const [verb, id] of [[labels.refundOrder, 'disputed'], [labels.refundPart, 'part-disputed']]) {
    await page.locator('.case').getByRole('button', { name: verb, exact: true }).first().click();
    const dialog = page.getByRole('dialog');
    const box = dialog.locator(`#${id}`);
    await box.waitFor();
    ok(!(await box.isChecked()), 'the question waits for an answer');
    await visitor.inspect(`admin-order-${id}`);
    await dialog.locator('[data-close]').click();
    await dialog.waitFor({ state: 'hidden' });
  }
}
