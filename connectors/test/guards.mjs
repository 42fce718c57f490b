// Starts each example page behind its connector, and speaks HTTP to it.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CONNECTORS = fileURLToPath(new URL('..', import.meta.url));
const PYTHON = process.env.CONNECTORS_PYTHON ?? 'python3';
const SECRET = 'a secret for tests, of 32 characters or more';
const START_TIMEOUT_MS = 20_000;
const ANSWER_TIMEOUT_MS = 10_000;

export function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a page behind `kind`: node, wsgi, asgi or nginx. The others are options of the connectors. */
export async function startGuard(kind, { line, fail, refresh, sale = 7, port }) {
  port ??= await freePort();
  const python = { PYTHONPATH: join(CONNECTORS, 'python'), PYTHONDONTWRITEBYTECODE: 1 };
  const settings = { PORT: port, LINE: line, SALE: sale, SECRET, ...python };
  const env = { ...process.env, ...settings, ...(fail && { FAIL: fail }), ...(refresh && { REFRESH: refresh }) };
  const guard = { kind, address: `http://127.0.0.1:${port}`, port, children: [], folders: [] };
  const stdio = ['ignore', 'ignore', process.env.VERBOSE ? 'inherit' : 'ignore'];
  const run = (command, ...args) => guard.children.push(spawn(command, args, { env, stdio }));
  if (kind === 'node') run(process.execPath, join(CONNECTORS, 'node/example/page.mjs'));
  if (kind === 'wsgi') run(PYTHON, join(CONNECTORS, 'python/example/shop_wsgi.py'));
  if (kind === 'asgi') {
    const folder = join(CONNECTORS, 'python/example');
    run(PYTHON, '-m', 'uvicorn', '--app-dir', folder, '--port', `${port}`, '--log-level', 'error', 'shop_asgi:app');
  }
  if (kind === 'nginx') {
    const shop = await freePort();
    run('python3', join(CONNECTORS, 'nginx/example/shop.py'), `${shop}`);
    const folder = nginxFolder({ port, shop, line, sale, fail });
    guard.folders.push(folder);
    run('nginx', '-e', 'stderr', '-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;');
    await untilItAnswers(shop);
  }
  await untilItAnswers(port);
  return guard;
}

function nginxFolder({ port, shop, line, sale, fail = 'closed' }) {
  const folder = mkdtempSync(join(tmpdir(), 'seckill-nginx-'));
  mkdirSync(join(folder, 'temp'));
  const values = {
    LISTEN: `127.0.0.1:${port}`,
    ORIGIN: `http://127.0.0.1:${port}`,
    SHOP: `127.0.0.1:${shop}`,
    SECKILL: new URL(line).host,
    SALE: sale,
    PATHS: 'buy',
    FAIL: fail,
    LOG: join(folder, 'access.log'),
  };
  const template = readFileSync(join(CONNECTORS, 'nginx/guard.conf.template'), 'utf8');
  writeFileSync(join(folder, 'guard.conf'), template.replace(/\$\{GUARD_([A-Z]+)\}/g, (_, name) => values[name]));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const main = `${process.getuid() === 0 ? 'user root;\n' : ''}pid nginx.pid;\nevents {}\nhttp {\n    include guard.conf;\n`
    + temporary.map((name) => `    ${name}_temp_path temp/${name};\n`).join('');
  writeFileSync(join(folder, 'nginx.conf'), `${main}}\n`);
  return folder;
}

export async function stopGuard(guard) {
  const ended = guard.children.map((child) => new Promise((resolve) => {
    if (child.exitCode === null && child.signalCode === null) child.on('exit', resolve);
    else resolve();
  }));
  for (const child of guard.children) child.kill('SIGTERM');
  await Promise.all(ended);
  for (const folder of guard.folders) rmSync(folder, { recursive: true });
}

async function untilItAnswers(port) {
  await eventually(() => get(port, '/'), `port ${port} answers`);
}

/** A process, which can be killed and started again. */
export class Process {
  #child;

  constructor(command, args, options) {
    this.start = () => {
      this.#child = spawn(command, args, { stdio: ['ignore', 'ignore', process.env.VERBOSE ? 'inherit' : 'ignore'], ...options });
    };
  }

  async stop(signal = 'SIGTERM') {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on('exit', resolve));
    child.kill(signal);
    await ended;
  }
}

/** Waits until `condition` holds, and gives its value. A condition that fails does not hold yet. */
export async function eventually(condition, what, { patience = START_TIMEOUT_MS, pause = 30 } = {}) {
  const until = Date.now() + patience;
  let last;
  for (;;) {
    try {
      last = await condition();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > until) throw new Error(`never: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** One request, on a connection of its own, without following redirects. The target is sent as it stands. */
export function get(port, target, { method = 'GET', headers = {} } = {}) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path: target, method, headers, agent: false, timeout: ANSWER_TIMEOUT_MS };
    const sent = request(options, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text) => (body += text));
      answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, raw: answer.rawHeaders, body }));
    });
    sent.on('timeout', () => sent.destroy(new Error(`no answer to ${target}`))).on('error', reject).end();
  });
}

/** The cookies of an answer, as a request sends them. */
export function cookiesOf(answer) {
  return (answer.headers['set-cookie'] ?? []).map((line) => line.split(';')[0]).join('; ');
}
