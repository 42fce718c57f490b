// A shopper manages the account: sessions, password, addresses, data export, two-step verification, deletion.

import { readFile } from 'node:fs/promises';

import { formKeepsInput, exampleAddress, showsAddress, typeAddress } from '../lib/address.mjs';
import { digitsFor } from '../lib/authenticator.mjs';
import { eventually, ok, same } from '../lib/check.mjs';
import { newName, PASSWORD } from '../lib/shop.mjs';

const NEW_PASSWORD = 'a better battery staple';

export default async function account(run) {
  const name = newName();
  const elsewhere = await run.shop.register(name);
  const visitor = await run.visit();
  // Intentional mistakes.
  visitor.expect(422, /\/account(\/|$)/);
  visitor.expect(401, /\/login(\/code)?$/);

  await logIn(visitor, name, PASSWORD, '/orders');
  await visitor.page.locator('.top .who:visible, .dock a:last-child:visible').click();
  await visitor.page.waitForURL(visitor.path('/account'));
  await visitor.inspect('account');
  await visitor.switchLanguage();

  await logOutOtherDevice(visitor, elsewhere);
  await changePassword(visitor);
  await manageAddresses(visitor);
  await exportData(visitor, name);
  await logOutEverywhere(visitor, name);
  await useSecondFactor(visitor, name);
  await deleteAccount(visitor, name);
}

async function logIn(visitor, name, password, next = '/account') {
  await visitor.go(`/login?next=${encodeURIComponent(visitor.path(next))}`);
  await visitor.fillCredentials(name, password);
  await visitor.button(visitor.labels.logIn).click();
  await visitor.page.waitForURL(visitor.path(next));
}

/** Logs out another device. */
async function logOutOtherDevice(visitor, elsewhere) {
  const { page } = visitor;
  await visitor.unfold('sessions');
  const devices = page.locator('.devices li');
  same(await devices.count(), 2);
  same(await devices.locator('.badge').count(), 1, 'one of them is this device');
  await elsewhere.ask('GET', '/api/me');
  await devices.filter({ hasNot: page.locator('.badge') }).getByRole('button').click();
  await page.locator('.success').waitFor();
  same(await devices.count(), 1);
  const refused = await elsewhere.ask('GET', '/api/orders').then(() => null, ({ message }) => message);
  ok(refused?.includes('answered 401'), `the other device is still logged in: ${refused}`);
}

async function changePassword(visitor) {
  const { page } = visitor;
  await visitor.go('/account#password-form');
  // The address unfolds its section.
  const save = async (present) => {
    await page.locator('#password').fill(present);
    await page.locator('#new_password').fill(NEW_PASSWORD);
    await page.locator('#password-form').locator('button:not(.show)').click();
  };
  await save('not the password');
  await page.locator('#password-wrong').waitFor();
  await visitor.inspect('account-wrong-password');
  await save(PASSWORD);
  await page.waitForURL(visitor.path('/account?done=password'));
  await page.locator('.success').waitFor();
  await visitor.inspect('account-saved');
}

async function manageAddresses(visitor) {
  const { page, labels } = visitor;
  const cards = page.locator('.addresses > li');
  const home = exampleAddress(visitor);
  const away = exampleAddress(visitor, { line2: '8' });
  await page.locator('#addresses a').click();
  await page.waitForURL(visitor.path('/account/addresses'));
  await visitor.inspect('addresses-empty');

  await visitor.button(labels.addAddress).click();
  const misspelt = { ...home, phone: 'x' };
  await typeAddress(visitor, misspelt);
  await visitor.button(labels.save).click();
  await formKeepsInput(visitor, misspelt, 'phone');
  await visitor.inspect('address-wrong');
  await typeAddress(visitor, home);
  await visitor.button(labels.save).click();
  await page.locator('.success').waitFor();
  await showsAddress(visitor, home);

  await visitor.button(labels.addAddress).click();
  await typeAddress(visitor, { ...away, line2: '7' });
  await visitor.button(labels.save).click();
  await eventually('two addresses', async () => (await cards.count()) === 2);
  await visitor.inspect('addresses');
  await visitor.switchLanguage();

  if (visitor.locale === 'zh') await placesFromLists(visitor);

  const second = () => cards.filter({ hasText: away.line1 }).filter({ hasNotText: home.line2 });
  await second().locator('a').click();
  await page.waitForURL(visitor.path('/account/addresses/*'));
  same(await page.locator('#recipient').inputValue(), away.recipient);
  await page.locator('#line2').fill(away.line2);
  await visitor.button(labels.save).click();
  await page.waitForURL(visitor.path('/account/addresses?done=saved'));
  await second().getByRole('button', { name: labels.makeDefault }).click();
  await page.waitForURL(visitor.path('/account/addresses?done=default'));
  same(await second().locator('.badge').count(), 1);
  same(await cards.locator('.badge').count(), 1, 'one default');

  await cards.filter({ hasText: home.line2 }).locator('summary').click();
  await page.getByRole('dialog').waitFor();
  await page.getByRole('dialog').locator('.danger').click();
  await page.waitForURL(visitor.path('/account/addresses?done=deleted'));
  same(await cards.count(), 1);
  await showsAddress(visitor, away);
}

