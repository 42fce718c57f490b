// A sale whose spread is enforced: the page shows the account's own moment, and buys at it after an early press.
// Without scripts a page says when to press.

import { ok } from '../lib/check.mjs';

const SPREAD_MS = 60_000;
/** Long enough to see the page before the moment, short enough to wait for it. */
const WAIT_MS = [12_000, 24_000];

export default async function spread(run) {
  const sale = await run.shop.openSale({ total: 50, spread: SPREAD_MS });
  const early = await accountThatWaits(run.shop, sale);
  const visitor = await (await run.visit()).logInAs(early.account);
  const { page } = visitor;
  // The page's clock may be ahead of the shop's by some milliseconds; it then presses again.
  visitor.expect(429, /\/orders$/);
  await visitor.go(`/sales/${sale}`);
  const [pattern, waiting] = visitor.locale === 'zh' ? [/你的时刻还有 \d+ 秒/, /到时自动为你抢/] : [/Your moment comes in \d+ s/, /We’ll buy for you then/];
  await visitor.slot('hint').filter({ hasText: pattern }).waitFor();
  await visitor.inspect('own-moment');
  await visitor.button(visitor.labels.buy).click();
  await visitor.slot('hint').filter({ hasText: waiting }).waitFor();
  await visitor.inspect('own-moment-awaited');
  await page.locator('main[data-status="unpaid"]').waitFor({ timeout: 60_000 });
  const [{ id }] = await early.account.orders();
  ok(reservedAt(id) >= early.moment, 'the order came before the moment');

  await withoutScripts(run);
}

/** When an order was reserved, by the shop's clock: its id is a UUID of version 7. */
function reservedAt(id) {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}

/** A new account whose moment is neither now nor far away. */
async function accountThatWaits(shop, sale) {
  for (let n = 0; n < 60; n += 1) {
    const account = await shop.register();
    const { not_before: notBefore } = await account.ask('POST', `/api/sales/${sale}/token`);
    const moment = Date.parse(notBefore);
    const wait = moment - Date.now();
    if (wait > WAIT_MS[0] && wait < WAIT_MS[1]) return { account, moment };
  }
  throw new Error('no account of sixty has a moment within the next seconds');
}

async function withoutScripts(run) {
  const sale = await run.shop.openSale({ total: 50, spread: SPREAD_MS });
  const { account } = await accountThatWaits(run.shop, sale);
  const visitor = await (await run.visit({ scripts: false })).logInAs(account);
  visitor.expect(429, /\/buy$/);
  await visitor.go(`/sales/${sale}`);
  await visitor.button(visitor.labels.buy).click();
  await visitor.page.locator('time[data-seconds]').waitFor();
  await visitor.inspect('own-moment-no-script');
}
