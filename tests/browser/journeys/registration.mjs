// Registering from a network that registers a lot: the browser computes a proof of work. Without scripts the visitor
// waits or gives a mail address.

import { ok, same } from '../lib/check.mjs';
import { linkSentTo, openMailbox } from '../lib/mailbox.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

export default async function registration(run) {
  const { locale, width } = run;
  // Each run is in a network of its own.
  const headers = { 'x-forwarded-for': `192.0.${locale === 'zh' ? 2 : 3}.${width % 250}` };
  const visitor = await run.visit();
  await visitor.context.setExtraHTTPHeaders(headers);
  const register = () => visitor.context.request.post('/api/register', { data: { username: newName(), password: PASSWORD } });
  same((await register()).status(), 201, 'the first account is free');
  await visitor.context.clearCookies();
  same((await register()).status(), 403, 'the second one is not');

  const { page, labels } = visitor;
  await visitor.go('/register');
  ok(await visitor.slot('wait').isHidden(), 'who computes need not wait');
  ok(await visitor.slot('contact').isHidden(), 'nor give an address');
  await visitor.inspect('register-computing');
  const name = newName();
  await visitor.fillCredentials(name);
  await visitor.button(labels.register).click();
  await page.waitForURL((url) => url.pathname === visitor.path());
  same((await (await visitor.context.request.get('/api/me')).json()).user.username, name);

  const unlucky = await run.visit();
  await unlucky.context.setExtraHTTPHeaders(headers);
  unlucky.expectFailure('net::ERR_FAILED');
  await unlucky.context.route('**/static/proof.*', (route) => route.abort());
  await unlucky.go('/register');
  await unlucky.slot('wait').waitFor();
  await unlucky.slot('contact').waitFor();

  const reader = await run.visit({ scripts: false });
  reader.expect(403, /register$/);
  await reader.context.setExtraHTTPHeaders(headers);
  await reader.go('/register');
  const due = () => reader.slot('wait').locator('time').getAttribute('datetime');
  const first = await due();
  await reader.inspect('register-wait');
  await reader.fillCredentials(newName());
  await reader.button(labels.register).click();
  await reader.page.locator('.alert').waitFor();
  same(await due(), first, 'the wait goes on from where it was');
  await reader.inspect('register-wait-refused');
  await byMail(run, headers);
}

/** The form stays filled in while the link is asked for and opened, on another device. */
async function byMail(run, headers) {
  openMailbox(run.settings.smtp);
  const name = newName();
  const visitor = await run.visit({ scripts: false });
  await visitor.context.setExtraHTTPHeaders(headers);
  visitor.expect(422, /register\/contact$/);
  const { page, labels } = visitor;
  await visitor.go(`/register?next=${encodeURIComponent(visitor.path('/account'))}`);
  await visitor.fillCredentials(name);
  await visitor.slot('contact').locator('summary').click();
  await visitor.inspect('register-contact');
  await page.locator('#address').fill(`${name}@localhost`);
  const tab = await pressed(visitor);
  await tab.getByRole('alert').waitFor();
  await visitor.inspect('register-contact-wrong', tab);
  await tab.locator('#address').fill(`${name}@shop.example`);
  await tab.locator('main form button').click();
  await tab.getByRole('status').waitFor();
  await visitor.inspect('register-contact-sent', tab);
  await tab.close();

  const phone = await run.visit();
  await phone.context.setExtraHTTPHeaders(headers);
  phone.expect(403, /register\/contact$/);
  const link = await linkSentTo(`${name}@shop.example`);
  await phone.page.goto(link);
  await phone.inspect('register-contact-confirm');
  await phone.switchLanguage();
  await phone.page.getByRole('main').locator('button').click();
  await phone.page.locator('.success').waitFor();
  await phone.inspect('register-contact-done');

  // The reader's own form is gone, so the link opens a new one, in any network.
  await phone.page.getByRole('main').locator('a[href$="/register/contact"]').click();
  await phone.page.locator('#username').waitFor();
  await phone.inspect('register-contact-anew');

  await visitor.button(labels.register).click();
  await page.waitForURL(visitor.path('/account'));
  ok((await page.locator('#mail').textContent()).includes(`${name}@shop.example`), 'the address is the account’s');
  await phone.page.goto(link);
  await phone.inspect('register-contact-used');
}

/** The tab that opens beside the form. */
async function pressed(visitor) {
  const [tab] = await Promise.all([visitor.context.waitForEvent('page'), visitor.slot('contact').locator('button').click()]);
  await tab.waitForLoadState();
  return tab;
}
