// Details of the shop's pages: what can be chosen, errors of every field, labels below the header.

import { eventually, ok, same } from '../lib/check.mjs';

export default async function pageDetails(run) {
  await nothingToChoose(run);
  await openSaleWithoutScripts(run);
  await bothFieldsAreNamed(run);
  await labelsStayBelowTheHeader(run);
  await envelope(run);
  await listOfOrders(run);
  await describedForOthers(run);
  await mainPagesOnAPhone(run);
}

/** A phone has the main pages along the bottom. A wide screen has them in the header, and a sale's page has its button there. */
async function mainPagesOnAPhone(run) {
  const sale = await run.shop.openSale();
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page } = visitor;
  const isPhone = visitor.width < 768;
  for (const [n, path] of ['/', '/packets', '/orders', '/account'].entries()) {
    await visitor.go(path);
    same(await page.locator('.dock').isVisible(), isPhone, path);
    const marked = await page.locator('.dock a').evaluateAll((tabs) => tabs.map((tab) => tab.getAttribute('aria-current')));
    same(marked, [0, 1, 2, 3].map((of) => (of === n ? 'page' : null)), path);
    same(await page.locator('.top .language').isVisible(), true, 'the other language');
    same(await page.locator('.top nav a[href$="/orders"]:not(.language)').isVisible(), !isPhone, path);
  }
  if (isPhone) {
    await page.locator('.dock a').nth(2).click();
    await page.waitForURL(visitor.path('/orders'));
  }
  await visitor.go(`/sales/${sale}`);
  same(await page.locator('.dock').count(), 0, 'the button has its place');
}

/** If nothing can be bought, there is no quantity to choose. It can be chosen again when units return. */
async function nothingToChoose(run) {
  const { shop } = run;
  const sale = await shop.openSale({ limit: 3, total: 3 });
  const visitor = await run.visit();
  const quantity = visitor.page.locator('.buy [name="quantity"]');
  await visitor.go(`/sales/${sale}`);
  await visitor.page.locator('.clock[data-phase="open"]').waitFor();
  ok(await quantity.isEnabled());
  const winner = await shop.register();
  const order = await winner.buy(sale, 3);
  await visitor.page.locator('.clock[data-phase="sold_out"]').waitFor();
  await eventually('a sold-out sale has no quantity', () => quantity.isDisabled());
  await winner.ask('POST', `/api/sales/${sale}/orders/${order.id}/cancel`);
  await visitor.page.locator('.clock[data-phase="open"]').waitFor();
  await eventually('returned units can be chosen', () => quantity.isEnabled());
  await shop.act(sale, 'stop');
  await visitor.page.locator('.clock[data-phase="ended"]').waitFor();
  await eventually('an ended sale has no quantity', () => quantity.isDisabled());
  await visitor.inspect('ended-quantity');
}

async function openSaleWithoutScripts(run) {
  const sale = await run.shop.openSale({ limit: 2 });
  const visitor = await run.visit({ scripts: false });
  const words = visitor.locale === 'zh' ? '正在抢购' : 'The sale is open';
  await eventually('the page says that the sale is open', async () => {
    await visitor.go(`/sales/${sale}`);
    return (await visitor.slot('hint').textContent()).includes(words);
  });
  await visitor.inspect('open-without-scripts');
}

async function bothFieldsAreNamed(run) {
  const visitor = await run.visit();
  const { page, labels } = visitor;
  visitor.expect(422, /\/register$/);
  await visitor.go('/register');
  await visitor.fillCredentials('!', 'short');
  await visitor.button(labels.register).click();
  await page.locator('#problem-bad_username').waitFor();
  await page.locator('#problem-weak_password').waitFor();
  for (const field of ['#username', '#password']) same(await page.locator(field).getAttribute('aria-invalid'), 'true', field);
  await visitor.inspect('register-both-wrong');
}

