// Before a sale starts and as it does: what is ready, the countdown in the button, notes that end with their phase, motion,
// what the pages weigh, and that nothing moves.

import { brotliCompressSync, constants } from 'node:zlib';

import { exampleAddress, typeAddress } from '../lib/address.mjs';
import { eventually, ok, same } from '../lib/check.mjs';

/** Enough time to look at the page in its last seconds. */
const OPENS_IN_MS = 20_000;

/** A phone as in Lighthouse. */
const PHONE = { viewport: { width: 412, height: 823 }, deviceScaleFactor: 1.75, isMobile: true, hasTouch: true };
/** Phones of today, with more pixels for each of the layout. */
const DENSE_PHONES = [2, 3].map((deviceScaleFactor) => ({ ...PHONE, viewport: { width: 390, height: 844 }, deviceScaleFactor }));
/** What the first visit of the list and of a sale may transfer, photographs included. */
const MAX_KIB = 110;
/** The sum of layout shifts while a page loads and its sale opens. */
const MAX_SHIFT = 0.02;

export default async function ready(run) {
  await readyBeforeTheRush(run);
  await readyInEveryMode(run);
  const sale = await run.shop.newSale({ opensIn: OPENS_IN_MS, total: 5 });
  await run.shop.shows(sale, 'upcoming');
  await Promise.all([lastSeconds(run, sale), nothingShifts(run, sale)]);
  await stockMoves(run);
  await pagesAreLight(run);
}

/** Adds to the styles of a page. The page accepts no styles in its HTML. */
function addStyle(page, css) {
  return page.evaluate((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    document.adoptedStyleSheets = [sheet];
  }, css);
}

/** The page marks what is true, and without a session the button leads to the log-in. */
async function readyBeforeTheRush(run) {
  const sale = await run.shop.newSale({ opensIn: 7_200_000 });
  await run.shop.shows(sale, 'upcoming');
  const visitor = await run.visit();
  const { page, labels } = visitor;
  const done = () => page.locator('[data-ready][data-done]').evaluateAll((all) => all.map((item) => item.dataset.ready));
  await visitor.go(`/sales/${sale}`);
  await visitor.button(labels.logInToBuy).waitFor();
  same(await done(), []);
  await visitor.inspect('ready-visitor');
  await visitor.button(labels.logInToBuy).click();
  await page.waitForURL(visitor.path('/register?*'));

  await visitor.logInAsNewUser();
  await visitor.go(`/sales/${sale}`);
  await page.locator('[data-ready="user"][data-done]').waitFor();
  same(await done(), ['user']);
  await page.locator('[data-ready="address"]').click();
  await page.waitForURL(visitor.path(`/account/addresses/new?sale=${sale}`));
  await eventually('the countdown goes on', async () => /^\d\d:\d\d:\d\d$/.test(await page.locator('.remaining b').textContent()));
  await visitor.inspect('ready-address');
  await typeAddress(visitor, exampleAddress(visitor));
  await visitor.button(labels.save).click();
  await page.waitForURL(visitor.path(`/sales/${sale}`));
  await page.locator('[data-ready="address"][data-done]').waitFor();
  same(await done(), ['user', 'address']);
  same(await page.locator('[data-ready="payment"]').getAttribute('href'), visitor.path(`/wallet?sale=${sale}`));
  await visitor.account.fillWallet(199_900);
  await page.reload();
  await page.locator('[data-ready="payment"][data-done]').waitFor();
  same(await done(), ['user', 'address', 'payment']);
  await listIsInView(page);
  ok(await page.locator('[data-early]').isVisible());
  await visitor.slot('remind').click();
  await visitor.slot('remind').and(page.locator('[aria-pressed="true"]')).waitFor();
  const pattern = visitor.locale === 'zh' ? /^\d\d:\d\d:\d\d 后开抢/ : /^Opens in \d\d:\d\d:\d\d/;
  await eventually('the button counts', async () => pattern.test(await visitor.slot('button').textContent()));
  // A screen reader gets a name that does not change every second.
  await visitor.button(labels.notOpen).waitFor();
  await visitor.inspect('ready');
}

/** On a phone the button stays along the bottom, and covers nothing of the list before anything is scrolled. */
async function listIsInView(page) {
  await page.evaluate(() => scrollTo(0, 0));
  const [list, bar] = await Promise.all(['.ready', '.buy'].map((part) => page.locator(part).boundingBox()));
  const isApart = list.y + list.height <= bar.y || list.y >= bar.y + bar.height;
  ok(isApart || page.viewportSize().width > 500, `the list ends at ${list.y + list.height}, the button begins at ${bar.y}`);
}

