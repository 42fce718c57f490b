// A shopper filters sales by category and chooses a variant; staff create, rename, order and delete categories. The demo's goods have some.

import { eventually, ok, same } from '../lib/check.mjs';
import { isConfirmed } from '../lib/console.mjs';
import { newName } from '../lib/shop.mjs';

const WORDS = {
  zh: { electronics: '数码', red: '珊瑚红', green: '冷杉绿', kitchen: '厨房', all: '全部', rename: '改名', remove: '删除', create: '创建', nothing: '这个分类暂时没有在售的商品。' },
  en: { electronics: 'Electronics', red: 'Coral red', green: 'Fir green', kitchen: 'Kitchen', all: 'All', rename: 'Rename', remove: 'Delete', create: 'Create', nothing: 'Nothing in this category is on sale right now.' },
};

export default async function categories(run) {
  const words = WORDS[(await run.visit()).locale];
  await filter(await run.visit(), words);
  await chooseVariant(await run.visit(), words);
  await manage(await (await run.visit()).logInAs(run.shop.admin), run.shop, words);
}

async function filter(visitor, words) {
  const { page } = visitor;
  await visitor.go('/');
  await visitor.inspect('categories-home');
  const bar = page.locator('nav.categories');
  const cards = () => page.locator('.card').count();
  const all = await cards();
  await bar.getByRole('link', { name: words.kitchen, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: words.kitchen }).waitFor();
  ok(await cards() > 0 && await cards() < all, 'a category shows some of the cards');
  same(await bar.locator('[aria-current]').textContent(), words.kitchen);
  await visitor.switchLanguage();
  await visitor.inspect('categories-one');

  await page.locator('.card .name a').first().click();
  await page.locator('.breadcrumb').getByRole('link', { name: words.kitchen }).waitFor();
  await visitor.inspect('categories-detail');
  await page.locator('.breadcrumb').getByRole('link', { name: words.kitchen }).click();
  await page.getByRole('heading', { level: 1, name: words.kitchen }).waitFor();
  await bar.getByRole('link', { name: words.all, exact: true }).click();
  await page.waitForURL((url) => url.pathname === visitor.path('/'));

  await visitor.go('/archive');
  await bar.getByRole('link', { name: words.electronics, exact: true }).click();
  await page.waitForURL(/category=1/);
  await visitor.inspect('categories-archive');
  visitor.expect(404, /\/categories\/999$/);
  await visitor.go('/categories/999');
  await visitor.inspect('categories-unknown');
}

async function chooseVariant(visitor, words) {
  const { page } = visitor;
  await visitor.go('/');
  await page.getByRole('link', { name: { zh: '晨光意式咖啡机', en: 'Daybreak espresso machine' }[visitor.locale], exact: true }).first().click();
  const chosen = page.locator('.variants [aria-current]');
  same((await chosen.locator('strong').textContent()).trim(), words.red);
  const first = page.url();
  await page.locator('.variants').getByRole('link', { name: words.green }).click();
  await page.waitForURL((url) => url.href !== first);
  same((await chosen.locator('strong').textContent()).trim(), words.green);
  await visitor.inspect('variants-detail');
  await page.locator('.variants').getByRole('link', { name: words.red }).click();
  await page.waitForURL(first);
}

async function manage(visitor, shop, words) {
  const { page } = visitor;
  const name = newName();
  visitor.expect(422, /\/goods\/categories$/);
  await visitor.goAdmin('/goods');
  await visitor.inspect('categories-goods-list');
  await visitor.goAdmin('/goods/categories');
  await page.locator('#name_en').fill(name);
  await visitor.button(words.create).click();
  await page.getByRole('alert').or(page.locator('[aria-invalid]')).first().waitFor();
  await visitor.inspect('categories-console-wrong');
  same(await page.locator('#name_en').inputValue(), name, 'what was entered stays');
  await page.locator('#name_zh').fill(`分类-${name}`);
  await visitor.button(words.create).click();
  await isConfirmed(visitor);
  await visitor.inspect('categories-console');

  const row = page.locator('[data-category]').filter({ hasText: name });
  const id = await row.getAttribute('data-category');
  await eventually('the category has a page', async () => (await fetch(`${shop.origin}/en/categories/${id}`)).ok);
  const shopper = await visitor.tab();
  await shopper.goto(visitor.path(`/categories/${id}`));
  await shopper.getByText(words.nothing).waitFor();
  await visitor.inspect('categories-empty', shopper);
  await shopper.close();

  await row.getByRole('button', { name: words.rename }).click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  await visitor.inspect('categories-console-rename');
  await dialog.locator('[name="name_en"]').fill(`${name}-2`);
  await dialog.getByRole('button', { name: visitor.labels.save }).click();
  await isConfirmed(visitor);
  await row.getByRole('button', { name: words.remove }).click();
  await dialog.getByRole('button', { name: words.remove }).click();
  await isConfirmed(visitor);
  same(await row.count(), 0);
}
