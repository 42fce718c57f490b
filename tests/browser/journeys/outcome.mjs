// What shoppers see who got a unit or none, the sessions of the list, the archive, and the fields for passwords.

import { eventually, ok, same } from '../lib/check.mjs';
import { GOODS } from '../lib/shop.mjs';

const WORDS = {
  zh: {
    number: (n) => `第 ${n} 位抢到`, buy: '立即抢购', remind: '提醒我', show: '显示密码', one: '搜索',
    day: /^(\d+年)?\d+月\d+日 \d\d:\d\d 开抢$/, days: /^距开抢 2天 \d\d:\d\d$/,
    product: '极光', nothing: '没有符合条件的场次', close: /^你在开抢后.+按下，最后一件在.+内被抢走。$/,
  },
  en: {
    number: (n) => `No. ${n}`, buy: 'Buy now', remind: 'Remind me', show: 'Show password', one: 'Search',
    day: /^Starts \w{3} \d+(, \d+)? \d\d:\d\d$/, days: /^Starts in 2 days \d\d:\d\d$/,
    product: 'aurora', nothing: 'No matching sales', close: /^You pressed .+ after the opening\. The last one was gone within .+\.$/,
  },
};

export default async function outcome(run) {
  const words = WORDS[run.locale];
  await win(run, words);
  await lose(run);
  await loseByAMoment(run, words);
  await sessions(run, words);
  await archive(run, words);
  await passwords(run, words);
  await goods(run);
}

/** The poster says the true number, and the ring shrinks with the time to pay. */
async function win(run, words) {
  const sale = await run.shop.openSale({ total: 3 });
  await (await run.shop.register()).buy(sale);
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page } = visitor;
  const order = await visitor.account.buy(sale);
  await visitor.go(`/orders/${sale}/${order.id}`);
  await page.locator('main[data-status="unpaid"]').waitFor();
  same(await page.locator('.win .number b').textContent(), words.number(2));
  same(await page.locator('.win form.pay button.big:not(.outline)').count(), 1, 'one button');
  const share = async () => parseFloat(await page.locator('.ring .rest').getAttribute('stroke-dasharray'));
  const first = await share();
  ok(first > 90 && first <= 100, `${first} % of the time is left`);
  await eventually('the ring shrinks', async () => (await share()) < first);
  await visitor.inspect('won');
  await decline(visitor, { order, sale });
  await visitor.account.pay(order);
  await visitor.go(`/orders/${sale}/${order.id}`);
  await page.locator('main[data-status="paid"]').waitFor();
  await page.locator('.order .steps a[href$="/address"]').waitFor();
  ok(await page.locator('#onward a').first().isVisible(), 'further sales');
  await visitor.inspect('paid');
  await showOff(visitor);
}

/** The product, "got it" and the shop as a picture, to be stored, and sent where the device can. */
async function showOff(visitor) {
  const { page } = visitor;
  await page.evaluate(() => {
    navigator.canShare = ({ files }) => files[0].type === 'image/png';
    navigator.share = async ({ files, text }) => { window.shared = [files[0].name, files[0].size > 10_000, text]; };
  });
  await page.locator('[data-win]').click();
  const dialog = page.locator('dialog.poster');
  await dialog.getByRole('img').waitFor();
  const number = await page.locator('.facts bdi').first().textContent();
  same(await dialog.locator('[download]').getAttribute('download'), `${number}.png`);
  await visitor.inspect('win-picture');
  await dialog.locator('[data-send]').click();
  const [name, isPainted, text] = await page.evaluate(() => window.shared);
  same([name, isPainted, /^.+ · .+ http.+\/sales\/\d+$/.test(text)], [`${number}.png`, true, true]);
  await dialog.locator('[data-close]').click();
  await dialog.waitFor({ state: 'hidden' });
}

