// The console's palette: Ctrl+K or ⌘K, or the link to the search, opens a dialog that finds pages, sales, orders, users
// and questions while you type. Without this file the link leads to the search page.

import { call, create, locale, write } from './lib.js';

const DEBOUNCE_MS = 120;

/** The dialog with its parts; made at the first use. */
function build({ title, label, none, failed, keys }) {
  const input = create('input', { type: 'search', placeholder: label, autocomplete: 'off', spellcheck: false });
  const list = create('ul', { id: 'palette-hits', className: 'hits' });
  const said = create('p', { className: 'muted' });
  said.setAttribute('role', 'status');
  const hint = create('p', { className: 'muted hint', textContent: keys });
  const dialog = create('dialog', { className: 'palette' }, create('article', {}, input, list, said, hint));
  dialog.setAttribute('aria-label', title);
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', title);
  for (const [name, value] of [['role', 'combobox'], ['aria-label', label], ['aria-controls', list.id], ['aria-expanded', 'true'], ['aria-autocomplete', 'list']]) {
    input.setAttribute(name, value);
  }
  document.body.append(dialog);
  return { dialog, input, list, said, none, failed };
}

/** A hit. The input keeps the focus, so an option is not a link. */
function item({ label, title, detail, path }, n) {
  const part = (tag, textContent) => create(tag, { className: tag === 'span' ? 'muted' : '' }, create('bdi', { textContent }));
  const option = create('li', { id: `palette-${n}` }, part('span', label), part('strong', title), part('span', detail));
  option.setAttribute('role', 'option');
  option.addEventListener('click', () => location.assign(path));
  return option;
}

export function installPalette() {
  const opener = document.querySelector('[data-palette]');
  if (!opener || typeof HTMLDialogElement === 'undefined') return;
  let parts = null;
  let chosen = 0;
  let asked = 0;
  let timer;

  function choose(n) {
    const { list, input } = parts;
    const { children } = list;
    if (!children.length) return input.removeAttribute('aria-activedescendant');
    chosen = (n + children.length) % children.length;
    [...children].forEach((option, i) => option.setAttribute('aria-selected', String(i === chosen)));
    input.setAttribute('aria-activedescendant', children[chosen].id);
    children[chosen].scrollIntoView({ block: 'nearest' });
  }

  /** Searches for the current text and shows the hits. Drops the answer if the text has changed. */
  async function ask() {
    const { input, list, said, none, failed } = parts;
    asked += 1;
    const turn = asked;
    const { ok, data } = await call('GET', `/admin/search.json?lang=${locale}&q=${encodeURIComponent(input.value)}`);
    if (turn !== asked) return;
    const hits = ok ? data.hits : [];
    list.replaceChildren(...hits.map(item));
    list.hidden = !hits.length;
    write(said, !ok ? failed : hits.length ? '' : none);
    choose(0);
  }

  function open() {
    if (!parts) {
      parts = build(opener.dataset);
      parts.input.addEventListener('input', () => {
        clearTimeout(timer);
        timer = setTimeout(ask, DEBOUNCE_MS);
      });
      parts.input.addEventListener('keydown', (event) => {
        const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (move) choose(chosen + move);
        else if (event.key === 'Enter') parts.list.children[chosen]?.click();
        else return;
        event.preventDefault();
      });
      parts.dialog.addEventListener('click', (event) => event.target === parts.dialog && parts.dialog.close());
    }
    if (parts.dialog.open) return parts.dialog.close();
    parts.dialog.showModal();
    parts.input.select();
    ask();
  }

  opener.addEventListener('click', (event) => {
    event.preventDefault();
    open();
  });
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
}
