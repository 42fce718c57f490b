// Seckill's connector for Node: people with a pass of a sale go through, everybody else goes to the sale's line first.
//
// From top to bottom: the verifier of a pass, the cookie in its place, passes that were used, the line's keys, addresses,
// and the middleware that puts them together.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';

const MAX_PASS_CHARS = 4096;
// Clocks of two servers differ.
const LEEWAY_S = 30;
const MAX_USED = 100_000;
const MIN_SECRET_CHARS = 32;
const KEYS_TIMEOUT_MS = 2_000;
// How soon keys are asked for again after they could not be had.
const RETRY_S = 5;
const PARAMETER = 'seckill_pass';

/** Verifies a pass without I/O: `{claims}`, or `{refused}` with the reason. Whether it was used before is not asked here. */
export function verifyPass(pass, { keys, sale, issuer, now = seconds() }) {
  const parts = typeof pass === 'string' && pass.length <= MAX_PASS_CHARS ? pass.split('.') : [];
  const header = parts.length === 3 ? readJson(parts[0]) : undefined;
  const signature = header && readBase64(parts[2]);
  if (!signature) return { refused: 'malformed' };
  if (header.alg !== 'EdDSA') return { refused: 'bad_algorithm' };
  if (header.typ !== 'JWT' || 'crit' in header) return { refused: 'bad_header' };
  // Keys come from the line alone. A key that the header brings along is not looked at.
  const key = typeof header.kid === 'string' ? keys.get(header.kid) : undefined;
  if (!key) return { refused: 'unknown_key' };
  if (!verify(null, Buffer.from(`${parts[0]}.${parts[1]}`), key, signature)) return { refused: 'bad_signature' };
  const claims = readJson(parts[1]);
  if (!claims) return { refused: 'malformed' };
  const texts = [claims.iss, claims.aud, claims.sub, claims.jti].every((text) => typeof text === 'string' && text !== '');
  if (!texts || ![claims.iat, claims.exp].every(Number.isSafeInteger) || !['once', 'many'].includes(claims.use)) {
    return { refused: 'bad_claims' };
  }
  if (claims.iss !== issuer) return { refused: 'other_issuer' };
  if (claims.aud !== `sale:${sale}`) return { refused: 'other_sale' };
  if (claims.iat > now + LEEWAY_S) return { refused: 'not_yet_valid' };
  if (claims.exp + LEEWAY_S <= now) return { refused: 'expired' };
  return { claims };
}

/** The Ed25519 keys of a JSON Web Key Set, by `kid`, as `verifyPass` takes them. Keys of other kinds are left out. */
export function readKeys(set) {
  const keys = new Map();
  for (const { kty, crv, use = 'sig', kid, x } of set.keys) {
    if (kty !== 'OKP' || crv !== 'Ed25519' || use !== 'sig' || typeof kid !== 'string') continue;
    keys.set(kid, createPublicKey({ key: { kty, crv, x }, format: 'jwk' }));
  }
  return keys;
}

function seconds() {
  return Math.floor(Date.now() / 1000);
}

// Node's decoder skips what is not base64url. Only the one spelling of the bytes counts.
function readBase64(text) {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

// A JSON object, without names that occur twice: two readers may take different ones.
function readJson(part) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(readBase64(part));
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) && !repeatsName(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

// Of JSON that has been parsed: every string with a colon behind it is a name of the innermost object.
function repeatsName(json) {
  const open = [];
  for (const [token, name] of json.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') open.push(new Set());
    else if (token === '}' || token === ']') open.pop();
    else if (name !== undefined) {
      const names = open.at(-1);
      if (names.size === names.add(JSON.parse(name)).size) return true;
    }
  }
  return false;
}

// The cookie holds the claims of the pass as they came, and a MAC by the shop's secret.
function sealCookie(payload, secret) {
  return `${payload}.${macOf(payload, secret).toString('base64url')}`;
}

export function openCookie(value, { secret, sale, now }) {
  const [payload, mac, ...rest] = value.split('.');
  const given = mac === undefined || rest.length > 0 ? undefined : readBase64(mac);
  if (given?.length !== 32 || !timingSafeEqual(given, macOf(payload, secret))) return undefined;
  const claims = readJson(payload);
  return claims?.aud === `sale:${sale}` && claims.exp + LEEWAY_S > now ? claims : undefined;
}

function macOf(payload, secret) {
  return createHmac('sha256', secret).update(`${PARAMETER}:${payload}`).digest();
}

function* cookiesNamed(name, header = '') {
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) yield pair.slice(at + 1).trim();
  }
}

