// A visitor with a browser. Faults on their pages are collected and fail the journey at its end.

import { eventually, ok } from './check.mjs';
import { PASSWORD } from './shop.mjs';
import { LABELS } from './labels.mjs';
import { inspect, overflowing } from './inspect.mjs';

const SCREENS = {
  390: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  1280: { viewport: { width: 1280, height: 900 } },
  1920: { viewport: { width: 1920, height: 1080 } },
};

/** The time zones differ from the server's and from each other. */
const PLACES = {
  zh: { locale: 'zh-CN', timezoneId: 'Asia/Shanghai' },
  en: { locale: 'en-US', timezoneId: 'America/New_York' },
};

export class Visitor {
  static async open(browser, shop, { locale, width, settings }, { scripts = true, motion = false, agent } = {}) {
    const visitor = new Visitor();
    Object.assign(visitor, { shop, locale, width, scripts, labels: LABELS[locale], examines: settings.examine ?? true, providers: settings.providers ?? [], prefix: settings.prefix ?? '', faults: [], expected: [], expectedWords: [] });
    // Leaving a page aborts its requests.
    visitor.expectedFailures = ['net::ERR_ABORTED'];
    visitor.context = await browser.newContext({
      ...SCREENS[width],
      ...PLACES[locale],
      baseURL: shop.origin,
      javaScriptEnabled: scripts,
      userAgent: agent,
      reducedMotion: motion ? 'no-preference' : 'reduce',
    });
    visitor.context.setDefaultTimeout(60_000);
    visitor.watch();
    visitor.page = await visitor.tab();
    return visitor;
  }

  /** Another tab of the same browser. */
  tab() {
    return this.context.newPage();
  }

  /** Logs in without pages. */
  async logInAs(account) {
    const cookies = account.cookie.split('; ').map((cookie) => cookie.split('='));
    await this.context.addCookies(cookies.map(([name, value]) => ({ name, value, url: this.shop.origin })));
    this.account = account;
    return this;
  }

  async logInAsNewUser() {
    return this.logInAs(await this.shop.register());
  }

  /** Declares an error answer that is part of the journey. */
  expect(status, path) {
    this.expected.push({ status, path });
  }

  /** Declares a network failure that is part of the journey. */
  expectFailure(failure) {
    this.expectedFailures.push(failure);
  }

  /** Declares a line of the console that is part of the journey. */
  expectConsole(words) {
    this.expectedWords.push(words);
  }