/** The lists follow each other, and another country has text fields with what was chosen. */
async function placesFromLists(visitor) {
  const { page } = visitor;
  const names = (id) => page.locator(`select#${id} option`).count();
  const value = (id) => page.locator(`#${id}`).inputValue();
  await page.locator('.addresses > li a').first().click();
  await page.locator('#district').waitFor();
  const { region, city, district, line1 } = exampleAddress(visitor);
  same([await value('region'), await value('city'), await value('district'), await value('line1')], [region, city, district, line1]);
  await page.locator('#country').selectOption('JP');
  same([await value('region'), await value('city'), await value('line1')], [region, city, district + line1]);
  same(await page.locator('select#region, #district').count(), 0, 'no lists for another country');
  await page.locator('#country').selectOption('CN');
  same([await value('district'), await value('line1')], [district, line1]);
  await page.locator('#region').selectOption('重庆市');
  same([await value('city'), await value('district')], ['重庆市', ''], 'a city without another one in its province is chosen');
  ok((await names('district')) > 30, 'the districts of Chongqing');
  await page.locator('#region').selectOption('湖北省');
  await page.locator('#city').selectOption('仙桃市');
  same(await page.locator('#district').isVisible(), false, 'a city without districts needs none');
  await visitor.inspect('address-lists');
  await page.goBack();
}

/** The export contains the user's data and no secrets. */
async function exportData(visitor, name) {
  const { page } = visitor;
  await visitor.go('/account');
  await visitor.unfold('data');
  const begun = page.waitForEvent('download');
  await page.locator('#data a').click();
  const file = await begun;
  ok(file.suggestedFilename().endsWith('.json'), file.suggestedFilename());
  const text = await readFile(await file.path(), 'utf8');
  JSON.parse(text);
  for (const known of [name, exampleAddress(visitor).line1]) ok(text.includes(known), `${known} is not in the file`);
  ok(!/argon2|password_hash/i.test(text), 'the file has the password');
}

async function logOutEverywhere(visitor, name) {
  const { page, labels } = visitor;
  const elsewhere = await visitor.shop.account('/api/login', name, NEW_PASSWORD);
  await visitor.unfold('sessions');
  await page.locator('#sessions summary').click();
  await page.getByRole('dialog').waitFor();
  await visitor.inspect('account-sign-out');
  await page.getByRole('dialog').getByRole('button', { name: labels.everywhere }).click();
  await page.waitForURL(visitor.path('/login'));
  const refused = await elsewhere.ask('GET', '/api/orders').then(() => null, ({ message }) => message);
  ok(refused?.includes('answered 401'), `another device is still logged in: ${refused}`);
  await logIn(visitor, name, NEW_PASSWORD);
}

/** Sets up two-step verification, logs in with a recovery code, and turns it off. */
async function useSecondFactor(visitor, name) {
  const { page, labels } = visitor;
  await visitor.unfold('second-factor');
  await page.locator('#second-factor a').click();
  await page.waitForURL(visitor.path('/account/second-factor'));
  const drawn = await page.locator('.qr img').evaluate(async (image) => { await image.decode(); return image.naturalWidth; });
  ok(drawn > 0, 'the QR code is not drawn');
  await visitor.inspect('second-factor');
  await page.locator('#code').fill(digitsFor(await page.locator('main code').textContent()));
  await page.locator('#password').fill(NEW_PASSWORD);
  await page.locator('main form button:not(.show)').click();
  await page.locator('.recovery').waitFor();
  await visitor.inspect('recovery-codes');
  const codes = await page.locator('.recovery code').allTextContents();

  await visitor.button(labels.logOut).click();
  await page.getByRole('banner').getByRole('link', { name: labels.logIn }).waitFor();
  await visitor.go(`/login?next=${encodeURIComponent(visitor.path('/account'))}`);
  await visitor.fillCredentials(name, NEW_PASSWORD);
  await visitor.button(labels.logIn).click();
  await page.locator('#code').fill('no code');
  await page.locator('main form button:not(.show)').click();
  await page.getByRole('alert').waitFor();
  await visitor.inspect('second-step-wrong');
  await page.locator('#code').fill(codes[0]);
  await page.locator('main form button:not(.show)').click();
  await page.waitForURL(visitor.path('/account'));

  await visitor.unfold('second-factor');
  await page.locator('#second-factor summary').click();
  await page.locator('#factor-password').fill(NEW_PASSWORD);
  await page.locator('#factor-code').fill(codes[1]);
  await visitor.inspect('account-second-factor');
  await page.locator('#second-factor .danger').click();
  await page.waitForURL(visitor.path('/account?done=factor-off'));
}

async function deleteAccount(visitor, name) {
  const { page, labels } = visitor;
  const send = async (typed) => {
    await page.locator('#delete-name').fill(typed);
    await page.locator('#delete-password').fill(NEW_PASSWORD);
    await page.locator('#delete .danger').click();
  };
  await visitor.unfold('delete');
  await send('somebody-else');
  await page.locator('#delete-name-wrong').waitFor();
  same(await page.locator('#delete-name').inputValue(), 'somebody-else');
  await visitor.inspect('account-delete-wrong');
  await send(name);
  await page.locator('.message').waitFor();
  await page.getByRole('banner').getByRole('link', { name: labels.logIn }).waitFor();
  await visitor.inspect('account-deleted');
  await visitor.go('/login');
  await visitor.fillCredentials(name, NEW_PASSWORD);
  await visitor.button(labels.logIn).click();
  await page.getByRole('alert').waitFor();
}
