// Pages at sizes between a phone and a wide screen: nothing covers anything, the button is in reach, pictures are sharp, and
// every page of the console has a title of its own.

import { eventually, ok, same } from '../lib/check.mjs';
import { png } from '../lib/png.mjs';
import { GOODS } from '../lib/shop.mjs';

const LANDSCAPE = { width: 844, height: 390 };
const TABLET = { width: 768, height: 1024 };

export default async function layouts(run) {
  const visitor = await (await run.visit()).logInAsNewUser();
  const sale = await run.shop.openSale({ total: 20, limit: 3 });
  await buttonIsInReach(visitor, sale);
  await barCoversNothing(visitor, sale);
  await galleryFollowsItsThumbnails(visitor);
  // The goods of the first sale and those that lead the list, being nearly sold out, get a picture wider than the page.
  for (const goods of [GOODS.phone, GOODS.mug]) await givePicture(run.shop, goods, 2400, 1800);
  await picturesAreSharp(visitor);
  await orderRowsDoNotOverlap(run, visitor, sale);
  const staff = await (await run.visit()).logInAs(run.shop.admin);
  await consoleBeginsWithWhatMatters(staff, sale);
  await consoleCardsAreCompact(staff, sale);
  await tablesFitEveryWidth(staff);
  await titlesDiffer(staff);
  await buttonIsExplained(visitor, await run.shop.openSale({ total: 20, limit: 3 }));
  await fourOffersOnAPhone(run, visitor);
  await clocksAreWhole(run, visitor);
  await picturesAreWhole(run.shop, visitor);
}

async function openSale(visitor, sale) {
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('button').and(visitor.page.locator(':enabled')).waitFor();
}

/** On a phone in landscape the button is there without scrolling. */
async function buttonIsInReach(visitor, sale) {
  await visitor.page.setViewportSize(LANDSCAPE);
  await openSale(visitor, sale);
  const { y, height } = await visitor.slot('button').boundingBox();
  ok(y >= 0 && y + height <= LANDSCAPE.height, `the button is from ${y} to ${y + height}`);
  await visitor.inspect('sale-landscape');
}

/** Countdown and stock, which the bar at the lower edge of a tablet's page might cover. */
async function barCoversNothing(visitor, sale) {
  await visitor.page.setViewportSize(TABLET);
  await openSale(visitor, sale);
  await visitor.slot('left').waitFor();
  const covered = await visitor.page.evaluate(() => ['.clock .when', '[data-slot="left"]', '.offer h1', '.prices'].filter((part) => {
    const element = document.querySelector(part);
    const { left, top, width, height } = element.getBoundingClientRect();
    return !element.contains(document.elementFromPoint(left + Math.min(width / 2, 20), top + height / 2));
  }));
  same(covered, [], 'parts that are covered or out of view');
  await visitor.inspect('sale-tablet');
}

/** Thumbnails, which are dots on a phone, scroll the strip; so do the arrow keys. The visible picture's thumbnail is marked. */
async function galleryFollowsItsThumbnails({ page }) {
  const marked = () => page.locator('.thumbs a').evaluateAll((all) => all.findIndex((thumb) => thumb.hasAttribute('aria-current')));
  for (const size of [{ width: 390, height: 844 }, { width: 1280, height: 800 }]) {
    await page.setViewportSize(size);
    await page.reload();
    await eventually('the first picture is marked', async () => (await marked()) === 0);
    await page.locator('.thumbs a').nth(1).click();
    await eventually('the second picture is marked', async () => (await marked()) === 1);
    await page.locator('.strip').press('ArrowLeft');
    await eventually('the first picture is marked again', async () => (await marked()) === 0);
  }
}

async function givePicture({ origin, admin }, goods, width, height) {
  const response = await fetch(`${origin}/api/admin/goods/${goods}/image`, {
    method: 'PUT',
    headers: { cookie: admin.cookie, 'content-type': 'image/png' },
    body: png(width, height),
  });
  same(response.status, 200);
}