  watch() {
    const fault = (page, text) => this.faults.push(`${page ? new URL(page.url()).pathname : '?'}: ${text}`);
    this.context.on('console', (message) => {
      const kind = message.type();
      // Answers are checked below, where their status is known.
      if (!['error', 'warning'].includes(kind) || message.text().startsWith('Failed to load resource')) return;
      if (this.expectedWords.some((words) => message.text().includes(words))) return;
      fault(message.page(), `console ${kind}: ${message.text()}`);
    });
    this.context.on('weberror', (error) => fault(error.page(), `uncaught: ${error.error().stack ?? error.error()}`));
    this.context.on('requestfailed', (request) => {
      const why = request.failure()?.errorText ?? '';
      // With scripts turned off, the browser itself refuses to preload them.
      if (!this.scripts && why === 'csp' && request.url().endsWith('.js')) return;
      // Leaving a page aborts the worker's fetch of a picture. A picture that does not exist has an answer, which is
      // checked below.
      if (why === 'net::ERR_FAILED' && /^\/(static\/goods|uploads)\//.test(new URL(request.url()).pathname)) return;
      if (!this.expectedFailures.includes(why)) fault(null, `${request.method()} ${request.url()} failed: ${why}`);
    });
    this.context.on('response', (response) => {
      const [status, url] = [response.status(), new URL(response.url())];
      const expected = this.expected.some((e) => e.status === status && e.path.test(url.pathname));
      if (status >= 400 && !expected) fault(null, `${response.request().method()} ${url.pathname} answered ${status}`);
      if (![this.shop.origin, ...this.providers].includes(url.origin)) fault(null, `request to another origin: ${url}`);
    });
  }

  path(rest = '/') {
    return `/${this.locale}${rest}`;
  }

  go(rest) {
    return this.page.goto(this.path(rest));
  }

  /** The list of sales, with the sales of goods that it shows once. Other journeys sell the same goods. */
  async goToList() {
    await this.go('/');
    await this.page.locator('details.more').evaluateAll((all) => all.forEach((more) => { more.open = true; }));
  }

  /** The card of a sale. For a while a cache may have the list without this sale. */
  async findOnList(sale) {
    const card = this.page.locator(`.card[data-sale="${sale}"]`);
    await eventually(`sale ${sale} is on the list`, async () => {
      await this.goToList();
      return card.isVisible();
    });
    return card;
  }

  goAdmin(rest = '') {
    return this.page.goto(`/admin${rest}${rest.includes('?') ? '&' : '?'}lang=${this.locale}`);
  }

  /** Unfolds a section. A wide screen shows some without their summary. */
  async unfold(section) {
    const details = this.page.locator(`details:has(> #${section})`);
    const isOpen = await details.getAttribute('open') !== null;
    const summary = details.locator('> summary');
    if (!isOpen && await summary.isVisible()) await summary.click();
  }

  /** On a phone the console's places, and the other language, are behind a button. */
  async unfoldPlaces() {
    const button = this.page.locator('.places:not([open]) > summary');
    if (await button.isVisible()) await button.click();
  }

  /** Opens a dialog with the keys, which Escape closes again, opens it once more, and returns it. The focus goes along. */
  async openByKeys(button) {
    const dialog = this.page.getByRole('dialog');
    for (const isLast of [false, true]) {
      await button.press('Enter');
      await dialog.waitFor();
      ok(await dialog.evaluate((box) => box.contains(document.activeElement)), 'the focus is in the dialog');
      if (isLast) break;
      await this.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      ok(await button.evaluate((opener) => opener === document.activeElement), 'the focus is where it was');
    }
    return dialog;
  }

  slot(name) {
    return this.page.locator(`[data-slot="${name}"]`);
  }

  button(name) {
    return this.page.getByRole('button', { name, exact: typeof name === 'string' });
  }

  link(name) {
    return this.page.getByRole('link', { name, exact: true });
  }

  async fillCredentials(username, password = PASSWORD) {
    await this.page.getByLabel(this.labels.username).fill(username);
    await this.page.getByLabel(this.labels.password).fill(password);
  }

  /** Switches the language and back. The page stays the same. */
  async switchLanguage() {
    const here = new URL(this.page.url());
    const other = this.locale === 'zh' ? 'en' : 'zh';
    await this.unfoldPlaces();
    await this.page.getByRole('link', { name: this.labels.other, exact: true }).click();
    const there = here.pathname.startsWith('/admin') || here.pathname.startsWith('/sandbox')
      ? (url) => url.pathname === here.pathname && url.searchParams.get('lang') === other
      : (url) => url.pathname === here.pathname.replace(`/${this.locale}/`, `/${other}/`);
    await this.page.waitForURL(there);
    await this.page.locator(`html[lang^="${other}"]`).waitFor();
    await this.unfoldPlaces();
    await this.page.getByRole('link', { name: LABELS[other].other, exact: true }).click();
    await this.page.waitForURL((url) => url.pathname === here.pathname);
    await this.page.locator(`html[lang^="${this.locale}"]`).waitFor();
  }

  /** Inspects the page in the light and the dark theme. */
  async inspect(name, page = this.page) {
    // If figures take long to compute, the page loads itself again until they are there.
    await page.locator('[data-reloads]').first().waitFor({ state: 'detached' });
    if (this.examines) this.faults.push(...await inspect(page, `${this.prefix}${name}-${this.locale}-${this.width}`, this));
  }

  /** Nothing on the page is wider than the screen, from a phone to a wide one; in Chinese at the two widths of the journeys. */
  async fitsEveryWidth() {
    const own = this.page.viewportSize();
    const widths = this.locale === 'en' ? [360, 390, 768, 1024, 1280, 1920] : [390, 1280];
    for (const width of widths.filter((other) => other !== own.width)) {
      await this.page.setViewportSize({ ...own, width });
      this.faults.push(...(await this.page.evaluate(overflowing)).map((what) => `${this.page.url()} at ${width}: ${what}`));
    }
    await this.page.setViewportSize(own);
  }

  async close() {
    await this.context.close();
  }
}
