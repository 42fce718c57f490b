// Staff create a product with a picture and a sale, schedule it, and run it on the live dashboard from start to stop.

import { randomInt } from 'node:crypto';

import { eventually, same } from '../lib/check.mjs';
import { confirmAction, isConfirmed } from '../lib/console.mjs';
import { png } from '../lib/png.mjs';

export default async function saleManagement(run) {
  const visitor = await run.visit();
  await signIn(visitor, run.settings.admin);
  const goods = await createGoods(visitor);
  const sale = await createSale(run, visitor, goods);
  const shopper = await startIt(run, visitor, sale);
  await runIt(visitor, shopper, sale);
}

async function signIn(visitor, { username, password }) {
  const { page, labels } = visitor;
  await visitor.go('/login');
  await visitor.fillCredentials(username, password);
  await visitor.button(labels.logIn).click();
  await page.waitForURL(visitor.path('/'));
  await page.getByRole('banner').locator('a[href^="/admin"]').click();
  await page.waitForURL('/admin?*');
  await page.locator('.freshness[data-state="live"]').waitFor();
  await visitor.switchLanguage();
}

async function createGoods(visitor) {
  const { page, labels } = visitor;
  const number = randomInt(1_000_000);
  const name = { zh: `夜灯 ${number} 号`, en: `Night lamp ${number}` };
  await page.goto(`/admin/goods?lang=${visitor.locale}`);
  await page.locator('a[href^="/admin/goods/new"]').click();
  visitor.expect(422, /^\/admin\/goods$/);
  await page.locator('#name_zh').fill(name.zh);
  await page.locator('#description_zh').fill('触摸调光\n三档亮度');
  await page.locator('#pictures').setInputFiles({ name: 'lamp.png', mimeType: 'image/png', buffer: png(320, 240, 40) });
  await visitor.button(labels.save).click();
  // The English name is missing. The rest of the input stays, including the picture.
  await page.locator('#name_en[aria-invalid="true"]').waitFor();
  same(await page.locator('#name_zh').inputValue(), name.zh);
  same((await page.locator('#description_zh').inputValue()).replaceAll('\r', ''), '触摸调光\n三档亮度');
  await shown('the picture is kept', page.locator('.picture-list'));
  await visitor.inspect('admin-goods-wrong');
  await page.locator('#name_en').fill(name.en);
  await page.locator('#description_en').fill('Touch to dim\nThree steps');
  await visitor.button(labels.preview).click();
  for (const locale of ['zh', 'en']) {
    await page.locator(`[data-preview="${locale}"] h3`, { hasText: name[locale] }).waitFor();
  }
  await visitor.inspect('admin-goods-preview');
  await visitor.button(labels.save).click();
  await page.waitForURL('/admin/goods?*');
  const row = page.locator('.goods-list tbody tr', { hasText: name[visitor.locale] });
  await shown('the goods with their picture', row);
  await row.getByRole('link').first().click();
  await page.waitForURL('/admin/goods/*');
  return name[visitor.locale];
}

/** Pictures below the fold load when they are scrolled into view. */
function shown(what, where) {
  return eventually(what, async () => {
    await where.scrollIntoViewIfNeeded();
    return where.locator('picture img').first().evaluate((img) => img.complete && img.naturalWidth > 0);
  });
}

/** One hour from now in the format of the field, in the visitor's time zone. */
function inOneHour(page) {
  return page.evaluate(() => {
    const at = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 3_600_000);
    const two = (n) => String(n).padStart(2, '0');
    const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
    return { typed: `${day}T${two(at.getHours())}:${two(at.getMinutes())}:00`, meant: at.toISOString() };
  });
}

async function createSale({ shop }, visitor, goods) {
  const { page, labels } = visitor;
  await visitor.goAdmin();
  await page.locator('a[href^="/admin/sales/new"]').first().click();
  visitor.expect(422, /^\/admin\/sales$/);
  const { typed, meant } = await inOneHour(page);
  const wrong = { price: '12,5', list_price: '99', total: '3', per_user_limit: '4' };
  await page.locator('#goods_id').selectOption({ label: goods });
  for (const [field, value] of Object.entries(wrong)) await page.locator(`#${field}`).fill(value);
  await page.locator('#opens_at').fill(typed);
  await visitor.button(labels.create).click();

  await page.getByRole('alert').waitFor();
  for (const [field, value] of Object.entries(wrong)) same(await page.locator(`#${field}`).inputValue(), value, field);
  same(await page.locator('#goods_id option:checked').textContent(), goods);
  // Browsers omit seconds that are zero.
  same((await page.locator('#opens_at').inputValue()).padEnd(19, ':00'), typed);
  for (const field of ['price', 'per_user_limit']) await page.locator(`#${field}[aria-invalid="true"]`).waitFor();
  await visitor.inspect('admin-sale-wrong');
  await page.locator('#price').fill('12.50');
  await page.locator('#per_user_limit').fill('1');
  await visitor.button(labels.draft).click();
  await isConfirmed(visitor);

  const row = page.locator('[data-sale]', { hasText: goods });
  const id = await row.getAttribute('data-sale');
  await row.locator('.status[data-status="draft"]').waitFor();
  same((await fetch(`${shop.origin}/en/sales/${id}`)).status, 404, 'a draft has no page');
  await confirmAction(visitor, row, labels.schedule, 'admin-schedule');
  await row.locator('.status[data-status="scheduled"]').waitFor();
  await shop.shows(id, 'upcoming');
  const { opens_at: opens } = await shop.button(id);
  same(new Date(opens).toISOString(), meant, 'the typed time is in the visitor\'s time zone');
  return id;
}

