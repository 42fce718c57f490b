// Red packets: one user gives, three claim, the luckiest is shown, and unclaimed money comes back. Then staff create a rain
// of red packets, watch it, and stop it.

import { eventually, ok, same } from '../lib/check.mjs';
import { confirmAction, isConfirmed } from '../lib/console.mjs';

const STOP = { zh: '停止', en: 'Stop' };
const GREETING = { zh: '新年快乐', en: 'Happy new year' };

export default async function packets(run) {
  const { shop } = run;
  const giver = await (await run.visit()).logInAsNewUser();
  await giver.account.fillWallet(30_000);
  const id = await give(giver);
  const shares = [await opensByScript(await run.visit(), shop, id)];
  shares.push(await opensByForm(await run.visit({ scripts: false }), shop, id));
  shares.push(await opensAgain(await run.visit(), shop, id));
  same(shares.reduce((sum, share) => sum + share, 0), 10_000, 'the shares add up to the total');
  await comesTooLate(await run.visit(), shop, id);
  await luckiestIsShown(giver, id, shares);
  await listsAreRight(giver);
  await restComesBack(giver, shop);
  await rain(run, await (await run.visit()).logInAs(shop.admin));
}

async function give(visitor) {
  const { page, locale } = visitor;
  await visitor.go('/packets');
  await page.locator('.empty').waitFor();
  await visitor.inspect('packets-empty');
  await visitor.go('/packets/new');
  await visitor.inspect('packet-new');
  await visitor.switchLanguage();
  visitor.expect(409, /\/packets$/);
  visitor.expect(422, /\/packets$/);
  await page.locator('#total').fill('0.01');
  await page.locator('#count').fill('3');
  await page.locator('button[value="preview"]').click();
  await page.locator('.give .wrong').first().waitFor();
  await page.locator('#total').fill('1000');
  await page.locator('.samples li').first().waitFor();
  same(await page.locator('.samples li').count(), 3, 'the example follows the input');
  await page.locator('.give .big').click();
  await page.locator('#total-wrong').waitFor();
  await visitor.inspect('packet-not-enough');
  await page.locator('#total').fill('100');
  await page.locator('#greeting').fill(GREETING[locale]);
  await page.locator('.give .big').click();
  await page.waitForURL(visitor.path('/packets/*/given'));
  await visitor.inspect('packet-given');
  const link = await page.locator('#link').inputValue();
  ok(link.startsWith(visitor.shop.origin), link);
  same(await visitor.account.balance(), 20_000);
  return link.split('/').at(-1);
}

async function got(page) {
  const text = await page.locator('.luck').textContent();
  return Math.round(Number(text.replace(/[¥,]/g, '')) * 100);
}

/** A visitor without a session follows the link, logs in, and returns to the packet. */
async function opensByScript(visitor, shop, id) {
  const { page } = visitor;
  visitor.expect(401, /\/claims$/);
  await page.goto(`/packets/${id}`);
  await page.waitForURL(`/*/packets/${id}`);
  await visitor.go(`/packets/${id}`);
  await visitor.inspect('packet');
  await visitor.switchLanguage();
  await page.locator('.coin').click();
  await page.waitForURL(visitor.path('/login?*'));
  const { username } = await shop.register();
  await visitor.fillCredentials(username);
  await visitor.button(visitor.labels.logIn).click();
  await page.waitForURL(visitor.path(`/packets/${id}`));
  await page.locator('.coin').click();
  await page.waitForURL(visitor.path(`/packets/${id}/result?opened=1`));
  await visitor.inspect('packet-got');
  return got(page);
}

async function opensByForm(visitor, shop, id) {
  await visitor.logInAs(await shop.register());
  await visitor.go(`/packets/${id}`);
  await visitor.page.locator('.coin').click();
  await visitor.page.waitForURL(visitor.path(`/packets/${id}/result?opened=1`));
  return got(visitor.page);
}

/** A second claim returns the same share. */
async function opensAgain(visitor, shop, id) {
  const { page } = visitor;
  await visitor.logInAs(await shop.register());
  const { claim } = await visitor.account.ask('POST', `/api/packets/${id}/claims`);
  await visitor.go(`/packets/${id}/result`);
  const share = await got(page);
  same(share, claim.amount.amount);
  return share;
}

async function comesTooLate(visitor, shop, id) {
  const { page } = visitor;
  visitor.expect(409, /\/claims$/);
  await visitor.logInAs(await shop.register());
  await eventually('the page knows that it is empty', async () => {
    await visitor.go(`/packets/${id}`);
    return page.locator('main[data-phase="empty"]').isVisible();
  });
  await visitor.inspect('packet-empty');
  await page.locator('.more a').click();
  await page.waitForURL(visitor.path(`/packets/${id}/result`));
  same(await page.locator('.luck').count(), 0);
}

async function luckiestIsShown(visitor, id, shares) {
  const { page } = visitor;
  await eventually('the luckiest is marked', async () => {
    await visitor.go(`/packets/${id}/result`);
    return page.locator('.lucky .best').isVisible();
  });
  same(await page.locator('.lucky li').count(), 3);
  const best = await page.locator('.lucky .best .what-got > strong').textContent();
  same(Math.round(Number(best.replace('¥', '')) * 100), Math.max(...shares));
  await visitor.inspect('packet-luckiest');
}

async function listsAreRight(visitor) {
  const { page } = visitor;
  await visitor.go('/packets');
  same(await page.locator('.packets li').count(), 1);
  await visitor.inspect('packets');
  await visitor.switchLanguage();
  await visitor.go('/packets?list=received');
  await page.locator('.empty').waitFor();
}

/** Staff stop a packet without claims. */
async function restComesBack(visitor, shop) {
  const { packet } = await visitor.account.ask('POST', '/api/packets', { total: 5000, count: 5, greeting: '' });
  same(await visitor.account.balance(), 15_000);
  await shop.admin.ask('POST', `/api/admin/packets/${packet.id}/stop`);
  await eventually('the rest is back', async () => (await visitor.account.balance()) === 20_000);
  await visitor.go('/wallet');
  await visitor.inspect('wallet-packets');
  await visitor.go(`/packets/${packet.id}/result`);
  await visitor.inspect('packet-expired');
}

async function rain(run, visitor) {
  const { page, locale } = visitor;
  visitor.expect(422, /\/admin\/packets$/);
  await visitor.goAdmin('/packets');
  await visitor.goAdmin('/packets/new');
  await page.locator('#total').fill('1000');
  await page.locator('#count').fill('x');
  await page.locator('.give .big').click();
  await page.locator('#count-wrong').waitFor();
  await visitor.inspect('admin-packet-wrong');
  await page.locator('#count').fill('1000');
  await page.locator('#greeting').fill(GREETING[locale]);
  await page.locator('.give .big').click();
  await page.waitForURL(/\/admin\/packets\/\d+\?.*done=fund/);
  await isConfirmed(visitor);
  const id = new URL(page.url()).pathname.split('/').at(-1);
  const shoppers = await Promise.all(Array.from({ length: 3 }, () => run.shop.register()));
  await Promise.all(shoppers.map((shopper) => eventually('a share', () => shopper.ask('POST', `/api/packets/${id}/claims`))));
  await eventually('the console shows the claims', async () => (await visitor.slot('claimed').textContent()) === '3');
  await page.locator('.curve polyline[points*=" "]').waitFor();
  await visitor.inspect('admin-packet');
  await confirmAction(visitor, page.locator('main article').first(), STOP[locale], 'admin-packet-stop');
  await visitor.goAdmin('/packets');
  await visitor.inspect('admin-packets');
}
