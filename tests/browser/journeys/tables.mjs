// The console's lists as tools: sorted, narrowed, saved as a view, acted on by keys and in batches, searched with the palette.

import { eventually, ok, same } from '../lib/check.mjs';
import { GOODS, newName } from '../lib/shop.mjs';

const COUNT = 4;

export default async function tables(run) {
  const { shop } = run;
  const sale = await shop.openSale({ goods: GOODS.sneakers, total: 30, limit: 2 });
  const shoppers = [];
  const orders = [];
  for (let n = 0; n < COUNT; n += 1) {
    shoppers.push(await shop.register());
    orders.push((await shoppers[n].buy(sale, 1 + (n % 2))).id);
  }
  const visitor = await (await run.visit()).logInAs(shop.admin);
  const list = `/admin/orders?lang=${visitor.locale}&sale=${sale}`;
  await sortsAndNarrows(visitor, list, orders);
  await changesTheDensity(visitor, list);
  await savesAView(visitor, list, `#${sale}`);
  await holdsByKeys(visitor, list, orders);
  await listsItsKeys(visitor);
  await findsWithThePalette(visitor, shoppers[0].username);
  for (const path of ['/log', '/calendar', '/users', '/packets']) {
    await visitor.goAdmin(path);
    await visitor.inspect(`tables${path.replace('/', '-')}`);
  }
  await actsWithoutScripts(run, list, orders);
  await pausesSales(run, visitor);
}

const ids = (page) => page.locator('input[name="id"]').evaluateAll((boxes) => boxes.map((box) => box.value));

async function sortsAndNarrows({ page }, list, orders) {
  await page.goto(list);
  same(await ids(page), orders.toReversed(), 'newest first');
  ok((await page.locator('.totals').textContent()).includes(String(COUNT)), 'the search is summed up');
  await page.locator('.sort').click();
  await page.locator('th[aria-sort="ascending"]').waitFor({ state: 'attached' });
  same(await ids(page), orders, 'oldest first');
  const before = await page.locator('.dense thead th').count();
  await page.locator('.columns summary').click();
  await page.locator('.columns a').first().click();
  await page.waitForURL(/hide=status/);
  same(await page.locator('.dense thead th').count(), before - 1, 'a column is left out');
}

/** Compact rows show more at once, without another load, and stay so in this browser. */
async function changesTheDensity(visitor, list) {
  const { page } = visitor;
  await page.goto(list);
  await page.locator('[data-all]').waitFor();
  const row = page.locator('.dense tbody tr').first();
  const choose = async (value) => {
    await page.locator(`.density [value="${value}"]`).focus();
    await Promise.all([page.waitForResponse('**/admin/density?*'), page.keyboard.press('Enter')]);
    same(await page.locator(`.density [value="${value}"]`).getAttribute('aria-pressed'), 'true');
  };
  const { height } = await row.boundingBox();
  await row.locator('input').check();
  await choose('compact');
  ok((await row.boundingBox()).height <= 0.9 * height, 'rows are lower');
  same(await page.locator('input[name="id"]:checked').count(), 1, 'what is ticked stays');
  await page.reload();
  await page.locator('main[data-density="compact"]').waitFor();
  await visitor.inspect('tables-compact');
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 844 });
  await fitsFingers(page, row);
  const compact = (await row.boundingBox()).height;
  await choose('comfortable');
  ok(compact <= 0.9 * (await row.boundingBox()).height, 'rows are lower on a phone, too');
  await page.setViewportSize(size);
}

/** On a phone a finger meets the box and the link of a compact row. */
async function fitsFingers(page, row) {
  for (const part of ['.density button', '.dense tbody tr', '.dense tbody .pick']) {
    const box = await page.locator(part).first().boundingBox();
    ok(box.width >= 44 && box.height >= 44, `${part} of ${box.width} × ${box.height}`);
  }
  await row.scrollIntoViewIfNeeded();
  const at = await row.evaluate((element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return [left + 40, right - 4].map((x) => document.elementFromPoint(x, bottom - 4 - (bottom - top) / 2).tagName);
  });
  same(at, ['INPUT', 'A'], 'what a finger meets at the edges of a row');
}

async function savesAView(visitor, list, name) {
  const { page } = visitor;
  await page.goto(list);
  await visitor.inspect('tables-orders');
  await page.locator('.view-bar summary').first().click();
  await page.locator('dialog[open] input[name="name"]').fill(name);
  await page.locator('dialog[open] button:not([data-close])').click();
  await page.locator('.success').waitFor();
  const chip = page.locator('.view-bar nav a[aria-current]');
  same(await chip.textContent(), name, 'the view is the one that is open');
  await page.goto(`/admin/orders?lang=${visitor.locale}`);
  await page.locator('.view-bar nav a', { hasText: name }).click();
  await page.locator('.totals').waitFor();
  same((await ids(page)).length, COUNT, 'the view opens its filter');
  await page.locator('.manage > summary').click();
  await visitor.inspect('tables-views');
  await page.locator('.one-view', { has: page.locator(`input[value="${name}"]`) }).locator('[formaction]').click();
  await page.locator('.success').waitFor();
  same(await page.locator('.view-bar nav a', { hasText: name }).count(), 0, 'the view is gone');
}

