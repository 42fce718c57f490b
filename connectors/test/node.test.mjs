// The connector for Node: every pass and cookie of ../vectors.json, and options that the example page does not have.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { MemoryStore, openCookie, readKeys, seckill, verifyPass } from '../node/index.js';
import { freePort, get } from './guards.mjs';
import { StandIn } from './stand_in.mjs';

const vectors = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url)));
const { issuer, sale } = vectors;
const keys = { now: readKeys(vectors.keys), earlier: readKeys(vectors.earlier_keys) };

for (const { name, pass, verdict, now = vectors.now, keys: which = 'now' } of vectors.passes) {
  test(`pass: ${name}`, () => {
    const { claims, refused } = verifyPass(pass, { keys: keys[which], sale, issuer, now });
    assert.equal(refused ?? 'ok', verdict);
    assert.equal(claims === undefined, verdict !== 'ok');
    if (claims) assert.equal(claims.aud, `sale:${sale}`);
  });
}

for (const { name, cookie, holds, now = vectors.now } of vectors.cookies) {
  test(`cookie: ${name}`, () => {
    assert.equal(openCookie(cookie, { secret: vectors.cookie_secret, sale, now }) !== undefined, holds);
  });
}

test('used passes are remembered until their end, and not more of them than there is room', () => {
  const store = new MemoryStore(2);
  assert.equal(store.add('a', 20, 10), true);
  assert.equal(store.add('a', 20, 19), false);
  assert.equal(store.add('a', 30, 20), true);
  assert.equal(store.add('b', 15, 10), true);
  assert.equal(store.add('c', 30, 16), true, 'b has ended and gives its room');
  assert.equal(store.add('a', 30, 16), false);
  assert.equal(store.add('d', 30, 16), true, 'the oldest gives its room');
  assert.equal(store.add('d', 30, 16), false);
});

// Runs `use(line, ask)` with a line and a page behind a guard with these options.
async function withPage(options, use) {
  const line = new StandIn(await freePort());
  await line.start();
  const guard = seckill({ sale: 7, line: line.address, secret: vectors.cookie_secret, log: () => {}, ...options });
  const page = createServer((req, res) => guard(req, res, (error) => res.end(error ? 'error' : 'page')));
  const port = await freePort();
  await new Promise((resolve) => page.listen(port, '127.0.0.1', resolve));
  try {
    await use(line, (target, sent) => get(port, target, sent));
  } finally {
    page.close();
    await line.stop();
  }
}

test('behind https the cookie is bound to the host, and the address is the one of the settings', async () => {
  await withPage({ origin: 'https://shop.example/' }, async (line, ask) => {
    const first = await ask('/a?b=1', { headers: { host: 'evil.example', 'x-forwarded-host': 'evil.example' } });
    assert.equal(first.headers.location, `${line.address}/line/7?return=https%3A%2F%2Fshop.example%2Fa%3Fb%3D1`);
    const { headers } = await ask(`/?seckill_pass=${line.pass()}`);
    const [cookie] = headers['set-cookie'];
    assert.match(cookie, /^__Host-seckill_pass_7=\S+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=6[0-9]+; Secure$/);
  });
});

test('a customer who is signed in here takes an entry along', async () => {
  const entry = (req) => (req.headers.customer ? Promise.resolve(`entry of ${req.headers.customer}`) : undefined);
  await withPage({ entry }, async (line, ask) => {
    assert.match((await ask('/', { headers: { customer: '4711' } })).headers.location, /%2F&entry=entry%20of%204711$/);
    assert.match((await ask('/')).headers.location, /%2F$/);
  });
  await withPage({ entry: () => Promise.reject(new Error('away')) }, async (line, ask) => {
    assert.match((await ask('/')).headers.location, /%2F$/);
  });
});

test('a store that does not answer lets good passes in if the guard fails open, and asks for patience if closed', async () => {
  const store = { add: () => Promise.reject(new Error('away')) };
  await withPage({ store, fail: 'open' }, async (line, ask) => {
    assert.equal((await ask(`/?seckill_pass=${line.pass()}`)).headers.location, '/');
    assert.match((await ask(`/?seckill_pass=${line.pass({ aud: 'sale:8' })}`)).headers.location, /\/line\/7/);
  });
  await withPage({ store }, async (line, ask) => {
    assert.equal((await ask(`/?seckill_pass=${line.pass()}`)).status, 503);
  });
});

test('wrong options are refused at the start', () => {
  const options = { sale: 7, line: 'https://line.example', secret: vectors.cookie_secret };
  for (const wrong of [{ secret: 'short' }, { secret: undefined }, { sale: 'seven' }, { line: 'line' }, { fail: 'maybe' }]) {
    assert.throws(() => seckill({ ...options, ...wrong }), /^Error: seckill: /);
  }
});
