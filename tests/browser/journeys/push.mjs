// Messages to a browser: the switch on the account page, the reminder of a sale, and what the service worker does with
// a message and with a press on it. Chromium has no push service here, so the journey hands a message to the worker as
// the browser would, by the DevTools protocol. A browser without a screen has no notifications to press, so the event
// of the press is sent inside the worker. Only the browser may open and focus windows there, so the journey records
// what the worker asks the browser to do.

import { eventually, ok, same } from '../lib/check.mjs';

export default async function push(run) {
  const sale = await run.shop.newSale({ opensIn: 7_200_000 });
  await run.shop.shows(sale, 'upcoming');
  const visitor = await (await run.visit()).logInAsNewUser();
  await visitor.context.grantPermissions(['notifications']);
  visitor.expectConsole('does not support the Push API in incognito mode');
  await remindsOnEveryDevice(run, visitor, sale);
  await noteTellsTheWay(run, sale);
  await keptBeforeTheBrowserIsAnswered(run, sale);
  await switchTellsTheTruth(visitor);
  await messageOpensItsPage(visitor, sale);
  await withoutScripts(run);
}

/** The shop stores the reminder, so that another device shows it too, and says how many there are. */
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
  await visitor.slot('reach').waitFor();
  await visitor.inspect('reminder-kept');
  same(await visitor.slot('reach').locator('a').getAttribute('href'), visitor.path('/account#notices'), 'nothing reaches the account');

  const stranger = await run.visit();
  await eventually('everyone sees the number', async () => {
    await stranger.go(`/sales/${sale}`);
    await stranger.slot('people').filter({ hasText: /\S/ }).waitFor();
    return /1/.test(await stranger.slot('people').textContent());
  });
  same(await stranger.slot('reach').isVisible(), false);

  const other = await (await run.visit()).logInAs(visitor.account);
  await other.go(`/sales/${sale}`);
  await other.slot('remind').and(other.page.locator('[aria-pressed="true"]')).waitFor();
  await other.slot('remind').click();
  await eventually('the reminder is off', async () => !(await own()).set);
}

/** The note names the way by which the shop reaches the account: an address, or a browser. */
async function noteTellsTheWay(run, sale) {
  const visitor = await (await run.visit()).logInAsNewUser();
  const own = { sale_id: sale, set: false, accounts: 1, mail: 'm•••@shop.example', push: false };
  await visitor.page.route(`**/api/sales/${sale}/reminder`, (route) => {
    if (route.request().method() === 'GET') return route.fulfill({ json: own });
    own.set = true;
    return route.fulfill({ status: 204 });
  });
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('remind').click();
  await visitor.slot('note').filter({ hasText: own.mail }).waitFor();
  same(await visitor.slot('reach').isVisible(), false);
}

/** The browser asks whether notifications may be shown, and gets no answer. */
async function keptBeforeTheBrowserIsAnswered(run, sale) {
  const visitor = await (await run.visit()).logInAsNewUser();
  await visitor.page.addInitScript(() => {
    Object.defineProperty(Notification, 'permission', { value: 'default' });
    Notification.requestPermission = () => new Promise(() => {});
  });
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('remind').click();
  await eventually('the shop keeps the reminder', async () => (await visitor.account.ask('GET', `/api/sales/${sale}/reminder`)).set);
}

/** Without a push service the page does not claim that messages are on. */
async function switchTellsTheTruth(visitor) {
  const { page } = visitor;
  const state = visitor.slot('push-state');
  const words = (key) => page.locator('#push-words').evaluate((all, name) => all.content.querySelector(`[data-key="${name}"]`).textContent, key);
  await visitor.go('/account');
  await eventually('it is off', async () => (await state.textContent()) === await words('is_off'));
  await visitor.unfold('push');
  await page.locator('#push').scrollIntoViewIfNeeded();
  await visitor.inspect('push-off');
  await visitor.slot('push-switch').click();
  await eventually('it says that it failed', async () => (await state.textContent()) === await words('failed'));
  same(await visitor.slot('push-switch').getAttribute('aria-pressed'), 'false');
  same((await visitor.account.ask('GET', '/api/push')).subscribed, false);
  await visitor.inspect('push-failed');
}

