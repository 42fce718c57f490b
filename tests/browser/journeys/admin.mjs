// An administrator's evening: goods with a picture, a sale through the form, and the sale from start to stop.

import { randomInt } from 'node:crypto';

import { eventually, ok, same } from '../lib/check.mjs';
import { png } from '../lib/png.mjs';

/** The desk shows every sale, and is loaded again when another administrator changes one. */
export const lanes = 'one per shop';

export default async function administer(stage) {
  const visitor = await stage.visit();
  await signIn(visitor, stage.settings.admin);
  const goods = await createGoods(visitor);
  const sale = await createSale(stage, visitor, goods);
  const shopper = await watchIt(stage, visitor, sale);
  await runIt(visitor, shopper, sale);
  await readTheLog(visitor, sale);
}

async function signIn(visitor, { username, password }) {
  const { page, words } = visitor;
  await visitor.go('/login');
  await visitor.fillCredentials(username, password);
  await visitor.button(words.logIn).click();
  await page.waitForURL(visitor.path('/'));
  await page.getByRole('banner').locator('a[href^="/admin"]').click();
  await page.waitForURL('/admin?*');
  await page.locator('.pulse[data-state="live"]').waitFor();
  await visitor.look('admin-sales');
  await visitor.switchLanguage();
}

async function createGoods(visitor) {
  const { page, words } = visitor;
  const number = randomInt(1_000_000);
  const name = { zh: `夜灯 ${number} 号`, en: `Night lamp ${number}` };
  await page.goto(`/admin/goods?lang=${visitor.locale}`);
  await visitor.look('admin-goods');
  await visitor.link(words.newGoods).click();
  await visitor.look('admin-goods-new');
  visitor.expect(422, /^\/admin\/goods$/);
  await page.locator('#name_zh').fill(name.zh);
  await page.locator('#description_zh').fill('触摸调光\n三档亮度');
  await page.locator('#pictures').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: png(320, 240, 40) });
  await visitor.button(words.save).click();
  // The English name is missing; everything else is still there, the picture too.
  await page.locator('#name_en[aria-invalid="true"]').waitFor();
  same(await page.locator('#name_zh').inputValue(), name.zh);
  same((await page.locator('#description_zh').inputValue()).replaceAll('\r', ''), '触摸调光\n三档亮度');
  ok(await page.locator('.wall picture img').evaluate((img) => img.complete && img.naturalWidth === 320), 'the picture is kept');
  await visitor.look('admin-goods-wrong');
  await page.locator('#name_en').fill(name.en);
  await page.locator('#description_en').fill('Touch to dim\nThree steps');
  await visitor.button(words.save).click();
  await page.waitForURL('/admin/goods?*');
  const row = page.locator('.goods-list li', { hasText: name[visitor.locale] });
  await eventually('the goods with their picture', async () => {
    await row.scrollIntoViewIfNeeded();
    return row.locator('picture img').evaluate((img) => img.complete && img.naturalWidth === 320);
  });
  await row.getByRole('link').first().click();
  await page.waitForURL('/admin/goods/*');
  await visitor.look('admin-goods-edit');
  return name[visitor.locale];
}

/** An hour from now as the form wants it, in the visitor's own zone. */
function inOneHour(page) {
  return page.evaluate(() => {
    const at = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 3_600_000);
    const two = (n) => String(n).padStart(2, '0');
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return { typed: `${day}T${two(at.getHours())}:${two(at.getMinutes())}:00`, meant: at.toISOString() };
  });
}