/** The large picture of the list is chosen for its own width, not for the width of a card. */
async function picturesAreSharp(visitor) {
  const { page } = visitor;
  for (const width of [1024, 1152, 1280, 1920]) {
    await page.setViewportSize({ width, height: 1000 });
    const image = page.locator('.hero picture img').first();
    await eventually('the picture is on the list', async () => { await visitor.go('/'); return image.count(); });
    await image.evaluate((element) => element.decode());
    const { shown, chosen, largest } = await image.evaluate((element) => {
      const sources = [...element.closest('picture').querySelectorAll('[srcset]')].flatMap((source) => source.srcset.split(','));
      const sizes = sources.map((source) => source.trim().split(' ')).map(([url, size]) => [new URL(url, location).href, Number.parseInt(size, 10)]);
      return {
        shown: element.clientWidth * devicePixelRatio,
        chosen: new Map(sizes).get(element.currentSrc),
        largest: Math.max(...sizes.map(([, size]) => size)),
      };
    });
    ok(chosen >= Math.min(shown, largest), `at ${width} a picture of ${chosen} for ${shown} pixels`);
  }
}

/** The line below the button is whole at every width. */
async function buttonIsExplained(visitor, sale) {
  const { page } = visitor;
  for (const [width, height] of [[360, 640], [390, 844], [768, 1024], [844, 390], [1024, 768], [1280, 800], [1920, 1080]]) {
    await page.setViewportSize({ width, height });
    await openSale(visitor, sale);
    await eventually('the hint', async () => /\S/.test(await visitor.slot('hint').textContent()));
    const [text, hint, view] = await visitor.slot('hint').evaluate((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return [range.getBoundingClientRect(), element.getBoundingClientRect(), innerHeight].map((box) => (box.bottom ? [box.top, box.bottom] : box));
    });
    const button = await visitor.slot('button').boundingBox();
    ok(text[1] - text[0] > 10 && text[1] <= hint[1] + 1, `at ${width} the hint ends at ${hint[1]}, its text at ${text[1]}`);
    ok(text[1] <= view || button.y + button.height > view, `at ${width} the button is in view, its hint is not`);
  }
}

/** The part of a page that is in view on a phone, below which its main pages lie. */
const PHONE = { width: 390, height: 844 };

/** The first screen of a phone has four offers: price, bar and button of each are in view. */
async function fourOffersOnAPhone(run, visitor) {
  const { shop } = run;
  const { page } = visitor;
  await page.setViewportSize(PHONE);
  const sales = [];
  for (const goods of ['1', '2', '3', '4']) sales.push(await shop.openSale({ goods, total: 100, closesIn: 3_600_000 }));
  const inView = () => page.evaluate(() => {
    const top = document.querySelector('.top').getBoundingClientRect().bottom;
    const bottom = document.querySelector('.dock').getBoundingClientRect().top;
    const isIn = (element) => { const box = element?.getBoundingClientRect(); return box?.height > 0 && box.top >= top && box.bottom <= bottom && box.left >= 0 && box.right <= innerWidth; };
    return [...document.querySelectorAll('.card')].filter((card) => ['.price', 'progress', '.go'].every((part) => isIn(card.querySelector(part)))).length;
  });
  await eventually('four offers are in view', async () => { await visitor.go('/'); await page.locator('.card progress:visible').nth(3).waitFor({ timeout: 5000 }); return (await inView()) >= 4; }, 20_000)
    .catch(async (error) => { throw new Error(`${await inView()} offers are in view: ${error.message}`); });
  const bar = await page.locator('.top').boundingBox();
  ok(bar.height <= 49, `logo and search are in one bar of ${bar.height}`);
  ok(await page.locator('.top [role="search"] input').isVisible());
  ok(await visitor.button(visitor.labels.logOut).isVisible(), 'the log-out is in reach');
  for (const sale of sales) await shop.act(sale, 'stop');
}