/** Moves with j and k, ticks with x, holds two orders and undoes it. */
async function holdsByKeys(visitor, list, orders) {
  const { page } = visitor;
  await page.goto(list);
  await page.locator('[data-all]').waitFor();
  for (const key of ['j', 'x', 'j', 'x', 'k']) await page.keyboard.press(key);
  same(await page.locator('input[name="id"]:checked').evaluateAll((boxes) => boxes.map((box) => box.value)), orders.toReversed().slice(0, 2));
  await page.locator('button[value="hold"]').click();
  await page.locator('#reason').fill('one address');
  await visitor.inspect('tables-bulk');
  await page.locator('main form[data-once] button').click();
  await page.locator('.success').waitFor();
  await visitor.inspect('tables-bulk-done');
  same(await page.locator('.outcome[data-mood="good"]').count(), 2);
  await page.locator('button[value="release"]').click();
  same(await page.locator('.outcome[data-mood="good"]').count(), 2, 'both can be released');
}

/** The list of keys comes and goes by a key or its button, and not while something is typed. */
async function listsItsKeys(visitor) {
  const { page } = visitor;
  const list = page.locator('#shortcuts');
  await page.goto(`/admin/users?lang=${visitor.locale}`);
  await eventually('the keys are listed', async () => {
    await page.keyboard.press('?');
    return list.isVisible();
  });
  await visitor.inspect('tables-keys');
  await page.keyboard.press('?');
  await list.waitFor({ state: 'hidden' });
  if (visitor.width < 500) return;
  await page.locator('.quick input:visible').first().focus();
  await page.keyboard.press('?');
  ok(await list.isHidden(), 'a field gets the key');
  await page.locator('[data-shortcuts]').click();
  await page.keyboard.press('Escape');
  await list.waitFor({ state: 'hidden' });
}

async function findsWithThePalette(visitor, username) {
  const { page } = visitor;
  await page.goto(`/admin/users?lang=${visitor.locale}`);
  await eventually('the palette opens', async () => {
    if (await page.locator('dialog.palette[open]').count()) return true;
    await page.keyboard.press('Control+k');
    return false;
  });
  await page.locator('.palette [role="option"]').first().waitFor();
  await visitor.inspect('tables-palette');
  const failed = await page.locator('[data-palette]').getAttribute('data-failed');
  visitor.expect(503, /\/search\.json$/);
  await page.route('**/search.json?*', (route) => route.fulfill({ status: 503 }));
  await page.keyboard.type('?');
  await page.locator('.palette', { hasText: failed }).waitFor();
  await page.unroute('**/search.json?*');
  await page.keyboard.press('Backspace');
  await page.keyboard.type(username);
  await page.locator('.palette strong', { hasText: username }).waitFor();
  // Hits for the beginning of the text may come first.
  await eventually('the hits are of the whole text', async () => (await page.locator('.palette [role="option"]').count()) === 1);
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/admin\/users\/[0-9a-f-]{36}/);
  ok((await page.locator('h1').textContent()).includes(username));
}

async function actsWithoutScripts(run, list, orders) {
  const visitor = await (await run.visit({ scripts: false })).logInAs(run.shop.admin);
  const { page } = visitor;
  await page.goto(list);
  await page.locator('.density [value="compact"]').click();
  await page.locator('main[data-density="compact"]').waitFor();
  same(page.url(), new URL(list, page.url()).href, 'the list is the same');
  await visitor.inspect('tables-no-script-orders');
  await page.locator(`input[value="${orders[0]}"]`).check();
  await page.locator('button[value="cancel"]').click();
  await page.locator('#reason').fill('asked by phone');
  await page.locator('main form[data-once] button').click();
  same(await page.locator('.outcome[data-mood="good"]').count(), 1, 'cancelled');
  await page.locator('.find').click();
  await page.locator('input[name="q"]').fill(orders[1]);
  await page.locator('main form button').click();
  await page.locator('.hits a').click();
  await page.waitForURL(`**/admin/orders/${orders[1]}?*`);
}

/** Pauses two sales, undoes that, and stops them without scripts. */
async function pausesSales(run, visitor) {
  const { shop, locale } = run;
  const name = newName();
  const { goods } = await shop.admin.ask('POST', '/api/admin/goods', { name: { zh: name, en: name }, description: { zh: '', en: '' } });
  const sales = [];
  for (const total of [3, 4]) sales.push(await shop.openSale({ goods: goods.id, total }));
  const list = `/admin?lang=${locale}&q=${name}`;
  const { page } = visitor;
  const states = async () => Promise.all(sales.map(async (sale) => (await shop.admin.ask('GET', `/api/admin/sales/${sale}`)).sale.state));
  const goAhead = async (by) => {
    await by.locator('main form[data-once] button').click();
    await by.locator('.success').waitFor();
    same(await by.locator('.outcome[data-mood="good"]').count(), 2);
  };
  await page.goto(list);
  await page.locator('[data-all]').check();
  same((await ids(page)).toSorted(), sales.toSorted());
  await visitor.inspect('tables-sales-picked');
  await page.locator('button[value="pause"]').click();
  await visitor.inspect('tables-sales-pause');
  await goAhead(page);
  same(await states(), ['paused', 'paused']);
  await visitor.inspect('tables-sales-paused');
  await page.locator('button[value="resume"]').click();
  await goAhead(page);
  same(await states(), ['live', 'live']);

  const plain = await (await run.visit({ scripts: false })).logInAs(shop.admin);
  await plain.page.goto(list);
  for (const sale of sales) await plain.page.locator(`input[value="${sale}"]`).check();
  await plain.page.locator('button[value="stop"]').click();
  await plain.page.locator('#typed').fill('2');
  await plain.inspect('tables-sales-stop');
  await goAhead(plain.page);
  same(await states(), ['ended', 'ended']);
}
