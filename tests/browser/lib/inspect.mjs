// Checks of a page as it is: overflow, accessibility, language. Takes screenshots if SCREENSHOTS=1 is in the
// environment, and nothing but screenshots if it is `only`.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

export const ARTIFACTS = fileURLToPath(new URL('../artifacts/', import.meta.url));
mkdirSync(ARTIFACTS, { recursive: true });

let axe;

function axeSource() {
  axe ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  return axe;
}

/** Pages that were inspected already. A second visit differs in numbers only. */
const seen = new Set();

/** Pages whose accessibility was checked in either language. Their structure and colors are the same in both. */
const accessible = new Set();

const BOTH = ['light', 'dark'];

/** The rules whose results depend on the theme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const MAX_SCREENSHOT_HEIGHT = 4000;

/** Returns the faults of the page as sentences. axe is a script itself, so it is skipped on pages without scripts. */
export async function inspect(page, name, { locale, width, scripts }) {
  if (seen.has(name)) return [];
  seen.add(name);
  if (process.env.SCREENSHOTS === 'only') {
    await inThemes(page, BOTH, (theme) => screenshot(page, `${name}-${theme}`));
    return [];
  }
  const faults = [
    ...(await page.evaluate(foreignWords, locale)).map((words) => `not in this language: ${words}`),
    ...(await page.evaluate(overflowing)).map((what) => `wider than the screen: ${what}`),
  ];
  const structure = name.replace(`-${locale}-`, '-');
  const examined = scripts && !accessible.has(structure) ? themesOf(structure, width) : [];
  if (scripts) accessible.add(structure);
  if (examined.length || process.env.SCREENSHOTS) {
    await inThemes(page, process.env.SCREENSHOTS ? BOTH : examined, async (theme) => {
      if (examined.includes(theme)) {
        const rules = theme === examined[0] ? undefined : COLOR_RULES;
        faults.push(...(await inaccessible(page, rules)).map((what) => `${theme}: ${what}`));
      }
      if (process.env.SCREENSHOTS) await screenshot(page, `${name}-${theme}`);
    });
  }
  return faults.map((fault) => `${name}: ${fault}`);
}

/**
 * The themes in which the accessibility of a page is checked: both with `SECKILL_TEST_LONG=1`, otherwise one for half of the
 * pages and the other for the rest, and on a phone never the same as on a desktop.
 */
function themesOf(structure, width) {
  if (process.env.SECKILL_TEST_LONG === '1') return BOTH;
  const letters = [...structure.replace(/-\d+$/, '')];
  const turn = letters.reduce((sum, letter) => sum + letter.charCodeAt(0), width > 1000 ? 1 : 0);
  return [turn % 2 ? 'dark' : 'light'];
}

async function inThemes(page, themes, look) {
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme });
    await look(theme);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** The whole page; with an open dialog only the viewport, which it covers. */
async function screenshot(page, name) {
  const { width, height, dialog } = await page.evaluate(() => ({
    width: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
    dialog: document.querySelector('dialog[open]') !== null,
  }));
  // What sticks would be in the middle of the picture.
  await page.evaluate(() => { globalThis.scrolled = scrollY; scrollTo({ top: 0, behavior: 'instant' }); });
  const whole = { fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, MAX_SCREENSHOT_HEIGHT) } };
  await page.screenshot({ path: `${ARTIFACTS}${name}.png`, animations: 'disabled', ...(!dialog && whole) });
  await page.evaluate(() => scrollTo({ top: globalThis.scrolled, behavior: 'instant' }));
}

async function inaccessible(page, rules) {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axeSource());
  // No rule that runs needs style sheets or media in advance.
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
  const { violations } = await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => {
    const why = node.failureSummary.split('\n').slice(1).join(' ').trim();
    return `axe ${id} (${help}): ${node.target.join(' ')}: ${why}`;
  }));
}

/** Runs in the page. Finds elements that are wider than the viewport and do not scroll by themselves. */
export function overflowing() {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > width + 1);
  return wide.slice(-3).map((e) => `${e.tagName.toLowerCase()}.${e.className} ends at ${Math.round(e.getBoundingClientRect().right)} of ${width}`);
}

/** Runs in the page. Finds visible texts and labels in another language than the page's, unless they are marked with `lang`. */
function foreignWords(locale) {
  const known = /UTC|GMT|SHA-256|MB|https|localhost|CSV|sandbox|sale 7、goods 3、user|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12}\b|JSON|Markdown|HTML|Chrome · Linux|\bnode\b|Google Authenticator|1Password|PNG|JPEG|WebP|JavaScript|CNY|RabbitMQ|Redis|seckill audit|X1|visitor-\w+|admin|demo|[\w/]+\/[\w/]+|(上|下)午/g;
  const foreign = locale === 'en' ? /[\u3400-\u9fff]/ : /[A-Za-z]{2,}/;
  const found = new Set();
  // Names of people are also labels of what belongs to them.
  const names = new Set([...document.querySelectorAll('bdi')].map((name) => name.textContent.trim()));
  const check = (text) => !names.has(text) && foreign.test((text ?? '').replace(known, '')) && found.add(text.trim().slice(0, 60));
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const own = element.closest('[lang]').lang.slice(0, 2) === locale;
    if (own && !element.closest('script, noscript, code, bdi, textarea') && element.checkVisibility()) check(walker.currentNode.data);
  }
  for (const element of document.body.querySelectorAll('[aria-label], [alt], [title], [placeholder]')) {
    if (element.closest('[lang]').lang.slice(0, 2) !== locale) continue;
    for (const name of ['aria-label', 'alt', 'title', 'placeholder']) check(element.getAttribute(name));
  }
  check(document.title);
  return [...found];
}
