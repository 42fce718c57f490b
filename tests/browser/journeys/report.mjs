// Staff watch a sale that sells out, on the dashboard and its wall, and read its report while it runs and after it.

import { eventually, ok, same } from '../lib/check.mjs';
import { ARTIFACTS } from '../lib/inspect.mjs';
import { GOODS } from '../lib/shop.mjs';

const OPENS_IN_MS = 5000;
const UNITS = 10;

const LABELS = {
  zh: { report: '本场报告', soldOut: /全部 10 件在开售 .+ 后抢完/, nearly: '已抢 90%', sold: /已售罄|^10 \/ 10/, wall: '大屏模式', leave: '退出大屏', none: '之前没有场次', judged: /10 \/ 10 件.*抢到，其中 6 件已付款。.*99% 的抢购在 [\d,]+ 毫秒内完成，一切正常。/, bound: '超过 500 毫秒告警', last: '最近 15 分钟' },
  en: { report: 'Report', soldOut: /All 10 units were taken within .+ of the opening/, nearly: '90% sold', sold: /Sold out|^10 of 10/, wall: 'Wall mode', leave: 'Leave wall mode', none: 'no earlier sale', judged: /10 of 10 taken.*, 6 of them paid\. 99% of purchases took at most [\d,]+ ms, nothing is wrong\./, bound: 'alarm above 500 ms', last: 'Last 15 minutes' },
};

export default async function report(run) {
  const { shop } = run;
  const labels = LABELS[run.locale];
  const visitor = await (await run.visit()).logInAs(shop.admin);
  const { page } = visitor;
  const buyers = await Promise.all(Array.from({ length: UNITS }, () => shop.register()));
  const sale = await shop.newSale({ goods: GOODS.espresso, opensIn: OPENS_IN_MS, total: UNITS, spread: 0 });
  await shop.shows(sale, 'open');

  await visitor.goAdmin(`/sales/${sale}`);
  const tile = (name) => page.locator(`[data-tile="${name}"] dd`);
  const orders = await Promise.all(buyers.slice(0, UNITS - 1).map((buyer) => eventually('a purchase', () => buyer.buy(sale))));
  await tile('left').getByText('1', { exact: true }).waitFor();
  await visitor.slot('alarms').filter({ hasText: labels.nearly }).waitFor();
  await eventually('the title counts the alarms', async () => (await page.title()).startsWith('(1) '));
  await eventually('the curve has points', async () => (await page.locator('[data-tile="left"] polyline').getAttribute('points')).includes(' '));
  await visitor.inspect('cockpit-alarm');
  await wallMode(visitor, sale, labels);
  await soundAfterLoading(visitor);

  orders.push(await buyers.at(-1).buy(sale));
  await Promise.all(orders.slice(0, 6).map((order, n) => buyers[n].pay(order)));
  await tile('paid_share').getByText('60%', { exact: true }).waitFor();
  await visitor.slot('verdict').filter({ hasText: labels.judged }).waitFor();
  await page.locator('[data-tile="p99"]').getByText(labels.bound).waitFor();
  same(await page.locator('section.panel', { has: page.getByRole('heading', { name: labels.last }) }).locator('[data-plot="opening"]').count(), 0, 'the opening is older');
  const lines = await page.locator('[data-says]').evaluateAll((cells) => cells.map((cell) => {
    const words = document.createRange();
    words.selectNodeContents(cell);
    return new Set([...words.getClientRects()].map(({ top }) => top)).size;
  }));
  ok(lines.length > 0 && lines.every((n) => n === 1), 'the state of a source is one word on one line');
  await visitor.inspect('cockpit-tiles');

  // A sale that sold out needs nobody: it is green, and there is no alarm.
  await visitor.slot('phase').filter({ hasText: labels.sold }).waitFor();
  await page.locator('[data-slot="alarms"][data-mood="good"]').waitFor();

  await page.locator('.under').getByRole('link', { name: labels.report, exact: true }).click();
  await visitor.slot('verdict').filter({ hasText: labels.soldOut }).waitFor();
  same(await page.locator('[data-final]').getAttribute('data-final'), 'false');
  await page.locator('.alarms li').filter({ hasText: labels.nearly }).first().waitFor();
  same(await visitor.slot('fairness').locator('li').count(), 3, 'what a merchant asks about fairness');
  ok(!(await visitor.slot('fairness').locator('+ details').getAttribute('open')), 'what it rests on is folded');
  await visitor.inspect('report');
  await withoutScripts(run, sale, labels);
}

