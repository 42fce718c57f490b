// A sale by draw: entries by page and by form, a receipt, an exclusion by the staff, the draw while pages wait for it,
// an order that is paid, and the proof. The browser checks the proof, and finds it broken with a list that is not the
// draw's.

import { exampleAddress, typeAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';
import { confirmAction } from '../lib/console.mjs';
import { GOODS } from '../lib/shop.mjs';

/** Time in which all pages can enter. */
const OPEN_MS = 40_000;
/** Seconds between the closing and the lock. The round comes after as many again. */
const REVIEW_S = 5;
const DRAWN_TIMEOUT_MS = 60_000;

const WORDS = {
  zh: { enter: '立即报名', entered: /已报名/, won: /恭喜中签/, order: '查看订单', exclude: '排除', excluded: /已被排除：程序报名/, dryRun: '开始演练', check: '开始验证', holds: /全部相符/, broken: /有不相符之处/, rank: /你的报名排第 \d+ 名，共 3 个报名/, missing: /没有这个报名编号/ },
  en: { enter: 'Enter now', entered: /You have entered/, won: /You have won/, order: 'View order', exclude: 'Exclude', excluded: /was excluded: a program entered/, dryRun: 'Start a dry run', check: 'Check now', holds: /All of it holds/, broken: /Something does not hold/, rank: /Your entry is number \d+ of 3 entries/, missing: /This entry is not in the list/ },
};

export default async function draw(run) {
  const { shop } = run;
  const words = WORDS[run.locale];
  const sale = await shop.newSale({ goods: GOODS.sneakers, total: 3, opensIn: 1000, closesIn: OPEN_MS, reviewS: REVIEW_S });
  await shop.shows(sale, 'open');
  const visitor = await (await run.visit()).logInAsNewUser();
  const quiet = await (await run.visit({ scripts: false })).logInAsNewUser();
  const [other, script] = await Promise.all([shop.register(), shop.register()]);
  await Promise.all([other, script].map((account) => account.ask('POST', `/api/sales/${sale}/entry`)));

  await find(visitor, sale);
  await enter(visitor, sale, words);
  await enter(quiet, sale, words);
  await visitor.go(`/sales/${sale}/draw`);
  await visitor.inspect('draw-announced');
  await exclude(run, sale, script, words);
  await visitor.go(`/sales/${sale}/entry`);
  await win(visitor, words);
  await leadsWinnerToOrder(visitor, sale);
  await pay(visitor, words);
  await prove(visitor, sale, words);
  await readWithoutScripts(quiet, sale, words);
  const loser = await (await run.visit()).logInAs(script);
  await loser.go(`/sales/${sale}/entry`);
  await loser.page.getByText(words.excluded).waitFor();
}

/** The card says that it is a draw, until when it takes entries, and nothing about stock. */
async function find(visitor, sale) {
  const card = await visitor.findOnList(sale);
  await eventually('its card counts down', async () => /\d\d:\d\d:\d\d/.test(await card.locator('[data-slot="live"]').textContent()));
  same(await card.locator('progress').count(), 0);
  await visitor.inspect('draw-list');
  await card.getByRole('link').click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}`));
}

async function enter(visitor, sale, words) {
  const { page, scripts } = visitor;
  await visitor.go(`/sales/${sale}`);
  if (scripts) await eventually('a countdown to the closing', async () => /\d\d:\d\d:\d\d/.test(await visitor.slot('until').textContent()));
  ok((scripts ? /^\d\d:\d\d$/ : / \d\d:\d\d$/).test(await visitor.slot('result').locator('time').textContent()), 'when the result comes');
  const calendar = await page.request.get(await visitor.slot('result').locator('a').getAttribute('href'));
  same([calendar.status(), calendar.headers()['content-type']], [200, 'text/calendar; charset=utf-8']);
  await visitor.inspect(scripts ? 'draw-sale' : 'draw-sale-no-script');
  await visitor.button(words.enter).click();
  await page.waitForURL(visitor.path(`/sales/${sale}/entry`));
  await page.getByText(words.entered).waitFor();
  same(await page.locator('details code').count(), 2, 'the number of the entry and its receipt, behind one link');
  await visitor.inspect(scripts ? 'draw-entry' : 'draw-entry-no-script');
  await visitor.switchLanguage();
}

/** Staff try the draw out and exclude an entry. */
async function exclude(run, sale, account, words) {
  const staff = await (await run.visit()).logInAs(run.shop.admin);
  const { page } = staff;
  await staff.goAdmin(`/sales/${sale}/draw`);
  await staff.button(words.dryRun).click();
  await page.locator('[role="status"] ol li').nth(3).waitFor();
  await staff.inspect('admin-draw');
  const row = page.locator('tr', { has: page.getByText(account.username, { exact: true }) });
  await confirmAction(staff, row, words.exclude, 'admin-draw-exclude', (dialog) => dialog.locator('select').selectOption('automated'));
}

/** The page follows the draw by itself. */
async function win({ page }, words) {
  await page.getByText(words.won).waitFor({ timeout: DRAWN_TIMEOUT_MS });
}

/** The page of the sale says so too, until the order is paid. */
async function leadsWinnerToOrder(visitor, sale) {
  const { page } = visitor;
  await visitor.go(`/sales/${sale}`);
  const link = page.locator('[data-slot="won"] a');
  await link.waitFor();
  ok(/\/orders\/\d+\/[0-9a-f-]+$/.test(await link.getAttribute('href')), 'it leads to the order');
  await visitor.slot('until').filter({ hasText: '3' }).waitFor();
  ok(!(await visitor.slot('result').isVisible()), 'the result is there');
  await visitor.inspect('draw-sale-won');
  await visitor.go(`/sales/${sale}/entry`);
}

async function pay(visitor, words) {
  const { page, labels } = visitor;
  await visitor.inspect('draw-won');
  visitor.expect(422, /\/pay$/);
  await visitor.button(words.order).or(visitor.link(words.order)).first().click();
  await page.locator('main[data-status="unpaid"]').waitFor();
  await visitor.button(labels.pay).click();
  await typeAddress(visitor, exampleAddress(visitor));
  await page.locator('button[name=then][value=pay]').click();
  await page.waitForURL('/sandbox/cashier/*');
  await visitor.button(labels.payAtCashier).click();
  await page.locator('main[data-status="paid"]').waitFor();
}

/** The check finds the account's rank, misses an entry that does not exist, and notices a list without one of its lines. */
async function prove(visitor, sale, words) {
  const { page } = visitor;
  const verdict = visitor.slot('verdict');
  const check = () => visitor.button(words.check).click();
  await visitor.go(`/sales/${sale}/draw`);
  await check();
  await verdict.filter({ hasText: words.holds }).waitFor();
  await visitor.slot('rank').filter({ hasText: words.rank }).waitFor();
  same(await page.locator('.findings [data-holds="true"]').count(), 8);
  await visitor.inspect('draw-proof');
  await page.locator('#entry').fill('0'.repeat(32));
  await check();
  await visitor.slot('rank').filter({ hasText: words.missing }).waitFor();
  await page.route('**/draw/entries.csv', async (route) => {
    const lines = (await (await route.fetch()).text()).split('\n');
    await route.fulfill({ body: lines.filter((_, n) => n !== 1).join('\n') });
  });
  await check();
  await verdict.filter({ hasText: words.broken }).waitFor();
  await visitor.inspect('draw-proof-broken');
  await visitor.switchLanguage();
}

async function readWithoutScripts(visitor, sale, words) {
  const { page } = visitor;
  await visitor.go(`/sales/${sale}/entry`);
  await page.getByText(words.won).waitFor();
  await visitor.go(`/sales/${sale}/draw`);
  same(await page.locator('a[download]').count(), 2);
  ok(!(await visitor.slot('check').isVisible()), 'the check needs scripts');
  await visitor.inspect('draw-proof-no-script');
}
