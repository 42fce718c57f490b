// A shopper adds an address, forgets the password and gets back in by mail. No mail server is set up, so the owner of the
// shop reads the messages in the console.

import { eventually, ok, same } from '../lib/check.mjs';
import { newName } from '../lib/shop.mjs';

const NEW_PASSWORD = 'a better battery staple';

export default async function recovery(run) {
  const name = newName();
  const account = await run.shop.register(name);
  const owner = await (await run.visit()).logInAs(run.shop.admin);
  const shopper = await (await run.visit()).logInAs(account);
  shopper.expect(422, /\/account\/mail$/);

  await enterAddress(shopper, name);
  await verify(shopper, await link(owner, name, '/mail?'));
  await recover(run, name, () => link(owner, name, '/recovery/password?'));
  const refused = await account.ask('GET', '/api/me').then(() => null, ({ message }) => message);
  ok(refused?.includes('answered 401'), `the session goes on: ${refused}`);
  await owner.goAdmin('/system?show=mail');
  await owner.page.locator('.mails summary').first().click();
  await owner.inspect('admin-mail');
}

/** The link in a message about this user, whose path begins like this. */
async function link({ page, locale }, name, path) {
  return eventually(`a message with a link to ${path}`, async () => {
    await page.goto(`/admin/system?show=mail&lang=${locale}`);
    const letters = await page.locator('.mails li', { hasText: name }).locator('.letter').allTextContents();
    const links = letters.flatMap((text) => text.match(/http:\S+?token=[\w.-]+/g) ?? []);
    return links.find((found) => found.includes(path));
  });
}

async function enterAddress(visitor, name) {
  const { page } = visitor;
  const form = page.locator('#mail form').first();
  const send = async (password) => {
    await form.locator('[name=address]').fill(`${name}@shop.example`);
    await form.locator('[name=password]').fill(password);
    await form.locator('button:not(.show)').click();
  };
  await visitor.go('/account');
  await visitor.unfold('mail');
  await send('not the password');
  await page.locator('#mail-password-wrong').waitFor();
  await visitor.inspect('account-mail-wrong');
  await send('correct horse battery');
  await page.waitForURL(visitor.path('/account?done=mail'));
  await page.locator('#mail .note').waitFor();
  await visitor.inspect('account-mail');
}

async function verify(visitor, address) {
  const { page } = visitor;
  await page.goto(address);
  await visitor.inspect('mail-verify');
  await visitor.switchLanguage();
  await page.getByRole('main').locator('button:not(.show)').click();
  await page.locator('.success').waitFor();
  await visitor.inspect('mail-verified');
  await visitor.go('/account');
  await visitor.unfold('mail');
  await page.locator('#mail .badge').waitFor();
}

/** Without scripts. */
async function recover(run, name, latest) {
  const visitor = await run.visit({ scripts: false });
  const { page, labels } = visitor;
  visitor.expect(422, /\/recovery\/password$/);
  visitor.expect(403, /\/recovery\/password$/);
  const main = page.getByRole('main');
  await visitor.go('/login');
  await main.locator('a[href$="/recovery"]').click();
  await visitor.inspect('recovery');
  await page.locator('#account').fill(name);
  await main.locator('button:not(.show)').click();
  await main.getByRole('status').waitFor();
  await visitor.inspect('recovery-sent');

  const address = await latest();
  await page.goto(address);
  await visitor.inspect('recovery-password');
  await page.locator('#new_password').fill('password');
  await main.locator('button:not(.show)').click();
  await page.locator('#new_password-wrong').waitFor();
  await visitor.inspect('recovery-password-weak');
  await page.locator('#new_password').fill(NEW_PASSWORD);
  await main.locator('button:not(.show)').click();
  await main.getByRole('status').waitFor();
  await visitor.inspect('recovery-done');

  await page.goto(address);
  await visitor.inspect('recovery-used');
  await visitor.go('/login');
  await visitor.fillCredentials(name, NEW_PASSWORD);
  await visitor.button(labels.logIn).click();
  await page.waitForURL(visitor.path());
  same((await (await visitor.context.request.get('/api/me')).json()).user.username, name);
}