/** Going back through a form by keyboard shows every label. */
async function labelsStayBelowTheHeader(run) {
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page } = visitor;
  await page.setViewportSize({ width: visitor.width, height: 500 });
  await visitor.go('/account/addresses/new');
  await page.locator('#line2').focus();
  for (const field of ['line1', 'city', 'region', 'country', 'phone', 'recipient']) {
    // Scrolls to the end, so that each field has to be scrolled to.
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
    await page.locator(`#${field}`).focus();
    await eventually(`the label of ${field} is visible`, () => page.evaluate((id) => {
      const label = document.querySelector(`label[for="${id}"]`);
      return label.getBoundingClientRect().top >= document.querySelector('.top').getBoundingClientRect().bottom;
    }, field));
  }
}

/** No text crosses the edge of the flap, and nothing is said twice. */
async function envelope(run) {
  const { admin } = run.shop;
  const give = async (more) => (await admin.ask('POST', '/api/packets', { total: 100, count: 1, min: 100, max: 100, ...more })).packet.id;
  const packets = {
    open: await give({ greeting: run.locale === 'zh' ? '恭喜发财，万事如意，心想事成，年年有余，岁岁平安' : 'Health, wealth and a very happy new year to all of our friends' }),
    upcoming: await give({ opens_at: new Date(Date.now() + 3_600_000).toISOString() }),
    empty: await give(),
  };
  await (await run.shop.register()).ask('POST', `/api/packets/${packets.empty}/claims`, {});
  const visitor = await run.visit();
  for (const [name, id] of Object.entries(packets)) {
    await visitor.go(`/packets/${id}`);
    const crossing = await visitor.page.evaluate(() => {
      const edge = document.querySelector('.flap').getBoundingClientRect().bottom;
      const texts = [...document.querySelectorAll('.envelope p, .envelope h1')].map((e) => [e.textContent, e.getBoundingClientRect()]);
      return texts.filter(([, box]) => box.height > 0 && box.top < edge && box.bottom > edge).map(([text]) => text);
    });
    same(crossing, [], `${name}: text on the edge of the flap`);
    await visitor.inspect(`envelope-${name}`);
  }
  const bare = (text) => text.replace(/[\s.。]/g, '');
  const words = (await visitor.page.locator('.envelope').innerText()).split('\n').map(bare).filter(Boolean);
  same(new Set(words).size, words.length, `said twice: ${words}`);
}

/** A row that waits for its payment counts down and pays; its number is copied. */
async function listOfOrders(run) {
  const { shop } = run;
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page, labels } = visitor;
  await visitor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const [waiting, over] = [await visitor.account.buy(await shop.openSale()), await visitor.account.buy(await shop.openSale())];
  await visitor.account.ask('POST', `/api/sales/${over.sale_id}/orders/${over.id}/cancel`);
  await visitor.go('/orders');
  const row = page.locator('ul.orders > li', { has: page.locator(`a[href$="${waiting.id}"]`) });
  await eventually('a countdown', async () => /^\d\d:\d\d:\d\d$/.test(await row.locator('[data-pay-by]').textContent()));
  same(await page.locator('[data-pay-by]').count(), 1, 'other rows wait for nothing');
  same(await page.locator('.filters .count').allTextContents(), ['2', '1', '1']);
  await visitor.inspect('orders-waiting');
  await eventually('the number is copied', async () => {
    // The journeys of a run share one clipboard.
    await row.locator('[data-copy-text]').click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    return /^\d{8}-\d{6,9}$/.test(copied) && (await row.innerText()).includes(copied);
  });
  visitor.expect(422, /\/pay$/);
  await row.getByRole('button', { name: labels.pay }).click();
  await page.locator('#recipient').waitFor();
}

/** A sale describes itself to search engines and previews of links. */
async function describedForOthers(run) {
  const sale = await run.shop.openSale();
  const visitor = await run.visit();
  await visitor.go(`/sales/${sale}`);
  const product = JSON.parse(await visitor.page.locator('script[type="application/ld+json"]').first().textContent());
  same([product['@type'], product.offers.price, product.offers.priceCurrency], ['Product', '1999.00', 'CNY']);
  same(await visitor.page.locator('meta[property="og:title"]').getAttribute('content'), product.name);
  const map = await (await visitor.page.request.get('/sitemap.xml')).text();
  ok(map.includes(visitor.path(`/sales/${sale}</loc>`)), map);
}
