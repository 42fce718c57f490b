// A shopper adds a passkey, logs in with it and removes it. A member of the staff uses one instead of the password. The
// authenticator is Chromium's virtual one. The shop is at `localhost`: browsers have no passkeys at an IP address.

import { setUpSecondFactor, useAuthenticator } from '../lib/authenticator.mjs';
import { ok, same } from '../lib/check.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

const NAME = { zh: '我的手机', en: 'My phone' };
const NEW_PASSWORD = 'a better battery staple';

export default async function passkeys(run) {
  await shopper(run);
  await staff(run);
}

async function logIn(visitor, name, password) {
  await visitor.go(`/login?next=${encodeURIComponent(visitor.path('/account'))}`);
  await visitor.fillCredentials(name, password);
  await visitor.button(visitor.labels.logIn).click();
  await visitor.page.waitForURL(visitor.path('/account'));
}

async function logOut(visitor) {
  await visitor.button(visitor.labels.logOut).click();
  await visitor.page.getByRole('banner').getByRole('link', { name: visitor.labels.logIn }).waitFor();
}

async function sendNewPasskey(visitor, password) {
  await visitor.page.locator('#passkey-name').fill(NAME[visitor.locale]);
  await visitor.page.locator('#passkey-password').fill(password);
  await visitor.page.locator('#add-passkey button:not(.show)').click();
}

async function addPasskey(visitor, password) {
  await visitor.unfold('passkeys');
  await visitor.page.locator('#passkeys details:has(#add-passkey) summary').click();
  await sendNewPasskey(visitor, password);
  await visitor.page.waitForURL(visitor.path('/account?done=passkey-added'));
}

async function shopper(run) {
  const name = newName();
  await run.shop.register(name);
  const visitor = await run.visit();
  const { page } = visitor;
  // Intentional mistakes.
  visitor.expect(422, /\/passkeys\/challenge$/);
  visitor.expect(401, /\/login\/passkey$/);
  await useAuthenticator(visitor);
  await logIn(visitor, name, PASSWORD);

  await visitor.unfold('passkeys');
  await page.locator('#passkeys details:has(#add-passkey) summary').click();
  await sendNewPasskey(visitor, 'not the password');
  await page.locator('#add-passkey [role="alert"]').waitFor();
  await visitor.inspect('passkey-wrong-password');
  await sendNewPasskey(visitor, PASSWORD);
  await page.waitForURL(visitor.path('/account?done=passkey-added'));
  await page.locator('.success').waitFor();
  same(await page.locator('#passkeys li').count(), 1);
  await visitor.inspect('passkeys');

  await logOut(visitor);
  await visitor.go(`/login?next=${encodeURIComponent(visitor.path('/account'))}`);
  await page.locator('#passkey-log-in button').waitFor();
  await visitor.inspect('login-passkey');
  await page.locator('#passkey-log-in button').click();
  await page.waitForURL(visitor.path('/account'));
  await page.getByRole('banner').locator('bdi', { hasText: name }).waitFor({ state: 'attached' });

  await visitor.unfold('passkeys');
  await page.locator('#passkeys li summary').click();
  await page.locator('#passkeys li input[type="password"]').fill(PASSWORD);
  await visitor.inspect('passkey-remove');
  await page.locator('#passkeys li .danger').click();
  await page.waitForURL(visitor.path('/account?done=passkey-removed'));
  same(await page.locator('#passkeys li').count(), 0);

  // The device still has the passkey.
  await logOut(visitor);
  await visitor.go('/login');
  await page.locator('#passkey-log-in button').click();
  await page.locator('#passkey-log-in [role="alert"]').waitFor();
  await visitor.inspect('login-passkey-removed');
}

async function changePassword(visitor, present, next) {
  const { page } = visitor;
  await visitor.unfold('password-form');
  await page.locator('#password').fill(present);
  await page.locator('#new_password').fill(next);
  await page.locator('#password-form').locator('button:not(.show)').click();
  await page.waitForURL(visitor.path('/account?done=password'));
}

/** A password that was changed without a code proves nothing, so the console asks again. */
async function staff(run) {
  const username = newName();
  const { password } = await run.shop.admin.ask('POST', '/api/admin/staff', { username, role: 'support' });
  const visitor = await run.visit();
  const { page } = visitor;
  visitor.expect(403, /\/admin\/step-up$/);
  await useAuthenticator(visitor);
  await logIn(visitor, username, password);
  await changePassword(visitor, password, PASSWORD);
  await addPasskey(visitor, PASSWORD);

  await setUpSecondFactor(visitor, PASSWORD);
  await changePassword(visitor, PASSWORD, NEW_PASSWORD);

  await page.goto(`/admin/step-up?lang=${visitor.locale}&next=${encodeURIComponent('/api/admin/orders.csv')}`);
  await page.locator('#passkey-step-up button').waitFor();
  await visitor.inspect('admin-step-up-passkey');
  await page.locator('#passkey-step-up button').click();
  await page.locator('a[href="/api/admin/orders.csv"]').waitFor();
  const status = await page.evaluate(() => fetch('/api/admin/orders.csv').then((response) => response.status));
  ok(status === 200, `the export answered ${status} after the step-up`);
}
