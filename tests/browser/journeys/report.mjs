// Staff watch a sale that sells out, on the dashboard and its wall, and read its report while it runs and after it.

import { eventually, ok, same } from '../lib/check.mjs';
import { ARTIFACTS } from '../lib/inspect.mjs';
import { GOODS } from '../lib/shop.mjs';

const OPENS_IN_MS = 5000;
const UNITS = 10;

const LABELS = {
  zh: { report: '售后报告', soldOut: /全部 10 件在开售 .+ 后抢完/, nearly: '库存已抢走九成', wall: '大屏模式', leave: '退出大屏', none: '之前没有场次' },
  en: { report: 'Report', soldOut: /All 10 units were taken within .+ of the opening/, nearly: 'Nine tenths of the stock are taken', wall: 'Wall mode', leave: 'Leave wall mode', none: 'no earlier sale' },
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
  await wallMode(visitor, labels);

  orders.push(await buyers.at(-1).buy(sale));
  await Promise.all(orders.slice(0, 6).map((order, n) => buyers[n].pay(order)));
  await tile('paid_share').getByText('60%', { exact: true }).waitFor();
  await visitor.inspect('cockpit-tiles');

  await page.locator('.breadcrumb').getByRole('link', { name: labels.report, exact: true }).click();
  await visitor.slot('verdict').filter({ hasText: labels.soldOut }).waitFor();
  same(await page.locator('[data-final]').getAttribute('data-final'), 'false');
  await visitor.inspect('report');
  await withoutScripts(run, sale, labels);
}

/** The dashboard alone fills the screen. */
async function wallMode({ page, locale, width }, labels) {
  if (width < 1000) return;
  const wall = page.locator('[data-wall]');
  await wall.click();
  await page.locator('[data-on-wall]').waitFor();
  await wall.getByText(labels.leave, { exact: true }).waitFor();
  ok(await page.locator('.tiles').evaluate((tiles) => tiles.getBoundingClientRect().width > innerWidth * 0.9), 'tiles fill the wall');
  await page.screenshot({ path: `${ARTIFACTS}cockpit-wall-${locale}-${width}.png`, animations: 'disabled' });
  await wall.click();
  await wall.getByText(labels.wall, { exact: true }).waitFor();
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
}
