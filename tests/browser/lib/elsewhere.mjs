// Looks at the pages of a journey in the other language at the other width.

import { inspect, inspectWords, wasInspected } from './inspect.mjs';
import { SCREENS, Visitor } from './visitor.mjs';

const WORDS_OF_BLOCKED_WORKER = 'Service Worker registration blocked';

export class Elsewhere {
  constructor({ browser, shop, locale, width, settings }) {
    const place = { locale: locale === 'zh' ? 'en' : 'zh', width: width < 768 ? 1280 : 390 };
    Object.assign(this, { browser, shop, settings, ...place, twins: new Map() });
  }

  /** Returns the faults of the page that a visitor has open. Of an answer to a form only the width changes: it has no address. */
  async inspect(page, name, visitor) {
    const isOpen = await page.evaluate(() => document.querySelector('dialog[open]') !== null);
    const address = visitor.methods.get(page) === 'GET' && addressIn(page.url(), visitor.locale, this.locale);
    // English words are the longest, so a phone shows the English page itself. A dialog would be closed there.
    if (address && !isOpen && this.width < 768) return this.loaded(address, name, visitor);
    return [...await this.resized(page, name, visitor), ...(address ? await this.words(page, address, name, visitor) : [])];
  }

  /** The same page at the other width. */
  async resized(page, name, visitor) {
    const before = page.viewportSize();
    await page.setViewportSize(SCREENS[this.width].viewport);
    const faults = await inspect(page, `${name}-${visitor.locale}-${this.width}`, visitor);
    await page.setViewportSize(before);
    return faults;
  }

  /** Words of the page at this address, as the shop answers it to the visitor, in another language than its own. */
  async words(page, address, name, { typedWords }) {
    const full = `${name}-${this.locale}`;
    if (wasInspected(full)) return [];
    const html = await (await page.request.get(address)).text();
    return inspectWords(page, full, { locale: this.locale, typedWords, html });
  }

  /** The page at this address, with the visitor's session. */
  async loaded(address, name, visitor) {
    const full = `${name}-${this.locale}-${this.width}`;
    if (wasInspected(full)) return [];
    const twin = await this.twinOf(visitor);
    await twin.context.clearCookies();
    await twin.context.addCookies(await visitor.context.cookies());
    await twin.page.goto(address);
    await twin.page.locator('[data-reloads]').first().waitFor({ state: 'detached' });
    const faults = await inspect(twin.page, full, twin);
    // Its scripts ask for nothing while nobody looks.
    await twin.page.goto('about:blank');
    return [...faults, ...twin.faults.splice(0)];
  }

  /** One for all visitors who are alike: cookies come from the visitor. */
  async twinOf({ scripts, headers, expected, expectedFailures, expectedWords, typedWords }) {
    const key = JSON.stringify([scripts, headers]);
    let twin = this.twins.get(key);
    if (!twin) {
      const place = { locale: this.locale, width: this.width, settings: this.settings };
      twin = await Visitor.open(this.browser, this.shop, place, { scripts, headers, serviceWorkers: 'block' });
      this.twins.set(key, twin);
    }
    return Object.assign(twin, { typedWords, expected, expectedFailures, expectedWords: [...expectedWords, WORDS_OF_BLOCKED_WORKER] });
  }

  async close() {
    await Promise.all([...this.twins.values()].map((twin) => twin.close()));
  }
}

/** The address of the same page in another language, or null. */
function addressIn(address, from, to) {
  const url = new URL(address);
  if (url.pathname.startsWith(`/${from}/`)) url.pathname = `/${to}/${url.pathname.slice(from.length + 2)}`;
  else if (/^\/(admin|sandbox)(\/|$)/.test(url.pathname)) url.searchParams.set('lang', to);
  else return null;
  return url.href;
}
