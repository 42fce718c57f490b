// Staff choose a waiting room for a sale, watch it, hold its calls, and limit their rate.

import { eventually, same } from '../lib/check.mjs';
import { confirmAction } from '../lib/console.mjs';

const LABELS = {
  zh: { hold: '暂停叫号', resume: '恢复叫号', pace: '调整速度', advice: '脚本的机会最多是真人的 100 倍', most: '每分钟至多 30 人' },
  en: { hold: 'Hold calls', resume: 'Resume calls', pace: 'Change pace', advice: 'up to 100 times a person’s', most: 'At most 30 a minute' },
};

export default async function waitingRoomConsole(run) {
  const visitor = await (await run.visit()).logInAs(run.shop.admin);
  await choosesTheMode(visitor);
  await steersTheCalls(run.shop, visitor);
}

async function choosesTheMode(visitor) {
  const { page, locale } = visitor;
  await visitor.goAdmin('/sales/new');
  await page.locator('#total').fill('60');
  await page.locator('#expected_accounts').fill('6000');
  await visitor.slot('advice').filter({ hasText: LABELS[locale].advice }).waitFor();
  same(await page.locator('#queue_seat_s').isVisible(), false);
  await page.locator('[name="mode"][value="queue"]').check();
  await page.locator('#queue_seat_s').waitFor();
  same(await page.locator('#draw_window_s').isVisible(), false);
  await visitor.inspect('admin-sale-new-queue');
}

async function steersTheCalls(shop, visitor) {
  const { page, locale } = visitor;
  const labels = LABELS[locale];
  const sale = await shop.newWaitingRoom(25_000);
  const shoppers = [await shop.register(), await shop.register()];
  for (const shopper of shoppers) await shopper.ask('POST', `/api/sales/${sale}/place`, {});
  const line = () => fetch(`${shop.origin}/api/sales/${sale}/line`).then((answer) => answer.json());
  const shows = (key, value) => page.locator(`[data-key="line.${key}"]`).getByText(String(value), { exact: true }).waitFor({ timeout: 30_000 });
  const room = page.locator('[data-line]');

  await visitor.goAdmin(`/sales/${sale}`);
  await shows('waiting', 2);
  await confirmAction(visitor, room, labels.hold, 'admin-hold-calls');
  await eventually('the list is locked', async () => (await line()).seed !== null, 30_000);
  same((await line()).called, 0);
  // The page loads again when it learns that the sale has opened. Only then can the sale be paused.
  await page.locator('form[action*="/pause"]').waitFor({ state: 'attached', timeout: 30_000 });
  await visitor.inspect('admin-cockpit-held');
  await confirmAction(visitor, room, labels.pace, 'admin-pace', (dialog) => dialog.locator('[name="per_minute"]').fill('30'));
  await confirmAction(visitor, room, labels.resume);
  await room.getByText(labels.most).waitFor();
  await shows('called', 1);
  await shows('seats', 1);
  await visitor.inspect('admin-cockpit-queue');
}
