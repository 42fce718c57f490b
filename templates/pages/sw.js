// The worker between the shop's pages and the network. For visitors without a connection it keeps the lists and the
// goods that were looked at last: pages that are the same for everyone. It keeps nothing live and nothing personal.
// Forms, the API, orders, the account and the console always go to the network, and on a kept page the button for
// buying is off. The worker also shows the messages that the shop sends to this browser.
//
// The names of the caches contain the version of all files, so that another version of the shop begins with empty
// caches.

const VERSION = '{{ version }}';
/** The styles and scripts of the kept pages. */
const SHELL = {{ shell|safe }};
/** The texts on kept pages, by language. */
const WORDS = {{ words|safe }};

const ICON = '{{ icon }}';

const CACHES = { shell: `shell-${VERSION}`, pages: `pages-${VERSION}`, pictures: `pictures-${VERSION}` };
const MAX_PAGES = 20;
const MAX_PICTURES = 60;
/** How long the network may take before a kept page is shown instead. */
const PATIENCE_MS = 4000;

/** Pages that are kept: the lists of all sales and of a category, and the pages of sales. */
const KEPT = /^\/(zh|en)\/((sales|categories)\/\d+)?$/;
const SHOP_PAGE = /^\/(zh|en)(\/|$)/;
const FILE = /^\/(static|uploads)\//;
const LOGOUT = /^(\/(zh|en)|\/api)\/logout$/;

const localeOf = (path) => SHOP_PAGE.exec(path)?.[1] ?? (navigator.language.startsWith('zh') ? 'zh' : 'en');
const offlinePage = (path) => `/${localeOf(path)}/offline`;

self.addEventListener('install', (event) => {
  const files = [...SHELL, ...Object.keys(WORDS).map((locale) => `/${locale}/offline`)];
  event.waitUntil(caches.open(CACHES.shell).then((cache) => cache.addAll(files)).then(() => self.skipWaiting()));
});

self.addEventListener('activate', (event) => {
  event.waitUntil((async () => {
    const current = Object.values(CACHES);
    const old = (await caches.keys()).filter((name) => !current.includes(name));
    await Promise.all(old.map((name) => caches.delete(name)));
    await self.clients.claim();
  })());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== self.location.origin) return;
  if (request.method !== 'GET') {
    if (LOGOUT.test(pathname)) event.waitUntil(forget());
  } else if (request.mode === 'navigate') {
    event.respondWith(navigate(event, pathname));
  } else if (FILE.test(pathname)) {
    event.respondWith(file(request));
  }
});

// A page that was loaded before this worker started sends what it shows.
self.addEventListener('message', (event) => {
  const { path, pictures = [] } = event.data ?? {};
  if (KEPT.test(path)) event.waitUntil(visited(path, pictures));
});

// ---- messages of the shop ----

self.addEventListener('push', (event) => {
  const { title, path, tag } = messageIn(event.data);
  event.waitUntil(self.registration.showNotification(title, { tag, renotify: tag !== '', icon: ICON, data: { path } }));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  event.waitUntil(openPage(ownPath(event.notification.data?.path)));
});

/**
 * Reads a message. Browsers require that each message is shown, so one that cannot be read leads to the shop's first
 * page.
 */
function messageIn(data) {
  let message;
  try {
    message = data.json();
  } catch { /* The message has no text, or a text that the shop does not send. */ }
  const { title, path, tag } = message ?? {};
  const isText = (value) => typeof value === 'string' && value !== '';
  return { title: isText(title) ? title : WORDS[localeOf('')].brand, path: ownPath(path), tag: isText(tag) ? tag : '' };
}

/**
 * The path if it is one of the shop's pages, otherwise the path of the list of sales. `//` begins an address at another
 * site.
 */
function ownPath(path) {
  const home = `/${localeOf('')}/`;
  if (typeof path !== 'string' || !path.startsWith('/') || !URL.canParse(path, self.location.origin)) return home;
  const { origin, pathname, search, hash } = new URL(path, self.location.origin);
  return origin === self.location.origin ? pathname + search + hash : home;
}