/** A clock of days is not cut off. */
async function clocksAreWhole(run, visitor) {
  const { page } = visitor;
  const sale = await run.shop.newSale({ goods: '2', opensIn: 3 * 86_400_000 });
  await run.shop.shows(sale, 'upcoming');
  for (const width of [360, 390, 768, 1024, 1280]) {
    await page.setViewportSize({ width, height: 844 });
    const clock = (await visitor.findOnList(sale)).locator('[data-slot="live"]');
    await eventually('a clock', async () => /\d\d:\d\d/.test(await clock.textContent()));
    const [shown, needed, room] = await clock.evaluate((element) => {
      const text = document.createRange();
      text.selectNodeContents(element);
      return [element.getBoundingClientRect().right, text.getBoundingClientRect().right, element.closest('.body').getBoundingClientRect().right];
    });
    ok(needed <= shown + 1 && needed <= room, `at ${width} the clock needs ${needed} and has ${shown} of ${room}`);
  }
  await run.shop.act(sale, 'unschedule');
}

/** Photographs of every shape are shown whole, on the list and on the page of a sale. */
async function picturesAreWhole(shop, visitor) {
  const { page } = visitor;
  const shapes = [[GOODS.phone, 900, 1200], [GOODS.sneakers, 1000, 1000], [GOODS.espresso, 1200, 900], [GOODS.headphones, 1600, 900]];
  const pages = [];
  for (const [goods, width, height] of shapes) {
    await givePicture(shop, goods, width, height);
    pages.push([`/sales/${await shop.openSale({ goods })}`, width / height]);
  }
  const photo = page.locator('.photo picture img').first();
  const shape = () => photo.evaluate(async (image) => { await image.decode(); return image.naturalWidth / image.naturalHeight; });
  const has = async (path, ratio) => { await visitor.go(path); return Math.abs(await shape() - ratio) < 0.01; };
  for (const [path, ratio] of pages) await eventually(`${path} has the new picture`, () => has(path, ratio));
  for (const screen of [PHONE, TABLET, { width: 1280, height: 800 }]) {
    await page.setViewportSize(screen);
    for (const path of ['/', ...pages.map(([path]) => path)]) {
      await visitor.go(path);
      await shape();
      const [cropped, narrow] = await page.locator('.photo picture img').evaluateAll((all) => {
        const shown = all.filter((image) => image.complete && image.naturalWidth > 0 && image.getBoundingClientRect().width > 1);
        const isWhole = (image) => {
          const { width: w, height: h } = image.getBoundingClientRect();
          return getComputedStyle(image).objectFit === 'contain' || Math.abs(w / h - image.naturalWidth / image.naturalHeight) < 0.01;
        };
        const first = shown[0].getBoundingClientRect();
        return [shown.filter((image) => !isWhole(image)).length, Math.min(first.width, first.height)];
      });
      same(cropped, 0, `${path} at ${screen.width}`);
      ok(narrow >= 140, `a strip of ${narrow} at ${screen.width} on ${path}`);
    }
  }
}

/** No text of a row lies on another. */
async function orderRowsDoNotOverlap(run, visitor, sale) {
  const { page } = visitor;
  await visitor.account.buy(sale, 3);
  await visitor.account.buy(await run.shop.openSale({ total: 5 }));
  for (const width of [390, 600, 768, 900, 1024, 1280]) {
    await page.setViewportSize({ width, height: 1000 });
    await visitor.go('/orders');
    await eventually('a countdown', async () => /^\d\d:\d\d:\d\d$/.test(await page.locator('[data-pay-by]').first().textContent()));
    const overlaps = await page.locator('ul.orders > li').evaluateAll((rows) => rows.flatMap((row) => {
      const texts = [...row.querySelectorAll('*')]
        .filter((element) => element.children.length === 0 && element.textContent.trim() && element.checkVisibility() && !element.closest('.visually-hidden, .by'))
        .map((element) => [element.textContent.trim(), element.getBoundingClientRect()]);
      const lie = (one, other) => one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1;
      return texts.flatMap(([text, box], n) => texts.slice(n + 1).filter(([, other]) => lie(box, other)).map(([other]) => `${text} / ${other}`));
    }));
    same(overlaps, [], `texts on each other at ${width}`);
  }
  await page.setViewportSize(TABLET);
  await visitor.inspect('orders-tablet');
}