/** A draw and a waiting room have the same list, until shoppers can take part. */
async function readyInEveryMode(run) {
  const { shop } = run;
  const visitor = await (await run.visit()).logInAsNewUser();
  const { page } = visitor;
  const sales = {
    draw: await shop.newSale({ opensIn: 7_200_000, closesIn: 9_000_000, reviewS: 60 }),
    queue: await shop.newSale({ mode: 'queue', opensIn: 7_200_000, queue_prequeue_s: 1800, queue_gather_s: 0, queue_seat_s: 120 }),
  };
  for (const [mode, sale] of Object.entries(sales)) {
    await shop.shows(sale, 'upcoming');
    await visitor.go(`/sales/${sale}`);
    await page.locator('[data-ready="user"][data-done]').waitFor();
    // The start, and the result of a draw.
    same(await page.locator('a[type="text/calendar"]').count(), mode === 'draw' ? 2 : 1, mode);
    await listIsInView(page);
    await visitor.slot('remind').click();
    await eventually('the shop keeps the reminder', async () => (await visitor.account.ask('GET', `/api/sales/${sale}/reminder`)).set);
    await visitor.slot('note').filter({ hasText: /\S/ }).waitFor();
    await visitor.inspect(`ready-${mode}`);
  }
  await visitor.go(`/sales/${await shop.newWaitingRoom(900_000)}`);
  await visitor.slot('joined').or(visitor.slot('countdown')).first().waitFor();
  await page.locator('.ready').waitFor({ state: 'hidden' });
  // What was to prepare leaves no hole, also where the page keeps space for it.
  const { width, height } = page.viewportSize();
  await page.setViewportSize({ width: 1152, height: 900 });
  await page.reload();
  await visitor.slot('joined').or(visitor.slot('countdown')).first().waitFor();
  const clock = await page.locator('.clock').boundingBox();
  ok(clock.height <= 170, `the clock of a waiting room is ${clock.height} high`);
  await page.setViewportSize({ width, height });
}

/**
 * The last seconds are large, with tenths and a pulse; if motion is unwelcome, the countdown goes on as before. The
 * reminder's note ends when the sale opens, and the button does not move.
 */
async function lastSeconds(run, sale) {
  const visitor = await (await run.visit()).logInAsNewUser();
  const moving = await (await run.visit({ motion: true })).logInAs(visitor.account);
  const { page, labels } = visitor;
  // On a phone the button stays along the bottom anyway.
  await page.setViewportSize({ width: 1280, height: 900 });
  await moving.go(`/sales/${sale}`);
  await visitor.go(`/sales/${sale}`);
  await visitor.slot('remind').click();
  await visitor.slot('note').filter({ hasText: labels.soonOpen }).waitFor();
  const [tenths, whole] = visitor.locale === 'zh' ? [/^\d\.\d 秒后开抢/, /^00:0\d 后开抢/] : [/^Opens in \d\.\d s/, /^Opens in 00:0\d/];
  const seen = (who, pattern) => eventually(`the button says ${pattern}`, async () => {
    const state = await who.page.evaluate(() => {
      const [button, panel] = ['button', 'final'].map((name) => document.querySelector(`[data-slot="${name}"]`));
      const pulses = [panel, button.firstElementChild].map((part) => part && getComputedStyle(part).animationName);
      return { button: button.textContent, panel: panel.textContent, finals: document.querySelectorAll('[data-final]').length, pulses };
    });
    return pattern.test(state.button) && state;
  });
  const [large, calm] = await Promise.all([seen(moving, tenths), seen(visitor, whole)]);
  ok(/^\d+\.\d$/.test(large.panel), large.panel);
  same([large.finals, large.pulses], [2, ['beat', 'beat']]);
  same([calm.panel, calm.finals, calm.pulses[1]], ['', 0, 'none']);
  // The themes change at once, so that their contrast can be seen.
  await addStyle(moving.page, '* { transition: none !important; }');
  await moving.inspect('last-seconds');
  const place = () => page.locator('.buy .row').evaluate((row) => row.getBoundingClientRect().top + scrollY);
  const before = await place();
  await visitor.button(labels.buy).waitFor({ timeout: 2 * OPENS_IN_MS });
  await visitor.slot('note').waitFor({ state: 'hidden' });
  same(await place(), before, 'the button moved at the opening');
  same(await page.locator('[data-early]').isVisible(), false, 'nobody is told to log in early any more');
  await visitor.inspect('opened');
}

