// From the list to a paid order: the sale starts while its page is open.

import { formKeepsInput, exampleAddress, showsAddress, typeAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';
import { newName } from '../lib/shop.mjs';

/** Enough time to find the sale and to register. */
const OPENS_IN_MS = 30_000;

export default async function purchase(run) {
  const visitor = await run.visit();
  await remind(visitor, await run.shop.newSale({ opensIn: 7_200_000 }));
  const opens = Date.now() + OPENS_IN_MS;
  const sale = await run.shop.newSale({ opensIn: OPENS_IN_MS, closesIn: 3_600_000, total: 5 });

  await find(visitor, sale);
  await register(visitor, sale);
  await waitForStart(visitor, opens);
  await visitor.switchLanguage();
  const order = await buy(visitor, sale);
  const place = await giveAddress(visitor);
  await pay(visitor, place);
  await findAgain(visitor, order);
  await visitor.button(visitor.labels.logOut).click();
  await visitor.page.getByRole('banner').getByRole('link', { name: visitor.labels.logIn }).waitFor();
}

/** Downloads the calendar file, sets the reminder and removes it. */
async function remind(visitor, sale) {
  const { page } = visitor;
  await visitor.shop.shows(sale, 'upcoming');
  await visitor.go(`/sales/${sale}`);
  const calendar = page.locator('a[type="text/calendar"]');
  const answer = await page.request.get(await calendar.getAttribute('href'));
  same([answer.status(), answer.headers()['content-type'].split(';')[0]], [200, 'text/calendar']);
  const text = await answer.text();
  ok(text.startsWith('BEGIN:VCALENDAR') && text.includes('BEGIN:VEVENT') && text.includes('BEGIN:VALARM'), text);

  const bell = visitor.slot('remind');
  const pressed = (on) => bell.and(page.locator(`[aria-pressed="${on}"]`)).waitFor();
  await pressed(false);
  await bell.click();
  await pressed(true);
  await visitor.slot('note').filter({ hasText: /\S/ }).waitFor();
  await visitor.inspect('sale-reminder');
  await page.reload();
  await pressed(true);
  await bell.click();
  await pressed(false);
}

async function find(visitor, sale) {
  const { page } = visitor;
  const card = await visitor.findOnList(sale);
  await eventually('its card counts down', async () => /\d\d:\d\d:\d\d/.test(await card.locator('[data-slot="live"]').textContent()));
  await card.getByRole('link').click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await eventually('the button leads to the log-in', async () => (await visitor.slot('button').textContent()) === visitor.labels.logInToBuy);
}

async function register(visitor, sale) {
  const { page, labels } = visitor;
  const name = newName();
  await visitor.button(labels.logInToBuy).click();
  await visitor.fillCredentials(name);
  await visitor.button(labels.register).click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await visitor.button(labels.logOut).waitFor();
  same(await page.getByRole('banner').locator('bdi').textContent(), name);
}

/** The countdown runs to zero and the button turns on, without a reload. */
async function waitForStart(visitor, opens) {
  const { page, labels } = visitor;
  ok(Date.now() < opens - 1500, 'the sale opened before the shopper was back; is this machine overloaded?');
  await page.evaluate(() => { globalThis.notReloaded = true; });
  same(await visitor.slot('button').getAttribute('aria-disabled'), 'true');
  const left = async () => {
    const [, minutes, seconds] = (await visitor.slot('countdown').locator('b').allTextContents()).map(Number);
    return 60 * minutes + seconds;
  };
  const first = await eventually('a countdown', left);
  ok(Math.abs(first - (opens - Date.now()) / 1000) < 3, `the countdown says ${first} s`);
  await eventually('it counts', async () => (await left()) < first);
  await visitor.slot('button').and(page.locator('[aria-disabled="false"]')).waitFor({ timeout: 2 * OPENS_IN_MS });
  const late = Date.now() - opens;
  ok(late > -50, `the button turned on ${late} ms after the start`);
  same(await visitor.slot('button').textContent(), labels.buy);
  ok(await page.evaluate(() => globalThis.notReloaded), 'the page was loaded again');
}

async function buy(visitor, sale) {
  const { page, labels } = visitor;
  await visitor.button(labels.buy).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/*`));
  const order = page.url().split('/').at(-1);
  await page.locator('main[data-status="unpaid"]').waitFor();
  await eventually('a countdown to pay by', async () => /^\d\d:\d\d:\d\d$/.test(await visitor.slot('due').textContent()));
  await visitor.inspect('order-unpaid');
  await visitor.switchLanguage();
  return order;
}

/** A payment asks for the delivery address. A mistake in the form keeps the input. */
async function giveAddress(visitor) {
  const { page, labels } = visitor;
  visitor.expect(422, /\/(pay|address)$/);
  await visitor.button(labels.pay).click();
  await page.locator('#recipient').waitFor();
  await eventually('the time to pay runs on', async () => /^\d\d:\d\d:\d\d$/.test(await page.locator('.remaining b').textContent()));
  await visitor.inspect('order-address');
  // The entered text stays when the time to pay is over.
  await page.locator('#recipient').fill('Li');
  await page.locator('[data-pay-by]').evaluate((place) => { place.dataset.payBy = new Date(Date.now() - 2000).toISOString(); });
  await page.waitForTimeout(3000);
  same(await page.locator('#recipient').inputValue(), 'Li');
  // The page was the answer to a form; the language switch leads to the address of the form itself.
  for (const locale of [visitor.locale === 'zh' ? 'en' : 'zh', visitor.locale]) {
    await page.locator(`a.language[hreflang^="${locale}"]`).click();
    await page.waitForURL(`/${locale}/orders/*/*/address`);
  }
  await page.locator('#recipient').waitFor();
  const place = exampleAddress(visitor);
  const misspelt = { ...place, phone: 'x' };
  await typeAddress(visitor, misspelt);
  await page.locator('button[name=then][value=pay]').click();
  await formKeepsInput(visitor, misspelt, 'phone');
  await page.locator('#phone').fill(place.phone);
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL('/sandbox/cashier/*');
  return place;
}

async function pay(visitor, place) {
  const { page, labels } = visitor;
  await page.locator(`html[lang^="${visitor.locale}"]`).waitFor();
  await visitor.inspect('cashier');
  await visitor.button(labels.payAtCashier).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  await page.locator('main[data-status="paid"]').waitFor();
  await showsAddress(visitor, place);
  const steps = await page.locator('.timeline li').evaluateAll((all) => all.map((step) => step.dataset.status));
  same(steps, ['reserved', 'unpaid', 'paid']);
  await visitor.inspect('order-paid');
  await visitor.switchLanguage();
}

async function findAgain(visitor, order) {
  const { page, labels } = visitor;
  await page.getByRole('navigation').getByRole('link', { name: labels.orders, exact: true }).click();
  await page.locator(`a[href$="${order}"] .status[data-status="paid"]`).waitFor();
  await visitor.inspect('orders');
  await visitor.switchLanguage();
  await page.locator(`a[href$="${order}"]`).click();
  await page.locator('main[data-status="paid"]').waitFor();
}
