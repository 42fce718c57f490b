// The page without a connection lists the goods that the service worker has kept.

import { create, locale, slot } from './lib.js';

/** The kept pages of sales in this language, the latest first: path and name of the goods. */
async function keptSales() {
  const names = (await caches.keys()).filter((name) => name.startsWith('pages-'));
  const found = [];
  for (const name of names) {
    const cache = await caches.open(name);
    for (const request of await cache.keys()) {
      const { pathname } = new URL(request.url);
      if (!pathname.startsWith(`/${locale}/sales/`)) continue;
      const page = new DOMParser().parseFromString(await (await cache.match(request)).text(), 'text/html');
      found.unshift([pathname, page.querySelector('h1').textContent]);
    }
  }
  return found;
}

async function listKept() {
  const sales = 'caches' in window ? await keptSales() : [];
  const place = slot('kept');
  place.querySelector('ul').replaceChildren(...sales.map(([href, textContent]) => create('li', {}, create('a', { href, textContent }))));
  place.hidden = sales.length === 0;
}

listKept();