/** Starts the sale and returns a shopper on its page. */
async function startIt(run, visitor, sale) {
  const { page, labels } = visitor;
  const shopper = await (await run.visit()).logInAsNewUser();
  // The page fetches a token shortly after the start; by then the sale may be paused.
  shopper.expect(409, /\/token$/);
  await shopper.go(`/sales/${sale}`);
  await shopper.page.locator('.clock[data-phase="upcoming"]').waitFor();
  await shown('the picture is on its page', shopper.page.locator('.offer'));

  await confirmAction(visitor, page.locator(`tr[data-sale="${sale}"]`), labels.start, 'admin-start');
  await page.locator(`tr[data-sale="${sale}"] th a`).click();
  await page.waitForURL(`/admin/sales/${sale}?*`);
  // A page far before the start polls rarely; a reload shows the current state.
  await shopper.page.reload();
  await phase(shopper, 'open');
  return shopper;
}

/** A key does it after a few seconds, in which it can be undone. */
async function resumeByKey(visitor, state) {
  const { page } = visitor;
  const pending = page.locator('.pending');
  await page.keyboard.press('p');
  await pending.waitFor();
  await visitor.inspect('admin-key-pending');
  await page.keyboard.press('Escape');
  same(await pending.count(), 0, 'undone by Esc');
  await page.keyboard.press('p');
  await pending.getByRole('button').click();
  same(await pending.count(), 0, 'undone by the button');
  await state('paused');
  await page.keyboard.press('p');
  await state('open');
}

/** The same key on a row of the list, beside the dashboard's page. */
async function pauseRowByKey(visitor, sale) {
  const list = await visitor.tab();
  await list.goto(`/admin?lang=${visitor.locale}`);
  const row = list.locator(`[data-sale="${sale}"]`);
  const press = async (next) => {
    await row.locator('th a').focus();
    await list.keyboard.press('P');
    await list.locator('.pending').waitFor();
    await row.locator(`form[action*="/${next}?"]`).waitFor({ state: 'attached' });
  };
  await press('resume');
  await press('pause');
  await list.close();
}

/** The live dashboard updates by itself and has all actions of a running sale. */
async function runIt(visitor, shopper, sale) {
  const { page, labels } = visitor;
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
  await page.evaluate(() => { globalThis.notReloaded = true; });
  await shopper.button(shopper.labels.buy).click();
  await shopper.page.locator('main[data-status="unpaid"]').waitFor();
  await eventually('the request is counted', async () => (await asked()) > before);
  await reads('stock.sold', '1');
  await reads('orders.unpaid', '1');
  same(await page.evaluate(() => globalThis.notReloaded), true, 'the dashboard was reloaded');
  await visitor.inspect('admin-cockpit');
  await visitor.switchLanguage();
  await shopper.go(`/sales/${sale}`);
  await phase(shopper, 'open');

  await confirmAction(visitor, panel, labels.pause);
  await state('paused');
  await phase(shopper, 'paused');
  await resumeByKey(visitor, state);
  await phase(shopper, 'open');
  await pauseRowByKey(visitor, sale);
  await phase(shopper, 'open');
  await confirmAction(visitor, panel, labels.topUp, 'admin-top-up', async (dialog) => {
    await dialog.getByLabel(labels.units).fill('7');
  });
  await reads('stock.total', '10');
  await eventually('the shopper sees it', async () => /9/.test(await shopper.slot('left').textContent()));
  await confirmAction(visitor, panel, labels.stop, 'admin-stop', async (dialog) => {
    await dialog.locator('input[name="typed"]').fill(sale);
  });
  await state('ended');
  same(await panel.getByRole('button').count(), 0, 'an ended sale has no actions');
  await phase(shopper, 'ended');
  await shopper.button(shopper.labels.seeOrder).waitFor();
}

function phase(shopper, name) {
  return shopper.page.locator(`.clock[data-phase="${name}"]`).waitFor({ timeout: 30_000 });
}