/** The order and the list show that the provider declined a payment. */
async function decline(visitor, { order, sale }) {
  const { account, page } = visitor;
  const { payment } = await account.ask('POST', `/api/sales/${sale}/orders/${order.id}/payments`);
  await fetch(`${account.origin}/sandbox/cashier/${payment.id}/decline`, { method: 'POST', redirect: 'manual' });
  // The provider reports it by webhook, and the page loads itself again.
  await page.locator('.win [role="alert"]').waitFor();
  await visitor.inspect('declined');
  await visitor.go('/orders');
  const status = page.locator('.orders li').filter({ has: page.locator(`a[href$="${sale}/${order.id}"]`) }).locator('.status');
  ok(/·/.test(await status.textContent()), 'the list tells it');
}

/** A sold-out sale leads on, and so does an order that came to nothing. */
async function lose(run) {
  const { shop } = run;
  const [sale, again] = [await shop.openSale({ goods: GOODS.espresso, total: 1 }), await shop.newSale({ goods: GOODS.espresso, opensIn: 7_200_000 })];
  await shop.shows(again, 'upcoming');
  const winner = await shop.register();
  const order = await winner.buy(sale);
  const visitor = await run.visit();
  const { page } = visitor;
  await visitor.go(`/sales/${sale}`);
  await page.locator('.clock[data-phase="sold_out"]').waitFor();
  await page.locator('.again a').click();
  ok(await page.locator('#onward a').first().isVisible());
  ok((await page.locator('.again a').getAttribute('href')) === '#onward');
  await visitor.inspect('lost-sale');
  await winner.ask('POST', `/api/sales/${sale}/orders/${order.id}/cancel`);
  const loser = await (await run.visit()).logInAs(winner);
  await loser.go(`/orders/${sale}/${order.id}`);
  await loser.page.locator(`.still a[href$="/sales/${sale}/waitlist"]`).waitFor();
  ok(await loser.page.locator('#onward a').count() > 0, 'no dead end');
  await loser.inspect('lost-order');
}

/** Who pressed and got nothing has a verdict that stays, with numbers, one way on, and the next sale with its reminder. */
async function loseByAMoment(run, words) {
  const { shop } = run;
  // Goods of its own, so that no sale of another journey comes first.
  const { goods: { id: goods } } = await shop.admin.ask('POST', '/api/admin/goods', { name: { zh: '云步跑鞋', en: 'Cloudstep sneakers' }, description: { zh: '', en: '' } });
  const next = await shop.newSale({ goods, opensIn: 7_200_000 });
  await shop.shows(next, 'upcoming');
  const winner = await shop.register();
  const gone = await shop.openSale({ goods, total: 1 });
  await winner.buy(gone);
  const sale = await shop.openSale({ goods, total: 1 });
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page } = visitor;
  visitor.expect(409, /\/orders$/);
  const further = (id) => page.locator(`#onward [data-next="${id}"]`);
  await eventually('the page knows both', async () => {
    await visitor.go(`/sales/${sale}`);
    return (await further(gone).count()) * (await further(next).count());
  });
  await page.locator('[data-slot="button"][aria-disabled="false"]').waitFor();
  same(await visitor.slot('lost').isVisible(), false, 'nobody has lost yet');
  let order;
  // Another shopper is faster, while this request is on its way.
  await page.route('**/api/sales/*/orders', async (route) => {
    order = await winner.buy(sale);
    await route.continue();
  }, { times: 1 });
  await visitor.slot('button').click();
  const title = page.locator('#lost-title');
  await title.waitFor();
  same(await page.evaluate(() => document.activeElement.id), 'lost-title', 'a screen reader begins here');
  const says = () => visitor.slot('lost-when').textContent();
  await eventually('it says how close it was', async () => words.close.test(await says()));
  const main = page.locator('main > :visible');
  same([await main.count(), await page.locator('.lost .big:visible').count()], [1, 1], 'one stage with one button');
  await further(next).waitFor();
  same(await further(gone).isVisible(), false, 'a sale that is sold out is no next one');
  await visitor.inspect('lost');
  const before = await says();
  for (let polls = 0; polls < 2; polls += 1) await page.waitForResponse(/\/button$/);
  same([await title.isVisible(), await says()], [true, before], 'it stays');
  await page.reload();
  await title.waitFor();
  same(await says(), before, 'also when the page is loaded again');
  const remind = page.locator('[data-remind]:visible').first();
  visitor.expect(503, /\/reminder$/);
  await page.route('**/reminder', (route) => route.fulfill({ status: 503 }), { times: 1 });
  await remind.press('Enter');
  await page.locator('[data-slot="onward-failed"]:visible').waitFor();
  same(await remind.getAttribute('aria-pressed'), 'false', 'the shop did not store it');
  await remind.press('Enter');
  await page.locator('[data-remind][aria-pressed="true"]:focus').waitFor();
  const reminded = await remind.getAttribute('data-remind');
  ok((await visitor.account.ask('GET', `/api/sales/${reminded}/reminder`)).set, 'the shop reminds');
  await page.locator('.chance .big:visible').click();
  await page.waitForURL(visitor.path(`/sales/${sale}/waitlist`));
  same((await visitor.account.ask('GET', `/api/sales/${sale}/waitlist`)).waitlist.state, 'waiting');
  await visitor.account.ask('DELETE', `/api/sales/${sale}/waitlist`);
  await visitor.go(`/sales/${sale}`);
  await winner.ask('POST', `/api/sales/${sale}/orders/${order.id}/cancel`);
  await visitor.slot('lost-again').locator('.big').click();
  await page.locator('main[data-status="unpaid"]').waitFor();
  await shop.act(sale, 'stop');
}