/** Shows the page that a message is about, in the tab that has it open or in a new one. */
async function openPage(path) {
  // Include tabs that were open before the worker started.
  const tabs = await self.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const { pathname } = new URL(path, self.location.origin);
  const open = tabs.find(({ url }) => new URL(url).pathname === pathname);
  return open ? open.focus() : self.clients.openWindow(path);
}

// ---- pages ----

/** Returns the network's answer, otherwise the kept page, otherwise the offline page. */
async function navigate(event, path) {
  // The browser's own cache could answer for a minute without saying so, so ask the shop whether the page has changed.
  const answer = fetch(event.request, KEPT.test(path) ? { cache: 'no-cache' } : {});
  // Keep the answer even if it is too late for this visit.
  event.waitUntil(answer.then((response) => keep(path, response.clone()), () => {}));
  const kept = KEPT.test(path) ? await inCache(CACHES.pages, path) : undefined;
  try {
    const response = await (kept ? inTime(answer) : answer);
    if (response.status < 500 || !kept) return response;
  } catch { /* There is no connection, or it is too slow. */ }
  if (kept) return marked(kept, path);
  if (path === '/') return Response.redirect(`/${localeOf(path)}/`);
  return (SHOP_PAGE.test(path) && await inCache(CACHES.shell, offlinePage(path))) || Response.error();
}

function inTime(answer) {
  return Promise.race([answer, new Promise((_, late) => { setTimeout(late, PATIENCE_MS); })]);
}

/** Keeps a page that the shop declares to be the same for everyone. */
async function keep(path, response) {
  const isPublic = response.headers.get('cache-control')?.startsWith('public');
  const isPage = response.headers.get('content-type')?.startsWith('text/html');
  if (!KEPT.test(path) || response.status !== 200 || !isPublic || !isPage) return;
  const cache = await caches.open(CACHES.pages);
  await cache.put(path, response);
  await trim(cache, MAX_PAGES);
}

/** A kept page that says how old it is, with its button off. `shop.js` loads it again once the shop answers. */
async function marked(response, path) {
  const { language, kept, button } = WORDS[localeOf(path)];
  const at = new Date(response.headers.get('date') ?? Date.now());
  const day = at.toDateString() === new Date().toDateString() ? {} : { month: 'short', day: 'numeric' };
  const time = at.toLocaleString(language, { ...day, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const page = (await response.text())
    .replace('<html ', '<html data-kept ')
    .replace(/<main\b[^>]*>/, `$&<p class="alert kept" role="status">${kept.replace('{}', time)}</p>`)
    .replace(/(<button class="big"[^>]*?)(?: disabled)?>[^<]*/g, `$1 disabled>${button}`);
  const headers = new Headers(response.headers);
  headers.delete('content-encoding');
  headers.delete('content-length');
  return new Response(page, { headers });
}

// ---- files ----

/** Addresses of files change with their content, so a kept one is right. */
async function file(request) {
  return (await caches.match(request, { ignoreVary: true })) ?? fetch(request);
}

async function visited(path, pictures) {
  if (!(await inCache(CACHES.pages, path))) await keep(path, await fetch(path));
  const cache = await caches.open(CACHES.pictures);
  for (const picture of pictures.filter((picture) => FILE.test(picture))) {
    if (!(await caches.match(picture, { ignoreVary: true }))) await cache.add(picture).catch(() => {});
  }
  await trim(cache, MAX_PICTURES);
}

// ---- caches ----

async function inCache(name, path) {
  return (await caches.open(name)).match(path, { ignoreVary: true });
}

/** Removes the entries that were written first. */
async function trim(cache, max) {
  const all = await cache.keys();
  await Promise.all(all.slice(0, Math.max(0, all.length - max)).map((request) => cache.delete(request)));
}

/** After a log-out the device must not show what was looked at. */
function forget() {
  return Promise.all([caches.delete(CACHES.pages), caches.delete(CACHES.pictures)]);
}
