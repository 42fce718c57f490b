// Checks of a page as it is: overflow, accessibility, language. Takes screenshots if SCREENSHOTS=1 is in the
// environment.

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

export function wasInspected(name) {
  return seen.has(name);
}

/** Pages whose accessibility was checked in either language. Their structure and colors are the same in both. */
const accessible = new Set();

/** Parts of pages that axe has judged at a width, such as the header or a row of a list: it skips them on other pages. */
const judged = new Map();

/** The rules whose results depend on the theme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];
const MAX_SCREENSHOT_HEIGHT = 4000;

/** Returns the faults of the page as sentences. axe is a script itself, so it is skipped on pages without scripts. */
export async function inspect(page, name, { locale, scripts, typedWords }) {
  if (seen.has(name)) return [];
  seen.add(name);
  const faults = [
    ...(await page.evaluate(foreignWords, { locale, typedWords })).map((words) => `not in this language: ${words}`),
    ...(await page.evaluate(overflowing)).map((what) => `wider than the screen: ${what}`),
  ];
  const structure = name.replace(`-${locale}-`, '-');
  const checksAccess = scripts && !accessible.has(structure);
  if (scripts) accessible.add(structure);
  const known = checksAccess && await knownParts(page);
  for (const theme of checksAccess || process.env.SCREENSHOTS ? ['light', 'dark'] : []) {
    await page.emulateMedia({ colorScheme: theme });
    const rules = theme === 'dark' ? COLOR_RULES : undefined;
    if (checksAccess) faults.push(...(await inaccessible(page, known, rules)).map((what) => `${theme}: ${what}`));
    if (process.env.SCREENSHOTS) await screenshot(page, `${name}-${theme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return faults.map((fault) => `${name}: ${fault}`);
}

/** Returns words of another language than `locale` in the text of a page, also where it is hidden. */
export async function inspectWords(page, name, { locale, typedWords, html }) {
  seen.add(name);
  const found = await page.evaluate(foreignWords, { locale, typedWords, html });
  return found.map((words) => `${name}: not in this language: ${words}`);
}

/** The whole page; with an open dialog only the viewport, which it covers. */
async function screenshot(page, name) {
  const { width, height, dialog } = await page.evaluate(() => ({
    width: document.documentElement.clientWidth,
    height: document.documentElement.scrollHeight,
    dialog: document.querySelector('dialog[open]') !== null,
  }));
  const whole = { fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(height, MAX_SCREENSHOT_HEIGHT) } };
  await page.screenshot({ path: `${ARTIFACTS}${name}.png`, animations: 'disabled', ...(!dialog && whole) });
}

/** The numbers of the parts that need no second look, among all parts of the page. */
async function knownParts(page) {
  const parts = await page.evaluate(partsOf);
  const { width } = page.viewportSize();
  if (!judged.has(width)) judged.set(width, new Set());
  const before = judged.get(width);
  return parts.flatMap((part, n) => {
    if (before.has(part)) return [n];
    before.add(part);
    return [];
  });
}

/**
 * Runs in the page. What axe may find in a part follows from this: its elements with their attributes, without numbers and words but
 * whether there are any; its ancestors, which styles ask for; and the style sheets. Keeps the parts for `inaccessible`.
 */
function partsOf() {
  const exact = /^(class|role|type|style|lang|dir|open|tabindex|scope|hidden|disabled|autocomplete|data-.*|aria-(?!label$|labelledby$|describedby$|controls$).*)$/;
  const refers = /^(for|aria-labelledby|aria-describedby|aria-controls)$/;
  const attributes = (element) => [...element.attributes].map(({ name, value }) => {
    if (exact.test(name)) return `${name}=${value.replace(/[0-9a-f]{8}-[0-9a-f-]+|\d+/g, '#')}`;
    if (refers.test(name)) return `${name}=${value.split(' ').every((id) => document.getElementById(id))}`;
    return `${name}=${value !== ''}`;
  }).sort().join(' ');
  const trees = new Map();
  const tree = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.data.trim() ? 'text' : '';
    if (node.nodeType !== Node.ELEMENT_NODE) return '';
    if (!trees.has(node)) trees.set(node, `<${node.localName} ${attributes(node)}>${[...node.childNodes].map(tree).join('')}</>`);
    return trees.get(node);
  };
  const above = (element) => (element.parentElement ? `${above(element.parentElement)}<${element.parentElement.localName} ${attributes(element.parentElement)}>` : '');
  const sheets = [...document.styleSheets].map(({ href }) => href).join(' ');
  const hash = (text) => {
    let [low, high] = [0xdeadbeef, 0x41c6ce57];
    for (let n = 0; n < text.length; n += 1) {
      low = Math.imul(low ^ text.charCodeAt(n), 2654435761);
      high = Math.imul(high ^ text.charCodeAt(n), 1597334677);
    }
    return `${low >>> 0}.${high >>> 0}`;
  };
  globalThis.partsOfPage = [...document.querySelectorAll('header, footer, nav, section, article, aside, form, fieldset, details, dialog, table, tr, ul, ol, dl, li, figure')];
  // What a dialog covers is not judged.
  const dialog = document.querySelector('dialog:modal');
  return globalThis.partsOfPage.map((part) => hash(`${sheets} ${!dialog || dialog.contains(part)} ${above(part)}${tree(part)}`));
}

async function inaccessible(page, known, rules) {
  if (!(await page.evaluate('typeof axe === "object"'))) await page.evaluate(axeSource());
  // No rule that runs needs style sheets or media in advance.
  const options = { resultTypes: ['violations'], preload: false, ...(rules && { runOnly: rules }) };
  const exclude = `${JSON.stringify(known)}.map((n) => partsOfPage[n]).filter((part) => part.isConnected)`;
  const { violations } = await page.evaluate(`axe.run({ include: [document], exclude: ${exclude} }, ${JSON.stringify(options)})`);
  return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => {
    const why = node.failureSummary.split('\n').slice(1).join(' ').trim();
    return `axe ${id} (${help}): ${node.target.join(' ')}: ${why}`;
  }));
}

/** Runs in the page. Finds elements that are wider than the viewport and do not scroll by themselves. */
function overflowing() {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > width + 1);
  return wide.slice(-3).map((e) => `${e.tagName.toLowerCase()}.${e.className} ends at ${Math.round(e.getBoundingClientRect().right)} of ${width}`);
}

/**
 * Runs in the page. Visible texts and labels in another language than the page's, unless marked with `lang` or typed by a
 * person; of `html` all texts.
 */
function foreignWords({ locale, typedWords, html }) {
  const { body, title } = html ? new DOMParser().parseFromString(html, 'text/html') : document;
  const known = /UTC|SHA-256|MB|https|localhost|CSV|sandbox|sale 7、goods 3、user|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{12}\b|JSON|Markdown|HTML|Chrome · Linux|\bnode\b|Google Authenticator|1Password|PNG|JPEG|WebP|JavaScript|CNY|RabbitMQ|Redis Cluster|Redis|seckill audit|X1|visitor-\w+|admin|demo|[\w/]+\/[\w/]+|(上|下)午/g;
  const foreign = locale === 'en' ? /[\u3400-\u9fff]/ : /[A-Za-z]{2,}/;
  const found = new Set();
  const bare = (text) => typedWords.reduce((rest, words) => rest.replaceAll(words, ''), text ?? '').replace(known, '');
  const check = (text) => foreign.test(bare(text)) && found.add(text.trim().slice(0, 60));
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const own = element.closest('[lang]').lang.slice(0, 2) === locale;
    if (own && !element.closest('script, noscript, code, bdi, textarea') && (html || element.checkVisibility())) check(walker.currentNode.data);
  }
  for (const element of body.querySelectorAll('[aria-label], [alt], [title], [placeholder]')) {
    if (element.closest('[lang]').lang.slice(0, 2) !== locale) continue;
    for (const name of ['aria-label', 'alt', 'title', 'placeholder']) check(element.getAttribute(name));
  }
  check(title);
  return [...found];
}