/** Tabs lead to sessions, and a card says what can be done. */
async function sessions(run, words) {
  const { shop } = run;
  const rush = await shop.openSale({ goods: GOODS.sneakers, total: 9 });
  const draw = await shop.newSale({ goods: GOODS.headphones, opensIn: 7_200_000, closesIn: 9_000_000, reviewS: 20 });
  const next = await shop.newSale({ goods: GOODS.sneakers, opensIn: 7_200_000 });
  const far = await shop.newSale({ goods: GOODS.espresso, opensIn: 50 * 3_600_000 });
  await shop.shows(far, 'upcoming');
  const visitor = await run.visit();
  const { page } = visitor;
  const card = (sale) => page.locator(`.card[data-sale="${sale}"]`);
  await eventually('the sales are on the list', async () => {
    await visitor.go('/');
    return (await card(draw).count()) + (await card(next).count()) + (await card(far).count()) === 3;
  });
  for (const [sale, action] of [[rush, words.buy], [draw, words.remind], [next, words.remind]]) {
    await eventually(`sale ${sale} invites to ${action}`, async () => (await card(sale).locator('[data-slot="go"]').textContent()) === action);
  }
  const isPhone = page.viewportSize().width < 704;
  await eventually('a card of another day says when', async () => words[isPhone ? 'day' : 'days'].test(await card(far).locator('[data-slot="live"]').textContent()));
  const tabs = page.locator('.sessions [data-tab]:visible');
  ok((await tabs.count()) > 1, 'tabs');
  const last = tabs.last();
  const target = await last.getAttribute('href');
  await last.click();
  await eventually('the tab leads to its session', () => page.locator(target).evaluate((section) => section.getBoundingClientRect().top < innerHeight));
  await visitor.inspect('sessions');
}

/** The search is a form, so it works without scripts. */
async function archive(run, words) {
  const visitor = await run.visit({ scripts: false });
  const { page } = visitor;
  await visitor.go('/archive');
  await page.getByRole('searchbox').fill(words.product);
  await page.getByRole('button', { name: words.one, exact: true }).click();
  await page.waitForURL(/\?q=/);
  const names = await page.locator('.card .name').allTextContents();
  ok(names.length > 0 && names.every((name) => name.toLowerCase().includes(words.product)), `${names}`);
  await visitor.inspect('archive-found');
  await page.getByRole('searchbox').fill('zzz');
  await page.getByRole('button', { name: words.one, exact: true }).click();
  await page.getByText(words.nothing).waitFor();
  const other = await run.visit();
  await other.go('/archive');
  await other.inspect('archive');
}

