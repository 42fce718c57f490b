// Red packets: one gives, three claim, the luckiest is shown, and what nobody claims comes back. Then the shop makes it
// rain, watches, and stops it.

import { eventually, ok, same } from '../lib/check.mjs';
import { decide, praised } from '../lib/desk.mjs';

const STOP = { zh: '停止', en: 'Stop' };
const GREETING = { zh: '新年快乐', en: 'Happy new year' };

export default async function packets(stage) {
  const { shop } = stage;
  const giver = await (await stage.visit()).signInAsSomebody();
  await fill(giver.account, 30_000);
  const id = await give(giver);
  const shares = [await opensByScript(await stage.visit(), shop, id)];
  shares.push(await opensByForm(await stage.visit({ scripts: false }), shop, id));
  shares.push(await opensAgain(await stage.visit(), shop, id));
  same(shares.reduce((sum, share) => sum + share, 0), 10_000, 'the shares are the whole');
  await comesTooLate(await stage.visit(), shop, id);
  await luckiestIsShown(giver, id, shares);
  await listsAreRight(giver);
  await restComesBack(giver, shop);
  await rain(stage, await (await stage.visit()).carry(shop.admin));
}

/** Money in somebody's wallet, as a program brings it there. */
async function fill(account, amount) {
  const { payment } = await account.ask('POST', '/api/wallet/top-ups', { amount: { amount, currency: 'CNY' } });
  await fetch(`${account.origin}/sandbox/cashier/${payment.id}/pay`, { method: 'POST', redirect: 'manual' });
  await eventually('the wallet is filled', () => balance(account));
}

const balance = (account) => account.ask('GET', '/api/wallet').then((wallet) => wallet.balance.amount);

async function give(visitor) {
  const { page, locale } = visitor;
  await visitor.go('/packets');
  await page.locator('.empty').waitFor();
  await visitor.look('packets-empty');
  await visitor.go('/packets/new');
  await visitor.look('packet-new');
  await visitor.switchLanguage();
  visitor.expect(409, /\/packets$/);
  await page.locator('#total').fill('1000');
  await page.locator('#count').fill('3');
  await page.locator('.samples li').first().waitFor();
  same(await page.locator('.samples li').count(), 3, 'the example follows what is typed');
  await page.locator('.give .big').click();
  await page.locator('#total-wrong').waitFor();
  await visitor.look('packet-not-enough');
  await page.locator('#total').fill('100');
  await page.locator('#greeting').fill(GREETING[locale]);
  await page.locator('.give .big').click();
  await page.waitForURL(visitor.path('/packets/*/given'));
  await visitor.look('packet-given');
  const link = await page.locator('#link').inputValue();
  ok(link.startsWith(visitor.shop.origin), link);
  same(await balance(visitor.account), 20_000);
  return link.split('/').at(-1);
}

async function got(page) {
  const text = await page.locator('.luck').textContent();
  return Math.round(Number(text.replace(/[¥,]/g, '')) * 100);
}

/** A stranger follows the link, logs in, and comes back to the packet. */
async function opensByScript(visitor, shop, id) {
  const { page } = visitor;
  visitor.expect(401, /\/claims$/);
  await page.goto(`/packets/${id}`);
  await page.waitForURL(`/*/packets/${id}`);
  await visitor.go(`/packets/${id}`);
  await visitor.look('packet');
  await visitor.switchLanguage();
  await page.locator('.coin').click();
  await page.waitForURL(visitor.path('/login?*'));
  const { username } = await shop.register();
  await visitor.fillCredentials(username);
  await visitor.button(visitor.words.logIn).click();
  await page.waitForURL(visitor.path(`/packets/${id}`));
  await page.locator('.coin').click();
  await page.waitForURL(visitor.path(`/packets/${id}/result?opened=1`));
  await visitor.look('packet-got');
  return got(page);
}

