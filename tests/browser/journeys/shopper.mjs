// From the list to a paid order: the sale opens before the shopper's eyes.

import { comesBackFilled, placeOf, shows, typeAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';
import { newName } from '../lib/shop.mjs';

/** Time enough to find the sale and to register. */
const OPENS_IN_MS = 20_000;
/** The page asks again within 0.6 s of the start, and the answer may be a second old. */
const AWAKE_WITHIN_MS = 4000;

/** Most of it is waiting. */
export const lanes = 4;

export default async function shopper(stage) {
  const visitor = await stage.visit();
  await remind(visitor, await stage.shop.newSale({ opensIn: 7_200_000 }));
  const opens = Date.now() + OPENS_IN_MS;
  const sale = await stage.shop.newSale({ opensIn: OPENS_IN_MS, closesIn: 3_600_000, total: 5 });

  await find(visitor, sale);
  await register(visitor, sale);
  await seeItOpen(visitor, opens);
  await visitor.switchLanguage();
  const order = await buy(visitor, sale);
  const place = await giveAddress(visitor);
  await pay(visitor, place);
  await findAgain(visitor, order);
  await visitor.button(visitor.words.logOut).click();
  await visitor.page.getByRole('banner').getByRole('link', { name: visitor.words.logIn }).waitFor();
}

/** Who comes too early takes the date along, or has the tab remember it, and may think better of it. */
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
  await visitor.look('sale-reminder');
  await page.reload();
  await pressed(true);
  await bell.click();
  await pressed(false);
}

async function find(visitor, sale) {
  const { page } = visitor;
  const card = page.locator(`.card[data-sale="${sale}"]`);
  await eventually('the sale is on the list', async () => {
    await visitor.go('/');
    return card.isVisible();
  });
  await eventually('its card counts down', async () => /\d\d:\d\d:\d\d/.test(await card.locator('[data-slot="live"]').textContent()));
  await card.getByRole('link').click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await eventually('the button says when', async () => (await visitor.slot('button').textContent()) === visitor.words.notOpen);
  same(await visitor.slot('button').getAttribute('aria-disabled'), 'true');
}

async function register(visitor, sale) {
  const { page, words } = visitor;
  const name = newName();
  await visitor.slot('hint').getByRole('link', { name: words.goLogIn }).click();
  await visitor.link(words.toRegister).click();
  await visitor.fillCredentials(name);
  await visitor.button(words.register).click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await visitor.button(words.logOut).waitFor();
  same(await page.getByRole('banner').locator('bdi').textContent(), name);
}

/** The countdown runs to zero and the button wakes up, on a page that is never loaded again. */
async function seeItOpen(visitor, opens) {
  const { page, words } = visitor;
  ok(Date.now() < opens - 1500, 'the sale opened before the shopper was back; is this machine very busy?');
  await page.evaluate(() => { globalThis.sameLife = true; });
  const left = async () => {
    const [, minutes, seconds] = (await visitor.slot('countdown').locator('b').allTextContents()).map(Number);
    return 60 * minutes + seconds;
  };
  const first = await eventually('a countdown', left);
  ok(Math.abs(first - (opens - Date.now()) / 1000) < 3, `the countdown says ${first} s`);
  await eventually('it counts', async () => (await left()) < first);
  await visitor.slot('button').and(page.locator('[aria-disabled="false"]')).waitFor({ timeout: OPENS_IN_MS + AWAKE_WITHIN_MS });
  const late = Date.now() - opens;
  ok(late > -50 && late < AWAKE_WITHIN_MS, `the button woke up ${late} ms after the start`);
  same(await visitor.slot('button').textContent(), words.buy);
  ok(await page.evaluate(() => globalThis.sameLife), 'the page was loaded again');
}

async function buy(visitor, sale) {
  const { page, words } = visitor;
  await visitor.button(words.buy).click();
  await page.waitForURL(visitor.path(`/orders/${sale}/*`));
  const order = page.url().split('/').at(-1);
  await page.locator('main[data-status="unpaid"]').waitFor();
  await eventually('a countdown to pay by', async () => /^\d\d:\d\d:\d\d$/.test(await visitor.slot('due').textContent()));
  await visitor.look('order-unpaid');
  await visitor.switchLanguage();
  return order;
}

/** Whoever wants to pay is asked where it goes; a mistake there costs nothing that was typed. */
async function giveAddress(visitor) {
  const { page, words } = visitor;
  visitor.expect(422, /\/(pay|address)$/);
  await visitor.button(words.pay).click();
  await page.locator('#recipient').waitFor();
  await visitor.look('order-address');
  // The answer to a form has no address of its own to come back to; the page that has the form does.
  for (const locale of [visitor.locale === 'zh' ? 'en' : 'zh', visitor.locale]) {
    await page.locator(`a.language[hreflang^="${locale}"]`).click();
    await page.waitForURL(`/${locale}/orders/*/*/address`);
  }
  await page.locator('#recipient').waitFor();
  const place = placeOf(visitor);
  const misspelt = { ...place, phone: 'x' };
  await typeAddress(visitor, misspelt);
  await page.locator('button[name=then][value=pay]').click();
  await comesBackFilled(visitor, misspelt, 'phone');
  await page.locator('#phone').fill(place.phone);
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL('/sandbox/cashier/*');
  return place;
}

async function pay(visitor, place) {
  const { page, words } = visitor;
  await page.locator(`html[lang^="${visitor.locale}"]`).waitFor();
  await visitor.look('cashier');
  await visitor.button(words.payAtCashier).click();
  await page.waitForURL(visitor.path('/orders/*/*'));
  await page.locator('main[data-status="paid"]').waitFor();
  await shows(visitor, place);
  const steps = await page.locator('.timeline li').evaluateAll((all) => all.map((step) => step.dataset.status));
  same(steps, ['reserved', 'unpaid', 'paid']);
  await visitor.look('order-paid');
  await visitor.switchLanguage();
}

async function findAgain(visitor, order) {
  const { page, words } = visitor;
  await page.getByRole('navigation').getByRole('link', { name: words.orders, exact: true }).click();
  await page.locator(`a[href$="${order}"] .status[data-status="paid"]`).waitFor();
  await visitor.look('orders');
  await visitor.switchLanguage();
  await page.locator(`a[href$="${order}"]`).click();
  await page.locator('main[data-status="paid"]').waitFor();
}