/** A password can be looked at, the rules that it meets are marked, and its strength is shown. */
async function passwords(run, words) {
  const visitor = await run.visit();
  const { page } = visitor;
  await visitor.go('/register');
  const field = page.locator('#password');
  const button = visitor.button(words.show);
  const strength = () => page.locator('.strength meter').evaluate((meter) => meter.value);
  ok(await page.locator('.strength').isHidden(), 'nothing is typed');
  await field.fill('aaaaaaaaaaaaa');
  const met = () => page.locator('[data-rule][data-met]').evaluateAll((all) => all.map((item) => item.dataset.rule));
  same([await met(), await strength()], [['length'], 1]);
  await field.fill('kq7-mt4v-b9x');
  same(await met(), ['length', 'varied']);
  await page.locator('#username').fill('kq7');
  same([await met(), await strength()], [['length', 'varied'], 2]);
  await field.fill('kq7-mt4v-b9x-and-more');
  same(await strength(), 4);
  await button.click();
  same([await field.getAttribute('type'), await button.getAttribute('aria-pressed')], ['text', 'true']);
  await visitor.inspect('password-shown');
  await button.click();
  same([await field.getAttribute('type'), await button.getAttribute('aria-pressed')], ['password', 'false']);
}

/** A picture opens in its largest copy, with the keys and the pointer. */
async function zoom(visitor) {
  const { page } = visitor;
  const links = page.locator('[data-zoom]');
  await links.first().focus();
  await page.keyboard.press('Enter');
  const box = page.locator('dialog.zoom');
  const image = box.locator('img');
  await eventually('the largest copy has come', async () => (await image.getAttribute('src')) === await links.first().evaluate((link) => link.href));
  await visitor.inspect('zoom');
  await page.keyboard.press('ArrowRight');
  same(await image.getAttribute('alt'), await links.nth(1).locator('img').last().getAttribute('alt'));
  await image.click({ position: { x: 40, y: 40 } });
  ok(await box.evaluate((dialog) => dialog.classList.contains('near') && dialog.scrollWidth > 2 * dialog.clientWidth), 'nearer');
  await page.keyboard.press('Escape');
  await box.waitFor({ state: 'detached' });
  ok(await links.first().evaluate((link) => link === document.activeElement), 'the focus is where it was');
}

/** A description has its specifications, the sale can be passed on, and the shop's own pages are a link away. */
async function goods(run) {
  const { shop } = run;
  const sale = await shop.openSale({ goods: GOODS.phone });
  const visitor = await run.visit();
  const { page } = visitor;
  await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await visitor.go(`/sales/${sale}`);
  ok((await page.locator('.prose table td').count()) >= 2, 'specifications');
  const share = page.locator('[data-share]');
  await share.waitFor();
  if (!await page.evaluate(() => Boolean(navigator.share))) {
    // The journeys of a run share one clipboard.
    await eventually('the address is copied', async () => {
      await share.click();
      const address = await page.evaluate(() => navigator.clipboard.readText());
      return address.endsWith(visitor.path(`/sales/${sale}`));
    });
  }
  await visitor.inspect('goods-in-depth');
  await zoom(visitor);
  const poster = await page.request.get(visitor.path(`/sales/${sale}/poster.svg`));
  same([poster.status(), poster.headers()['content-type']], [200, 'image/svg+xml']);
  await page.locator('[data-poster]').click();
  const dialog = page.locator('dialog.poster');
  await dialog.getByRole('img').waitFor();
  ok((await dialog.locator('[download]').getAttribute('href')).startsWith('data:image/png;base64,'), 'a picture to keep');
  await visitor.inspect('poster');
  await dialog.getByRole('button', { name: { zh: '关闭', en: 'Close' }[visitor.locale] }).click();
  await dialog.waitFor({ state: 'hidden' });
  await visitor.go('/about');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await visitor.inspect('about');
}
