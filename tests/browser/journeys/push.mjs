// Messages to a browser: the switch on the account page, the reminder of a sale, and what the service worker does with a message.
// Chromium has no push service here, so a message is handed to the worker as the browser would, by the DevTools protocol.

import { eventually, ok, same } from '../lib/check.mjs';

export default async function push(run) {
  const sale = await run.shop.newSale({ opensIn: 7_200_000 });
  await run.shop.shows(sale, 'upcoming');
  const visitor = await (await run.visit()).logInAsNewUser();
  await visitor.context.grantPermissions(['notifications']);
  visitor.expectConsole('does not support the Push API in incognito mode');
  await remindsOnEveryDevice(run, visitor, sale);
  await switchTellsTheTruth(visitor);
  await messageOpensItsPage(visitor, sale);
  await withoutScripts(run);
}

/** The shop keeps the reminder, so that it is on on another device, and says how many there are. */
async function remindsOnEveryDevice(run, visitor, sale) {
  const { page } = visitor;
  const people = visitor.slot('people');
  const own = () => visitor.account.ask('GET', `/api/sales/${sale}/reminder`);
  await visitor.go(`/sales/${sale}`);
  await page.locator('[data-ready="user"][data-done]').waitFor();
  same(await people.textContent(), '', 'nobody is counted before');
  await visitor.slot('remind').click();
  await eventually('the shop keeps the reminder', async () => (await own()).set);
  await eventually('it is counted', async () => /1/.test(await people.textContent()));
  await visitor.slot('note').waitFor();
  await visitor.inspect('reminder-kept');

  const other = await (await run.visit()).logInAs(visitor.account);
  await other.go(`/sales/${sale}`);
  await other.slot('remind').and(other.page.locator('[aria-pressed="true"]')).waitFor();
  await other.slot('remind').click();
  await eventually('the reminder is off', async () => !(await own()).set);
}

/** Without a push service nothing is claimed to be on. */
async function switchTellsTheTruth(visitor) {
  const { page } = visitor;
  const state = visitor.slot('push-state');
  const words = (key) => page.locator('#push-words').evaluate((all, name) => all.content.querySelector(`[data-key="${name}"]`).textContent, key);
  await visitor.go('/account');
  await eventually('it is off', async () => (await state.textContent()) === await words('is_off'));
  await page.locator('#push').scrollIntoViewIfNeeded();
  await visitor.inspect('push-off');
  await visitor.slot('push-switch').click();
  await eventually('it says that it failed', async () => (await state.textContent()) === await words('failed'));
  same(await visitor.slot('push-switch').getAttribute('aria-pressed'), 'false');
  same((await visitor.account.ask('GET', '/api/push')).subscribed, false);
  await visitor.inspect('push-failed');
}

async function messageOpensItsPage(visitor, sale) {
  const { page, context } = visitor;
  await visitor.go('/');
  await page.evaluate(() => navigator.serviceWorker.ready);
  const devtools = await context.newCDPSession(page);
  const registered = new Promise((found) => {
    devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations[0] && found(registrations[0]));
  });
  await devtools.send('ServiceWorker.enable');
  const { registrationId } = await registered;
  const path = visitor.path(`/sales/${sale}`);
  const message = { title: visitor.locale === 'zh' ? '5 分钟内开抢' : 'Opens soon', path, tag: `sale-${sale}` };
  const deliver = () => devtools.send('ServiceWorker.deliverPushMessage', { origin: visitor.shop.origin, registrationId, data: JSON.stringify(message) });
  const shown = () => page.evaluate(async () => (await (await navigator.serviceWorker.ready).getNotifications())
    .map(({ title, tag, data }) => ({ title, tag, path: data.path })));
  await deliver();
  await eventually('the message is shown', async () => (await shown()).length === 1);
  same(await shown(), [message]);
  await deliver();
  await eventually('a newer one replaces it', async () => (await shown()).length === 1);
}

/** Without scripts the page says what it needs. */
async function withoutScripts(run) {
  const visitor = await (await run.visit({ scripts: false })).logInAsNewUser();
  await visitor.go('/account');
  ok(await visitor.page.locator('#push noscript, #push .note').first().isVisible());
  same(await visitor.slot('push').isVisible(), false);
  await visitor.inspect('push-no-script');
}