/** The bar of the stock moves to its new length, unless motion is unwelcome. With a very long transition a moving bar stays. */
async function stockMoves(run) {
  const sale = await run.shop.openSale({ total: 2 });
  const bars = [];
  for (const motion of [true, false]) {
    const visitor = await run.visit({ motion });
    await visitor.go(`/sales/${sale}`);
    await visitor.slot('stock').waitFor();
    await addStyle(visitor.page, 'progress[value]::-webkit-progress-value { transition-duration: 10000000s !important; }');
    const bar = visitor.page.locator('.stock progress');
    bars.push({ visitor, bar, before: await bar.screenshot() });
  }
  await (await run.shop.register()).buy(sale);
  for (const [n, { visitor, bar, before }] of bars.entries()) {
    await visitor.page.locator('.stock [data-slot="taken"]').filter({ hasText: '50' }).waitFor();
    same(before.equals(await bar.screenshot()), n === 0, visitor.locale);
  }
}

/** The list and a sale, with the demo's photographs, on a first visit, also on screens that take larger copies. */
async function pagesAreLight(run) {
  const sale = await run.shop.openSale({ total: 20 });
  for (const phone of [PHONE, ...DENSE_PHONES]) {
    for (const [path, least] of [['/', 4], [`/sales/${sale}`, 1]]) {
      const page = await weigh(run, path, phone);
      await picturesAreSharp(page, phone.deviceScaleFactor, least);
      await page.context().close();
    }
  }
}

/** Visits a page for the first time, which must not transfer more than its bound. */
async function weigh(run, path, phone) {
  const context = await run.browser.newContext({ ...phone, baseURL: run.shop.origin });
  const page = await context.newPage();
  const sizes = [];
  page.on('response', (response) => sizes.push(size(response)));
  await page.goto(`/${run.locale}${path}`, { waitUntil: 'load' });
  await page.waitForLoadState('networkidle');
  const bytes = (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0);
  ok(bytes <= MAX_KIB * 1024, `${path} transfers ${Math.round(bytes / 1024)} KiB at ${phone.deviceScaleFactor}`);
  return page;
}

/**
 * Pictures in view have about a pixel for each of the screen, or two for each of the layout. Those far below are not there yet,
 * unless another card shows the same.
 */
async function picturesAreSharp(page, density, least) {
  const pictures = await page.locator(':is(.card, .gallery, .onward li) picture img').evaluateAll((all) => all.map((image) => ({
    top: image.closest('.card, .gallery, .onward li').getBoundingClientRect().top / innerHeight,
    shown: image.clientWidth,
    file: image.naturalWidth > 0 ? image.currentSrc : '',
  })));
  const inView = pictures.filter(({ top, shown }) => top < 1 && shown > 0);
  ok(inView.length >= least, `${inView.length} pictures in view`);
  for (const { shown, file } of inView) {
    const width = Number(/-(\d+)\.[^/]*$/.exec(file)?.[1]);
    ok(width >= 0.95 * Math.min(density, 2) * shown, `at ${density} ${file} for ${shown}`);
  }
  const near = pictures.filter(({ top }) => top <= 2).map(({ file }) => file);
  same(pictures.filter(({ top, file }) => top > 2 && file && !near.includes(file)), [], 'pictures that nobody has scrolled to');
}

/** The bytes of an answer as a release build sends it: a debug build compresses less. */
async function size(response) {
  const body = await response.body().catch(() => Buffer.alloc(0));
  const isText = /css|javascript|svg|html/.test(response.headers()['content-type'] ?? '');
  return isText ? brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }).length : body.length;
}

/** Neither while the page of a sale loads nor as the sale opens does anything move, on a phone or a desktop. */
async function nothingShifts(run, sale) {
  const pages = await Promise.all([PHONE, { viewport: { width: 1280, height: 900 } }].map(async (screen) => {
    const context = await run.browser.newContext({ ...screen, baseURL: run.shop.origin });
    await context.addInitScript(() => {
      globalThis.shifts = [];
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput, sources } of list.getEntries()) {
          if (!hadRecentInput) globalThis.shifts.push([value, ...sources.map(({ node }) => node?.parentElement?.className ?? '?')]);
        }
      }).observe({ type: 'layout-shift', buffered: true });
    });
    const page = await context.newPage();
    await page.goto(`/${run.locale}/sales/${sale}`);
    return page;
  }));
  for (const page of pages) {
    await page.locator('.clock[data-phase="open"]').waitFor({ timeout: 2 * OPENS_IN_MS });
    const shifts = await page.evaluate(() => globalThis.shifts);
    const sum = shifts.reduce((all, [value]) => all + value, 0);
    ok(sum <= MAX_SHIFT, `shifts of ${sum.toFixed(4)}: ${JSON.stringify(shifts)}`);
    await page.context().close();
  }
}