async function messageOpensItsPage(visitor, sale) {
  const { page } = visitor;
  await visitor.go('/');
  const inbox = await Inbox.of(visitor);
  const path = visitor.path(`/sales/${sale}`);
  const message = { title: visitor.locale === 'zh' ? '5 分钟内开始' : 'Starts soon', path, tag: `sale-${sale}` };
  await inbox.deliver(JSON.stringify(message));
  same(await inbox.shown(), [{ ...message, body: '' }]);
  await inbox.deliver(JSON.stringify(message));
  same((await inbox.shown()).length, 1, 'a newer one replaces it');

  same(await inbox.press(), { opened: [path], focused: [] }, 'no tab shows the sale');
  same(await inbox.shown(), [], 'a pressed message is gone');
  await page.goto(path);
  await visitor.slot('remind').waitFor();
  await inbox.deliver(JSON.stringify(message));
  same(await inbox.press(), { opened: [], focused: [path] }, 'the tab with the sale');
  await onlyTheShopIsOpened(visitor, inbox);
}

/** A message that the shop did not send leads to the list of sales. */
async function onlyTheShopIsOpened(visitor, inbox) {
  const brand = visitor.locale === 'zh' ? '秒杀' : 'Seckill';
  const foreign = ['https://evil.example/', '//evil.example/x', '/\\evil.example', '//[', 'javascript:alert(1)', '', 7, null, ['/zh/']];
  const messages = ['', 'no JSON', 'null', '[]', '"text"', '{"title": 7}', ...foreign.map((path) => JSON.stringify({ title: brand, path, tag: 'x' }))];
  for (const data of messages) {
    await inbox.deliver(data);
    const [{ title, path }] = await inbox.shown();
    same([title, path], [brand, visitor.path('/')], data);
    same(await inbox.press(), { opened: [visitor.path('/')], focused: [] }, data);
  }
}

/** The messages that the worker shows, and presses on them. */
class Inbox {
  static async of(visitor) {
    const { page, context, shop } = visitor;
    await page.evaluate(() => navigator.serviceWorker.ready);
    const devtools = await context.newCDPSession(page);
    const registered = new Promise((found) => {
      devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => registrations[0] && found(registrations[0]));
    });
    await devtools.send('ServiceWorker.enable');
    const { registrationId } = await registered;
    const [worker] = context.serviceWorkers();
    return Object.assign(new Inbox(), { devtools, registrationId, worker, origin: shop.origin });
  }

  /** Hands a message to the worker and waits until it is shown. */
  async deliver(data) {
    const before = await this.worker.evaluate(async () => {
      globalThis.showings ??= 0;
      registration.showNotification = async (...shown) => {
        await ServiceWorkerRegistration.prototype.showNotification.apply(registration, shown);
        globalThis.showings += 1;
      };
      return globalThis.showings;
    });
    await this.devtools.send('ServiceWorker.deliverPushMessage', { origin: this.origin, registrationId: this.registrationId, data });
    await eventually('the message is shown', async () => (await this.worker.evaluate(() => globalThis.showings)) > before);
  }

  shown() {
    return this.worker.evaluate(async () => (await registration.getNotifications())
      .map(({ title, body, tag, data }) => ({ title, path: data.path, tag, body })));
  }

  /** Presses the message. Returns the paths of the windows that the worker opens and focuses. */
  press() {
    return this.worker.evaluate(async () => {
      const asked = { opened: [], focused: [] };
      clients.openWindow = async (path) => { asked.opened.push(path); };
      WindowClient.prototype.focus = async function focus() { asked.focused.push(new URL(this.url).pathname); };
      const [notification] = await registration.getNotifications();
      const event = new NotificationEvent('notificationclick', { notification });
      const work = [];
      // The browser accepts work only for its own events.
      event.waitUntil = (promise) => work.push(promise);
      dispatchEvent(event);
      await Promise.all(work);
      return asked;
    });
  }
}

/** Without scripts the page says what it needs. */
async function withoutScripts(run) {
  const visitor = await (await run.visit({ scripts: false })).logInAsNewUser();
  await visitor.go('/account#push');
  ok(await visitor.page.locator('#push noscript, #push .note').first().isVisible());
  same(await visitor.slot('push').isVisible(), false);
  await visitor.inspect('push-no-script');
}