/**
 * Passes that were used, in the memory of this process. Several processes need a store that they share: an object with the
 * same `add`. If there are too many, the oldest is forgotten.
 */
export class MemoryStore {
  #used = new Map();
  #max;

  constructor(max = MAX_USED) {
    this.#max = max;
  }

  /** Whether `jti` is new. It is remembered until `until`, in seconds since 1970. */
  add(jti, until, now = seconds()) {
    if ((this.#used.get(jti) ?? 0) > now) return false;
    if (this.#used.size >= this.#max) this.#forget(now);
    this.#used.set(jti, until);
    return true;
  }

  #forget(now) {
    for (const [jti, until] of this.#used) if (until <= now) this.#used.delete(jti);
    if (this.#used.size >= this.#max) this.#used.delete(this.#used.keys().next().value);
  }
}

// The line's keys. Fetching them shows at the same time whether the line is there.
class Keys {
  #url;
  #refresh;
  #log;
  #fetching;
  #due = 0;
  away = false;
  known;

  constructor(url, refresh, log) {
    this.#url = url;
    this.#refresh = refresh;
    this.#log = log;
  }

  // Waits for the first keys only: later ones are fetched while requests go on. `newest` waits for them too, for a pass
  // whose key is not known, but they are not asked for more often.
  async get(newest = false) {
    const fetching = this.#fetchIfDue();
    if (newest || !this.known) await fetching;
    return this.known ?? new Map();
  }

  #fetchIfDue() {
    if (!this.#fetching && Date.now() >= this.#due) {
      this.#fetching = this.#fetch().finally(() => (this.#fetching = undefined));
    }
    return this.#fetching;
  }

  async #fetch() {
    try {
      const answer = await fetch(this.#url, { redirect: 'error', signal: AbortSignal.timeout(KEYS_TIMEOUT_MS) });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.known = readKeys(await answer.json());
      if (this.away) this.#log(`seckill: keys of the line are back (${this.#url})`);
      this.away = false;
    } catch (error) {
      if (!this.away) this.#log(`seckill: no keys from ${this.#url}: ${error.cause?.message ?? error.message}`);
      this.away = true;
    }
    this.#due = Date.now() + 1000 * (this.away ? Math.min(RETRY_S, this.#refresh) : this.#refresh);
  }
}

// Path, query without passes, and the passes of a request's target. Proxies may send a whole URL as the target.
function readTarget(target) {
  if (!target.startsWith('/')) {
    const url = URL.canParse(target) ? new URL(target) : { pathname: '/', search: '' };
    target = url.pathname + url.search;
  }
  const [address] = target.split('#', 1);
  const at = address.indexOf('?');
  const passes = [];
  const rest = at < 0 ? [] : address.slice(at + 1).split('&').filter((pair) => {
    const [name, ...value] = pair.split('=');
    const isPass = decoded(name) === PARAMETER;
    if (isPass) passes.push(decoded(value.join('=')));
    return !isPass;
  });
  const path = at < 0 ? address : address.slice(0, at);
  // Browsers take `//host` and `/\host` for another host's address.
  const clean = `/${path.replace(/^[/\\]+/, '')}${rest.length > 0 ? `?${rest.join('&')}` : ''}`;
  return { path, passes, clean };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%([0-7][0-9a-f])/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
}

// Both spellings that an application may see, with `..` as it stands and resolved, in one case and with one slash.
function spellings(path) {
  const segments = decoded(path).toLowerCase().split(/[/\\]+/).filter((segment) => segment !== '' && segment !== '.');
  const resolved = [];
  for (const segment of segments) segment === '..' ? resolved.pop() : resolved.push(segment);
  return [segments, resolved].map((list) => `/${list.map((segment) => `${segment}/`).join('')}`);
}

/** Middleware for Express, Connect, Nest and plain `node:http`. The options are in README.md. */
export function seckill(options) {
  const { sale, secret, protect = ['/'], fail = 'closed', secure = true, refresh = 30, log = console.warn } = options;
  const line = String(options.line).replace(/\/+$/, '');
  const issuer = options.issuer ?? line;
  const store = options.store ?? new MemoryStore();
  if (!/^[0-9]+$/.test(sale) || !URL.canParse(line)) throw new Error('seckill: options sale and line are needed');
  if (!(secret?.length >= MIN_SECRET_CHARS)) throw new Error(`seckill: secret needs ${MIN_SECRET_CHARS} characters`);
  if (!['open', 'closed'].includes(fail)) throw new Error("seckill: fail is 'open' or 'closed'");
  const prefixes = protect.map((prefix) => spellings(prefix)[0]);
  const keys = new Keys(options.keys ?? `${line}/.well-known/jwks.json`, refresh, log);
  const cookieName = `${secure ? '__Host-' : ''}seckill_pass_${sale}`;

  async function check(pass) {
    const asked = { sale, issuer, now: seconds() };
    let verdict = verifyPass(pass, { ...asked, keys: await keys.get() });
    if (verdict.refused === 'unknown_key') verdict = verifyPass(pass, { ...asked, keys: await keys.get(true) });
    if (verdict.refused === 'unknown_key' && keys.away) return { refused: 'away' };
    // The signature holds, so this is a wrong setting and not an attack.
    if (verdict.refused === 'other_issuer') log(`seckill: passes are not issued by ${issuer}: see the option issuer`);
    return verdict.claims?.use === 'once' ? use(verdict) : verdict;
  }

  async function use(verdict) {
    try {
      const { jti, exp } = verdict.claims;
      return (await store.add(jti, exp + LEEWAY_S)) ? verdict : { refused: 'used' };
    } catch (error) {
      log(`seckill: the store of used passes does not answer: ${error.message}`);
      return fail === 'open' ? verdict : { refused: 'away' };
    }
  }

  // Whether the request goes through; if not, it was answered.
  async function guard(req, res) {
    req.seckillPass = null;
    const { path, passes, clean } = readTarget(req.originalUrl ?? req.url);
    if (!spellings(path).some((spelling) => prefixes.some((prefix) => spelling.startsWith(prefix)))) return true;
    const now = seconds();
    const [held] = [...cookiesNamed(cookieName, req.headers.cookie)]
      .map((value) => openCookie(value, { secret, sale, now }))
      .filter(Boolean);
    if (held && passes.length === 0) {
      req.seckillPass = held;
      return true;
    }
    let refused;
    if (passes.length === 0) {
      await keys.get();
      refused = keys.away ? 'away' : 'no_pass';
    } else {
      const verdict = passes.length === 1 ? await check(passes[0]) : { refused: 'malformed' };
      if (verdict.claims) {
        const cookie = `${cookieName}=${sealCookie(passes[0].split('.')[1], secret)}; Path=/; HttpOnly; SameSite=Lax`;
        const age = `; Max-Age=${verdict.claims.exp + LEEWAY_S - now}${secure ? '; Secure' : ''}`;
        return redirect(res, clean, { 'set-cookie': cookie + age });
      }
      if (held) return redirect(res, clean);
      refused = verdict.refused;
    }
    if (refused === 'away') return fail === 'open' || sayLater(res);
    return sendToLine(req, res, clean);
  }

  // Customers who are signed in here need not sign in at the line.
  async function entryOf(req) {
    try {
      const entry = await options.entry?.(req);
      return entry ? `&entry=${encodeURIComponent(entry)}` : '';
    } catch (error) {
      log(`seckill: no entry for a customer: ${error.message}`);
      return '';
    }
  }

  async function sendToLine(req, res, clean) {
    const host = req.headers.host ?? req.headers[':authority'] ?? '';
    if (!options.origin && !/^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[0-9]+)?$/i.test(host)) {
      return send(res, 400, { 'content-type': 'text/plain; charset=utf-8' }, 'This is not an address of the shop.\n');
    }
    const origin = options.origin?.replace(/\/+$/, '') ?? `${secure ? 'https' : 'http'}://${host}`;
    // A form cannot be sent again by a redirect: its sender returns to the page with the form.
    const { referer = '' } = req.headers;
    const isRead = ['GET', 'HEAD'].includes(req.method);
    const back = isRead ? origin + clean : referer.startsWith(`${origin}/`) ? referer : `${origin}/`;
    redirect(res, `${line}/line/${sale}?return=${encodeURIComponent(back)}${await entryOf(req)}`);
  }

  return (req, res, next) => guard(req, res).then((through) => through && next(), next);
}

function redirect(res, location, headers = {}) {
  send(res, 303, { location, ...headers });
}

function sayLater(res) {
  const page = '<!doctype html><html lang="zh"><meta charset="utf-8"><meta http-equiv="refresh" content="5">'
    + '<title>503</title><p>马上回来。<p lang="en">Back in a moment.</html>';
  send(res, 503, { 'content-type': 'text/html; charset=utf-8', 'retry-after': '5' }, page);
}

// Answers of the connector concern one person, and an address may have a pass in it.
function send(res, status, headers, body = '') {
  res.writeHead(status, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', ...headers });
  res.end(body);
}
