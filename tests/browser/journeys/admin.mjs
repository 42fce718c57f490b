// An administrator's evening: goods with a picture, a sale from draft to schedule, and its cockpit from start to stop.

import { randomInt } from 'node:crypto';

import { eventually, same } from '../lib/check.mjs';
import { decide, praised } from '../lib/desk.mjs';
import { png } from '../lib/png.mjs';

/** The desk shows every sale, and is loaded again when another administrator changes one. */
export const lanes = 'one per shop';

export default async function administer(stage) {
  const visitor = await stage.visit();
  await signIn(visitor, stage.settings.admin);
  const goods = await createGoods(visitor);
  const sale = await createSale(stage, visitor, goods);
  const shopper = await startIt(stage, visitor, sale);
  await runIt(visitor, shopper, sale);
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
  await visitor.switchLanguage();
}

async function createGoods(visitor) {
  const { page, words } = visitor;
  const number = randomInt(1_000_000);
  const name = { zh: `夜灯 ${number} 号`, en: `Night lamp ${number}` };
  await page.goto(`/admin/goods?lang=${visitor.locale}`);
  await page.locator('a[href^="/admin/goods/new"]').click();
  visitor.expect(422, /^\/admin\/goods$/);
  await page.locator('#name_zh').fill(name.zh);
  await page.locator('#description_zh').fill('触摸调光\n三档亮度');
  await page.locator('#pictures').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: png(320, 240, 40) });
  await visitor.button(words.save).click();
  // The English name is missing; everything else is still there, the picture too.
  await page.locator('#name_en[aria-invalid="true"]').waitFor();
  same(await page.locator('#name_zh').inputValue(), name.zh);
  same((await page.locator('#description_zh').inputValue()).replaceAll('\r', ''), '触摸调光\n三档亮度');
  await shown('the picture is kept', page.locator('.wall'));
  await visitor.look('admin-goods-wrong');
  await page.locator('#name_en').fill(name.en);
  await page.locator('#description_en').fill('Touch to dim\nThree steps');
  await visitor.button(words.preview).click();
  for (const locale of ['zh', 'en']) {
    await page.locator(`[data-preview="${locale}"] h3`, { hasText: name[locale] }).waitFor();
  }
  await visitor.look('admin-goods-preview');
  await visitor.button(words.save).click();
  await page.waitForURL('/admin/goods?*');
  const row = page.locator('.goods-list li', { hasText: name[visitor.locale] });
  await shown('the goods with their picture', row);
  await row.getByRole('link').first().click();
  await page.waitForURL('/admin/goods/*');
  return name[visitor.locale];
}

/** Pictures below the edge of the screen load once somebody scrolls to them. */
function shown(what, where) {
  return eventually(what, async () => {
    await where.scrollIntoViewIfNeeded();
    return where.locator('picture img').first().evaluate((img) => img.complete && img.naturalWidth > 0);
  });
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
  await visitor.goAdmin();
  await page.locator('a[href^="/admin/sales/new"]').first().click();
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
  await visitor.button(words.draft).click();
  await praised(visitor);

  const row = page.locator('.desk article', { hasText: goods });
  const id = await row.getAttribute('data-sale');
  await row.locator('.status[data-status="draft"]').waitFor();
  same((await fetch(`${shop.origin}/en/sales/${id}`)).status, 404, 'nobody sees a draft');
  await decide(visitor, row, words.schedule, 'admin-schedule');
  await row.locator('.status[data-status="scheduled"]').waitFor();
  await shop.shows(id, 'upcoming');
  const { opens_at: opens } = await shop.button(id);
  same(new Date(opens).toISOString(), meant, 'a time is meant as typed, in the own zone');
  return id;
}

/** The shopper who looks at the page of the sale while it opens. */
async function startIt(stage, visitor, sale) {
  const { page, words } = visitor;
  const shopper = await (await stage.visit()).signInAsSomebody();
  // The page fetches a token some moments after the sale has opened; by then it may be paused.
  shopper.expect(409, /\/token$/);
  await shopper.go(`/sales/${sale}`);
  await shopper.page.locator('.clock[data-phase="upcoming"]').waitFor();
  await shown('the picture is on its page', shopper.page.locator('.offer'));

  await decide(visitor, page.locator(`article[data-sale="${sale}"]`), words.start, 'admin-start');
  await page.locator(`article[data-sale="${sale}"] h3 a`).click();
  await page.waitForURL(`/admin/sales/${sale}?*`);
  // A page that waits for a far start asks rarely; whoever comes back to it sees the present.
  await shopper.page.reload();
  await phase(shopper, 'open');
  return shopper;
}

/** Everything that a running sale needs is in its cockpit, whose numbers move by themselves. */
async function runIt(visitor, shopper, sale) {
  const { page, words } = visitor;
  const panel = page.locator('.cockpit .state');
  const state = (name) => page.locator(`.state[data-phase="${name}"]`).waitFor();
  const reads = (key, value) => eventually(`${key} is ${value}`, async () => {
    const seen = await page.locator(`[data-key="${key}"]`).textContent();
    return seen === value || Promise.reject(new Error(seen));
  });

  await page.locator('[data-cockpit][data-old="no"]').waitFor();
  await state('open');
  await eventually('plots are drawn', async () => (await page.locator('[data-plot] canvas').count()) >= 4);
  const asked = async () => Number((await page.locator('[data-key="requests.asked"]').textContent()).replace(/\D/g, '') || 0);
  const before = await asked();
  await page.evaluate(() => { globalThis.sameLife = true; });
  await shopper.button(shopper.words.buy).click();
  await shopper.page.locator('main[data-status="unpaid"]').waitFor();
  await eventually('the request is counted', async () => (await asked()) > before);
  await reads('stock.sold', '1');
  await reads('orders.unpaid', '1');
  same(await page.evaluate(() => globalThis.sameLife), true, 'the cockpit was loaded again');
  await visitor.look('admin-cockpit');
  await visitor.switchLanguage();
  await shopper.go(`/sales/${sale}`);
  await phase(shopper, 'open');

  await decide(visitor, panel, words.pause);
  await state('paused');
  await phase(shopper, 'paused');
  await decide(visitor, panel, words.resume);
  await state('open');
  await phase(shopper, 'open');
  await decide(visitor, panel, words.topUp, 'admin-top-up', async (dialog) => {
    await dialog.getByLabel(words.pieces).fill('7');
  });
  await reads('stock.total', '10');
  await eventually('the shopper sees it', async () => /9/.test(await shopper.slot('left').textContent()));
  await decide(visitor, panel, words.stop, 'admin-stop', async (dialog) => {
    await dialog.locator('input[name="typed"]').fill(sale);
  });
  await state('ended');
  same(await panel.getByRole('button').count(), 0, 'nothing can be done to a sale that is over');
  await phase(shopper, 'ended');
}

function phase(shopper, name) {
  return shopper.page.locator(`.clock[data-phase="${name}"]`).waitFor({ timeout: 20_000 });
}
