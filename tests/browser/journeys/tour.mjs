// Every page that a shopper can see without buying, each examined. `desks` does the same for the console.

import { placeOf } from '../lib/address.mjs';
import { ok, same } from '../lib/check.mjs';
import { GOODS } from '../lib/shop.mjs';

export default async function tour(stage) {
  const visitor = await stage.visit();
  await phases(stage, visitor);
  await doors(visitor);
  await visitor.signInAsSomebody();
  await visitor.go('/orders');
  await visitor.look('orders-empty');
  await visitor.switchLanguage();
  await ownPages(visitor);
  await nowhere(visitor);
}

/** The page of a sale in each phase, and the list that has them all. */
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
    await visitor.look(`sale-${phase}`);
  }
  await visitor.switchLanguage();
  await visitor.go('/');
  await visitor.page.locator('.badge:not(:empty)').first().waitFor();
  await visitor.page.locator(`.past .card[data-sale="${sales.ended}"]`).waitFor();
  await visitor.look('list');
  await visitor.switchLanguage();
}

/** Signing in and registering, with and without mistakes: what was typed stays, but for the password. */
async function doors(visitor) {
  const { page, words } = visitor;
  visitor.expect(401, /\/login$/);
  visitor.expect(409, /\/register$/);
  await visitor.go('/login');
  await visitor.look('login');
  await visitor.fillCredentials('admin', 'not the password');
  await visitor.button(words.logIn).click();
  await page.getByRole('alert').waitFor();
  same(await page.getByLabel(words.username).inputValue(), 'admin');
  await visitor.look('login-wrong');
  await visitor.go('/register');
  await visitor.look('register');
  await visitor.fillCredentials('admin');
  await visitor.button(words.register).click();
  await page.getByRole('alert').waitFor();
  same(await page.getByLabel(words.username).inputValue(), 'admin');
  await visitor.look('register-taken');
}

/** What belongs to an account. */
async function ownPages(visitor) {
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
    await visitor.look(name);
  }
  await visitor.account.ask('POST', '/api/addresses', { address: placeOf(visitor) });
  await visitor.go('/account/addresses');
  await page.locator('address.place').waitFor();
  await visitor.look('addresses');
}

async function nowhere(visitor) {
  visitor.expect(404, /\/nowhere$/);
  visitor.expect(404, /^\/admin$/);
  await visitor.go('/nowhere');
  await visitor.look('not-found');
  await visitor.goAdmin();
  ok(await visitor.page.locator('.message').isVisible(), 'shoppers have no sales desk');
}
