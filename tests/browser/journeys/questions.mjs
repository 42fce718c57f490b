// A question about a product, without scripts: a visitor types it, logs in and finds it again, staff answer it, and the
// product's page shows it. A second question is withdrawn.

import { eventually, ok, same } from '../lib/check.mjs';
import { PASSWORD } from '../lib/shop.mjs';

const WORDS = {
  zh: { question: '电池可以更换吗？', answer: '可以，\n送到任意门店即可。', other: '有别的颜色吗？' },
  en: { question: 'Can the battery be replaced?', answer: 'Yes, at any of our shops.\nIt takes an hour.', other: 'Is there another color?' },
};

export default async function questions(run) {
  const { shop } = run;
  const sale = await shop.openSale();
  // Other runs ask about the same product.
  const words = { ...WORDS[run.locale], question: `${WORDS[run.locale].question} (${sale})` };
  const visitor = await run.visit({ scripts: false });
  visitor.expect(422, /\/questions$/);
  await ask(visitor, sale, words);
  await withdraw(visitor, sale, words);
  const staff = await run.visit();
  await staff.logInAs(shop.admin);
  await answer(staff, words);
  await read(visitor, sale, words);
  await hideAndUndo(staff, words);
}

async function ask(visitor, sale, words) {
  const { page, labels, shop } = visitor;
  const account = await shop.register();
  await visitor.go(`/sales/${sale}`);
  await page.locator('#questions').scrollIntoViewIfNeeded();
  await page.locator('#question').fill(`  ${' '.repeat(5)}x `);
  await page.locator('.ask-form button').click();
  same(await page.locator('#question').getAttribute('aria-invalid'), 'true');
  await visitor.inspect('question-refused');
  await page.locator('#question').fill(words.question);
  await page.locator('.ask-form button').click();
  await page.waitForURL(visitor.path('/login?next=*'));
  await visitor.fillCredentials(account.username, PASSWORD);
  await visitor.button(labels.logIn).click();
  await page.waitForURL(visitor.path(`/sales/${sale}/questions`));
  same(await page.locator('#question').inputValue(), words.question);
  await visitor.inspect('question-kept');
  await page.locator('.ask-form button').click();
  await page.waitForURL(visitor.path('/questions?done=asked'));
  await visitor.inspect('questions-asked');
}

async function withdraw(visitor, sale, words) {
  const { page } = visitor;
  await visitor.go(`/sales/${sale}`);
  await page.locator('#question').fill(words.other);
  await page.locator('.ask-form button').click();
  await page.waitForURL(visitor.path('/questions?done=asked'));
  const own = page.locator('.own-questions > li').filter({ hasText: words.other });
  await own.locator('summary').click();
  await visitor.inspect('question-withdrawing');
  await own.locator('form button:not([hidden])').click();
  await page.waitForURL(visitor.path('/questions?done=withdrawn'));
  same(await page.locator('.own-questions > li').count(), 1);
}

async function answer(staff, words) {
  const { page } = staff;
  await staff.goAdmin('/questions');
  const asked = page.locator('.questions-to-answer > li').filter({ hasText: words.question }).first();
  await asked.locator('textarea').fill(words.answer);
  await staff.inspect('admin-questions');
  await asked.locator('button').first().click();
  await page.waitForURL('**/admin/questions?*done=answer*');
  await page.getByRole('status').first().waitFor();
}

async function read(visitor, sale, words) {
  const { page } = visitor;
  await visitor.go('/questions');
  await page.locator('blockquote').first().waitFor();
  await visitor.inspect('questions-answered');
  await eventually('the page of the product shows the answer', async () => {
    await visitor.go(`/sales/${sale}`);
    return page.locator('.answers .asked').filter({ hasText: words.question }).first().isVisible();
  });
  const shown = page.locator('.answers > li').filter({ hasText: words.question });
  same(await shown.locator('.answered bdi').innerText(), words.answer);
  await page.locator('#questions').scrollIntoViewIfNeeded();
  await visitor.inspect('sale-answered');
}

async function hideAndUndo(staff, words) {
  const { page } = staff;
  await page.goto(`/admin/questions?lang=${staff.locale}&status=answered`);
  const asked = page.locator('.questions-to-answer > li').filter({ hasText: words.question }).first();
  await asked.locator('.actions button').click();
  await page.waitForURL('**/admin/questions?*done=hide*');
  await staff.inspect('admin-question-hidden');
  await page.locator('.undo button').click();
  await page.waitForURL('**/admin/questions?*done=unhide*');
  ok(await page.getByRole('status').first().isVisible(), 'the console says that it is shown again');
}