async function createSale({ shop }, visitor, goods) {
  const { page, words } = visitor;
  const before = await shop.admin.ask('GET', '/api/admin/sales').then(({ sales }) => sales.map(({ id }) => id));
  await visitor.link(words.newSale).click();
  await visitor.look('admin-sale-new');
  visitor.expect(422, /^\/admin\/sales$/);
  const { typed, meant } = await inOneHour(page);
  const wrong = { price: '12,5', list_price: '99', total: '3', per_user_limit: '4' };
  await page.locator('#goods_id').selectOption({ label: goods });
  for (const [field, value] of Object.entries(wrong)) await page.locator(`#${field}`).fill(value);
  await page.locator('#opens_at').fill(typed);
  await visitor.button(words.create).click();

  await page.getByRole('alert').waitFor();
  for (const [field, value] of Object.entries(wrong)) same(await page.locator(`#${field}`).inputValue(), value, field);
  same(await page.locator('#goods_id option:checked').textContent(), goods);
  // Browsers leave out seconds that are zero.
  same((await page.locator('#opens_at').inputValue()).padEnd(19, ':00'), typed);
  for (const field of ['price', 'per_user_limit']) await page.locator(`#${field}[aria-invalid="true"]`).waitFor();
  await visitor.look('admin-sale-wrong');
  await page.locator('#price').fill('12.50');
  await page.locator('#per_user_limit').fill('1');
  await visitor.button(words.create).click();
  await page.waitForURL('/admin?*');

  const created = page.locator('.desk article', { hasText: goods });
  const id = await created.getAttribute('data-sale');
  ok(!before.includes(id));
  const { opens_at: opens } = await shop.button(id);
  same(new Date(opens).toISOString(), meant, 'a time is meant as typed, in the own zone');
  return id;
}

/** A shopper on the page of the sale, who will see all that happens to it. */
async function watchIt(stage, visitor, sale) {
  const shopper = await (await stage.visit()).signInAsSomebody();
  await shopper.go(`/sales/${sale}`);
  await shopper.page.locator('.clock[data-phase="upcoming"]').waitFor();
  ok(await shopper.page.locator('.offer img').evaluate((img) => img.naturalWidth === 320), 'the picture is shown');
  return shopper;
}

async function runIt(visitor, shopper, sale) {
  const { page, words } = visitor;
  const row = page.locator(`article[data-sale="${sale}"]`);
  const number = (key) => row.locator(`dd[data-key="${key}"]`).textContent();
  const state = (name) => row.locator(`.status[data-status="${name}"]`).waitFor();
  const phase = (name) => shopper.page.locator(`.clock[data-phase="${name}"]`).waitFor({ timeout: 20_000 });

  // A page that waits for a far start asks rarely; whoever comes back to it sees the present.
  await decide(visitor, sale, words.start, 'admin-start');
  await state('live');
  await shopper.page.reload();
  await phase('open');
  await page.evaluate(() => { globalThis.sameLife = true; });
  await shopper.button(shopper.words.buy).click();
  await shopper.page.locator('main[data-status="unpaid"]').waitFor();
  await eventually('the purchase is on the desk', async () => (await number('booked')) === '1' && (await number('unpaid')) === '1' && (await number('sold')) === '1');
  same(await page.evaluate(() => globalThis.sameLife), true, 'the desk was loaded again');
  await shopper.go(`/sales/${sale}`);
  await phase('open');

  await decide(visitor, sale, words.pause);
  await state('paused');
  await phase('paused');
  await decide(visitor, sale, words.resume);
  await state('live');
  await phase('open');
  await decide(visitor, sale, words.topUp, 'admin-top-up', async (dialog) => {
    await dialog.getByLabel(words.pieces).fill('7');
  });
  await eventually('the new total', async () => (await number('total')) === '10');
  await eventually('the shopper sees it', async () => /9/.test(await shopper.slot('left').textContent()));
  await decide(visitor, sale, words.stop, 'admin-stop', async (dialog) => {
    await dialog.locator('input[name="typed"]').fill(sale);
  });
  await state('ended');
  await phase('ended');
}

/** Presses the button of a sale, and again in the dialog that asks. */
async function decide(visitor, sale, verb, name, fill = async () => {}) {
  const { page, words } = visitor;
  const dialog = page.getByRole('dialog');
  const row = page.locator(`article[data-sale="${sale}"]`);
  await row.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor();
  if (name) {
    await visitor.look(name);
    await dialog.getByRole('button', { name: words.close, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
    await row.getByRole('button', { name: verb, exact: true }).click();
    await dialog.waitFor();
  }
  await fill(dialog);
  await Promise.all([page.waitForEvent('load'), dialog.getByRole('button', { name: verb, exact: true }).click()]);
}

async function readTheLog(visitor, sale) {
  const { page, words } = visitor;
  await visitor.link(words.log).click();
  await page.waitForURL('/admin/log?*');
  const text = await page.locator('tbody').innerText();
  const rows = text.split('\n').filter((line) => line.includes(sale));
  ok(rows.length >= 6, `create, start, pause, resume, top up and stop are on record: ${text.slice(0, 1000)}`);
  await visitor.look('admin-log');
  await visitor.switchLanguage();
}
