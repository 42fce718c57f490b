// Every page that a shopper can see without buying is inspected. `console_pages` does the same for the console.

import { sentAddress } from '../lib/address.mjs';
import { ok, same } from '../lib/check.mjs';
import { GOODS } from '../lib/shop.mjs';

export default async function shopPages(run) {
  const visitor = await run.visit();
  await phases(run, visitor);
  await logInAndRegister(visitor);
  await visitor.logInAsNewUser();
  await visitor.go('/orders');
  await look(visitor, 'orders-empty');
  await visitor.switchLanguage();
  await accountPages(visitor);
  await unknownPages(visitor);
}

/** Inspects a page, and whether it fits other screens. */
async function look(visitor, name) {
  await visitor.inspect(name);
  await visitor.fitsEveryWidth();
}

/** The page of a sale in each phase, and the list with all of them. */
async function phases({ shop }, visitor) {
  const sales = {
    upcoming: await shop.newSale({ goods: GOODS.headphones, opensIn: 30 * 3_600_000 }),
    open: await shop.openSale({ goods: GOODS.sneakers, limit: 3 }),
    sold_out: await shop.openSale({ goods: GOODS.espresso, total: 1 }),
    paused: await shop.openSale({ goods: GOODS.phone, total: 8 }),
    ended: await shop.openSale({ goods: GOODS.sneakers }),
  };
  await (await shop.register()).buy(sales.sold_out);
  await (await shop.register()).buy(sales.paused);
  await shop.act(sales.paused, 'pause');
  await shop.act(sales.ended, 'stop');
  for (const [phase, sale] of Object.entries(sales)) {
    await shop.shows(sale, phase);
    await visitor.go(`/sales/${sale}`);
    await visitor.page.locator(`.clock[data-phase="${phase}"]`).waitFor();
    await look(visitor, `sale-${phase}`);
  }
  await visitor.switchLanguage();
  await visitor.go('/');
  await visitor.page.locator('.badge:not(:empty)').first().waitFor();
  await visitor.page.locator('.past .card').first().waitFor();
  await look(visitor, 'list');
  await visitor.switchLanguage();
}

/** Login and registration, with and without mistakes. The form shows the username again, but not the password. */
async function logInAndRegister(visitor) {
  const { page, labels } = visitor;
  visitor.expect(401, /\/login$/);
  visitor.expect(409, /\/register$/);
  await visitor.go('/login');
  await look(visitor, 'login');
  await visitor.fillCredentials('admin', 'not the password');
  await visitor.button(labels.logIn).click();
  await page.getByRole('alert').waitFor();
  same(await page.getByLabel(labels.username).inputValue(), 'admin');
  await look(visitor, 'login-wrong');
  await visitor.go('/register');
  await look(visitor, 'register');
  await visitor.fillCredentials('admin');
  await visitor.button(labels.register).click();
  await page.getByRole('alert').waitFor();
  same(await page.getByLabel(labels.username).inputValue(), 'admin');
  await look(visitor, 'register-taken');
}

/** The pages of an account. */
async function accountPages(visitor) {
  const { page } = visitor;
  const pages = [
    ['/account', 'account'],
    ['/account/second-factor', 'second-factor'],
    ['/account/addresses', 'addresses-empty'],
    ['/account/addresses/new', 'address-new'],
  ];
  for (const [path, name] of pages) {
    same((await visitor.go(path)).status(), 200, path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await look(visitor, name);
  }
  await visitor.account.ask('POST', '/api/addresses', { address: sentAddress(visitor) });
  await visitor.go('/account/addresses');
  await page.locator('address.place').waitFor();
  await look(visitor, 'addresses');
}

async function unknownPages(visitor) {
  visitor.expect(404, /\/nowhere$/);
  visitor.expect(404, /^\/admin$/);
  await visitor.go('/nowhere');
  await look(visitor, 'not-found');
  await visitor.goAdmin();
  ok(await visitor.page.locator('.message').isVisible(), 'shoppers have no access to the console');
}