/** On a phone the first sale of the list, and title and first figures of a cockpit, are there without scrolling. */
async function consoleBeginsWithWhatMatters(visitor, sale) {
  const { page } = visitor;
  const endOf = async (part) => { const { y, height } = await page.locator(part).first().boundingBox(); return y + height; };
  await page.setViewportSize({ width: 390, height: 844 });
  await visitor.goAdmin();
  ok(await endOf('[data-sale]') <= 844, 'the first sale is in view');
  ok(await page.locator('[data-figure="to_do"] .value').isVisible(), 'and so is what waits for a person');
  same(await page.locator('.tabs').isVisible(), false, 'the places come on request');
  await page.locator('.places > summary').click();
  ok(await page.locator('.tabs a').last().isVisible());
  await visitor.inspect('console-places');
  await page.keyboard.press('Escape');
  same(await page.locator('.tabs').isVisible(), false, 'Escape folds them');
  await visitor.goAdmin(`/sales/${sale}`);
  ok(await endOf('h1') <= 422 && await endOf('.live-tiles > div') <= 844, 'title and first figure are in view');
  await page.setViewportSize({ width: 1280, height: 900 });
  await visitor.goAdmin();
  ok(await page.locator('.tabs a').first().isVisible() && await page.locator('.quick [type="search"]').isVisible(), 'a wide screen shows them at once');
}

/** On a phone a row of the console's lists is a few lines. Its menu has the actions, and folds when another part is pressed. */
async function consoleCardsAreCompact(visitor, sale) {
  const { page } = visitor;
  const heights = (cards) => page.locator(cards).evaluateAll((all) => all.map((card) => card.offsetHeight));
  await page.setViewportSize({ width: 390, height: 844 });
  for (const [path, cards, most] of [['/goods', '.goods-list tbody tr', 115], ['', '[data-sale]', 185]]) {
    await visitor.goAdmin(path);
    const found = await heights(cards);
    ok(found.length > 0 && Math.max(...found) <= most, `${cards} of ${found} pixels`);
  }
  const row = page.locator(`tr[data-sale="${sale}"]`);
  const actions = row.locator('.ask > summary, .acts > a');
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await visitor.goAdmin();
    same(await actions.first().isVisible(), false, 'the actions are in the menu');
    await row.locator('.menu > summary').click();
    ok(await actions.first().isVisible() && await actions.last().isVisible(), 'the menu has the actions');
    await visitor.inspect('console-menu');
    await page.locator('h1').click();
    same(await actions.first().isVisible(), false, 'the menu is folded again');
  }
}

/** Tables of the console are as wide as the window, even between a phone and a wide screen. */
async function tablesFitEveryWidth(visitor) {
  const { page } = visitor;
  for (const path of ['/orders', '/users', '/log']) {
    await visitor.goAdmin(path);
    await page.locator('table.dense tbody tr').first().waitFor();
    for (const width of [390, 600, 769, 844, 900, 961, 1024]) {
      await page.setViewportSize({ width, height: 600 });
      same(await page.evaluate(() => document.documentElement.scrollWidth), width, `${path} at ${width}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function titlesDiffer(visitor) {
  const { page } = visitor;
  await visitor.goAdmin();
  const pages = await page.locator('nav a[href^="/admin"]').evaluateAll((links) => [...new Set(links.map((link) => new URL(link.href).pathname))]);
  ok(pages.length >= 8, `the console's menu has ${pages}`);
  const titles = [];
  for (const path of pages) {
    await page.goto(`${path}?lang=${visitor.locale}`);
    titles.push(await page.title());
  }
  same(new Set(titles).size, titles.length, `titles of ${pages}: ${titles}`);
}