async function opensByForm(visitor, shop, id) {
  await visitor.carry(await shop.register());
  await visitor.go(`/packets/${id}`);
  await visitor.page.locator('.coin').click();
  await visitor.page.waitForURL(visitor.path(`/packets/${id}/result?opened=1`));
  return got(visitor.page);
}

/** Whoever opens twice has one share. */
async function opensAgain(visitor, shop, id) {
  const { page } = visitor;
  await visitor.carry(await shop.register());
  const { claim } = await visitor.account.ask('POST', `/api/packets/${id}/claims`);
  await visitor.go(`/packets/${id}/result`);
  const share = await got(page);
  same(share, claim.amount.amount);
  return share;
}

async function comesTooLate(visitor, shop, id) {
  const { page } = visitor;
  visitor.expect(409, /\/claims$/);
  await visitor.carry(await shop.register());
  await eventually('the page knows that it is empty', async () => {
    await visitor.go(`/packets/${id}`);
    return page.locator('main[data-phase="empty"]').isVisible();
  });
  await visitor.look('packet-empty');
  await page.locator('.more a').click();
  await page.waitForURL(visitor.path(`/packets/${id}/result`));
  same(await page.locator('.luck').count(), 0);
}

async function luckiestIsShown(visitor, id, shares) {
  const { page } = visitor;
  await eventually('somebody wears the crown', async () => {
    await visitor.go(`/packets/${id}/result`);
    return page.locator('.lucky .best').isVisible();
  });
  same(await page.locator('.lucky li').count(), 3);
  const best = await page.locator('.lucky .best .what-got > strong').textContent();
  same(Math.round(Number(best.replace('¥', '')) * 100), Math.max(...shares));
  await visitor.look('packet-luckiest');
}

async function listsAreRight(visitor) {
  const { page } = visitor;
  await visitor.go('/packets');
  same(await page.locator('.packets li').count(), 1);
  await visitor.look('packets');
  await visitor.switchLanguage();
  await visitor.go('/packets?list=received');
  await page.locator('.empty').waitFor();
}

/** Nobody claims this one; the shop stops it. */
async function restComesBack(visitor, shop) {
  const { packet } = await visitor.account.ask('POST', '/api/packets', { total: 5000, count: 5, greeting: '' });
  same(await balance(visitor.account), 15_000);
  await shop.admin.ask('POST', `/api/admin/packets/${packet.id}/stop`);
  await eventually('the rest is back', async () => (await balance(visitor.account)) === 20_000);
  await visitor.go('/wallet');
  await visitor.look('wallet-packets');
  await visitor.go(`/packets/${packet.id}/result`);
  await visitor.look('packet-expired');
}

async function rain(stage, visitor) {
  const { page, locale } = visitor;
  visitor.expect(422, /\/admin\/packets$/);
  await visitor.goAdmin('/packets');
  await visitor.goAdmin('/packets/new');
  await page.locator('#total').fill('1000');
  await page.locator('#count').fill('x');
  await page.locator('.give .big').click();
  await page.locator('#count-wrong').waitFor();
  await visitor.look('admin-packet-wrong');
  await page.locator('#count').fill('1000');
  await page.locator('#greeting').fill(GREETING[locale]);
  await page.locator('.give .big').click();
  await page.waitForURL(/\/admin\/packets\/\d+\?.*done=fund/);
  await praised(visitor);
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const people = await Promise.all(Array.from({ length: 3 }, () => stage.shop.register()));
  await Promise.all(people.map((who) => eventually('a share', () => who.ask('POST', `/api/packets/${id}/claims`))));
  await eventually('the desk sees them', async () => (await visitor.slot('claimed').textContent()) === '3');
  await page.locator('.curve polyline[points*=" "]').waitFor();
  await visitor.look('admin-packet');
  await decide(visitor, page.locator('main article').first(), STOP[locale], 'admin-packet-stop');
  await visitor.goAdmin('/packets');
  await visitor.look('admin-packets');
}