/** The dashboard alone fills the screen, and nothing but its viewer ends that. */
async function wallMode({ page, shop, locale, width }, sale, labels) {
  if (width < 1000) return;
  const wall = page.locator('[data-wall]');
  const state = (name) => page.locator(`.state[data-phase="${name}"]`).waitFor();
  const isOn = () => page.evaluate(() => document.fullscreenElement !== null && globalThis.onWall === true);
  await wall.click();
  await page.locator('[data-on-wall]').waitFor();
  await wall.getByText(labels.leave, { exact: true }).waitFor();
  await page.evaluate(() => { globalThis.onWall = true; });
  for (const [w, h] of [[1920, 1080], [1366, 768], [3840, 2160]]) {
    await page.setViewportSize({ width: w, height: h });
    await eventually(`tiles and plots fit ${w}×${h}`, () => page.evaluate(() => {
      const parts = [...document.querySelectorAll('.live-tiles > div, .cockpit figure, .cockpit canvas')].filter((part) => part.offsetParent);
      const ends = parts.map((part) => part.getBoundingClientRect());
      return parts.length > 10 && ends.every(({ bottom, right, height }) => bottom <= innerHeight && right <= innerWidth && height > 75);
    }));
    await page.screenshot({ path: `${ARTIFACTS}cockpit-wall-${locale}-${w}.png`, animations: 'disabled' });
  }
  await page.setViewportSize({ width, height: 900 });

  await shop.act(sale, 'pause');
  await state('paused');
  await page.locator('form[action*="/resume?"]').waitFor({ state: 'attached' });
  ok(await isOn(), 'a change of the sale leaves the wall as it is');
  const pending = page.locator('.pending');
  const undo = pending.getByRole('button');
  await page.keyboard.press('P');
  ok(await undo.evaluate((button) => {
    const { left, top, width: w, height: h } = button.getBoundingClientRect();
    return document.elementFromPoint(left + w / 2, top + h / 2) === button;
  }), 'the undo is in view');
  await undo.click();
  same(await pending.count(), 0, 'undone by the button');
  await page.keyboard.press('p');
  await state('open');
  ok(await isOn(), 'the key leaves the wall as it is');
  await page.locator('form[action*="/pause?"]').waitFor({ state: 'attached' });
  await page.keyboard.press('p');
  await pending.waitFor();
  await page.evaluate(() => document.exitFullscreen());
  await pending.waitFor({ state: 'detached' });
  await wall.getByText(labels.wall, { exact: true }).waitFor();
}

/** A browser plays nothing on a page that was not touched, and the page says so until it is. */
async function soundAfterLoading(visitor) {
  const { page } = visitor;
  const bell = page.locator('[data-sound]');
  const hint = page.locator('[data-sound] + small');
  visitor.expectConsole('AudioContext was not allowed to start');
  await bell.click();
  await hint.waitFor({ state: 'hidden' });
  await page.reload();
  await hint.waitFor();
  same(await bell.getAttribute('aria-pressed'), 'true');
  await page.keyboard.press('x');
  await hint.waitFor({ state: 'hidden' });
  await bell.click();
  same(await bell.getAttribute('aria-pressed'), 'false');
}

/** The report needs no script; its tables open, and every plot can be scrolled with the keyboard. */
async function withoutScripts(run, sale, labels) {
  const visitor = await (await run.visit({ scripts: false })).logInAs(run.shop.admin);
  const { page } = visitor;
  await visitor.goAdmin(`/sales/${sale}/report`);
  await visitor.slot('verdict').filter({ hasText: labels.soldOut }).waitFor();
  const plots = page.locator('.plot');
  ok((await plots.count()) >= 2, 'units over time, and the opening');
  for (const plot of await plots.all()) same(await plot.getAttribute('tabindex'), '0');
  await page.locator('.report details summary').first().click();
  await page.locator('.report details[open] td').first().waitFor();
  await visitor.inspect('report-no-script');
  await visitor.goAdmin(`/sales/${sale}`);
  await page.locator('.alarms li').filter({ hasText: labels.nearly }).first().waitFor();
  await visitor.slot('verdict').filter({ hasText: labels.judged }).waitFor();
}
