// The part of a Seckill shop that connectors speak to, for tests: keys, an entry page at which it is everybody's turn at
// once, and the check for nginx. Passes are signed with keys that it makes.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { readKeys, verifyPass } from '../node/index.js';
import { signPass } from './passes.mjs';

const SALE = 7;

export class StandIn {
  // How often keys were asked for.
  fetches = 0;
  // The cookies of the last request that was checked.
  checked;
  // Addresses that people may return to.
  registered = [];
  #keys = [];
  #used = new Set();
  #cookies = new Map();
  #server;

  constructor(port) {
    this.port = port;
    this.address = `http://127.0.0.1:${port}`;
    this.rotate();
  }

  start() {
    this.#server = createServer((req, res) => this.answer(req, res));
    return new Promise((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve));
  }

  // Like a process that ends: nothing listens any more, and no connection stays open.
  async stop() {
    if (!this.#server?.listening) return;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  // A new key signs. The one before it still verifies, the one before that no more.
  rotate() {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const kid = randomUUID();
    const jwk = { ...publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'EdDSA', kid };
    this.#keys = [{ kid, secret: privateKey, jwk }, ...this.#keys.slice(0, 1)];
  }

  get key() {
    return this.#keys[0];
  }

  pass(change = {}, header = {}) {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: this.address, aud: `sale:${SALE}`, sub: '4711', place: '12', iat: now, exp: now + 600 };
    return signPass({ ...claims, jti: randomUUID(), use: 'once', ...change }, this.key, header);
  }

  answer(req, res) {
    const { pathname, searchParams } = new URL(req.url, this.address);
    if (pathname === '/.well-known/jwks.json') {
      this.fetches += 1;
      const body = JSON.stringify({ keys: this.#keys.map(({ jwk }) => jwk) });
      return res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'public, max-age=300' }).end(body);
    }
    if (pathname === `/line/${SALE}`) {
      const back = searchParams.get('return') ?? '';
      if (!this.registered.some((address) => back.startsWith(address))) return res.writeHead(400).end('not registered\n');
      const location = `${back}${back.includes('?') ? '&' : '?'}seckill_pass=${this.pass()}`;
      return res.writeHead(303, { location, 'cache-control': 'no-store' }).end();
    }
    if (pathname === '/api/v1/passes/check') return this.#check(req, res);
    return res.writeHead(404).end();
  }

  #check(req, res) {
    // As for every request with a token that is not one.
    if (req.headers.authorization) return res.writeHead(401).end();
    this.checked = req.headers.cookie;
    const address = new URL(req.headers['x-original-url']);
    const held = this.#cookies.get(/(?:^|; )seckill_pass=([^;]*)/.exec(req.headers.cookie ?? '')?.[1]);
    const passes = address.searchParams.getAll('seckill_pass');
    const claims = passes.length === 1 ? this.#verify(passes[0]) : undefined;
    if (claims) {
      const cookie = randomUUID();
      this.#cookies.set(cookie, claims.sub);
      const headers = { 'x-pass-sub': claims.sub, 'set-cookie': `seckill_pass=${cookie}; Path=/; HttpOnly; SameSite=Lax` };
      return res.writeHead(204, headers).end();
    }
    if (held) return res.writeHead(204, { 'x-pass-sub': held }).end();
    const clean = req.headers['x-original-url'].replace(/(?<=[?&])seckill_pass=[^&]*&?/g, '').replace(/[?&]$/, '');
    return res.writeHead(401, { 'x-line': `${this.address}/line/${SALE}?return=${encodeURIComponent(clean)}` }).end();
  }

  #verify(pass) {
    const keys = readKeys({ keys: this.#keys.map(({ jwk }) => jwk) });
    const { claims } = verifyPass(pass, { keys, sale: SALE, issuer: this.address });
    if (!claims || this.#used.has(claims.jti)) return undefined;
    if (claims.use === 'once') this.#used.add(claims.jti);
    return claims;
  }
}
