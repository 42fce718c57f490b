// django-oscar sells fifty units through Seckill.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort, Process } from '../../connectors/test/guards.mjs';
import { testShop } from './shop_tests.mjs';

// Where scripts/shops has installed Oscar and made the shop.
const OSCAR = process.env.SHOPS_OSCAR;
const PYTHON = join(OSCAR, 'venv/bin/python');
const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const PASSWORD = 'a password of tests';

async function open(line, fail) {
  const folder = mkdtempSync(join(tmpdir(), 'seckill-oscar-'));
  cpSync(join(OSCAR, 'shop.sqlite'), join(folder, 'shop.sqlite'));
  const port = await freePort();
  const settings = { PORT: port, LINE: line.address, SALE: line.sale, TOKEN: line.token, GUARD: line.shadow ? 'off' : 'on' };
  const python = { PYTHONPATH: path('../../connectors/python'), PYTHONDONTWRITEBYTECODE: 1, FOLDER: folder };
  const env = { ...process.env, ...settings, ...python, FAIL: fail, SHADOW: line.shadow ? 'on' : 'off', SECRET: 'a secret for tests, of 32 characters or more' };
  const shop = new Process(PYTHON, ['serve.py'], { cwd: path('oscar'), env });
  shop.start();
  const address = `http://127.0.0.1:${port}`;
  const close = () => rmSync(folder, { recursive: true });
  return { address, line, entrance: `${address}/basket/`, folder, process: shop, close };
}

// What comes next for a person, read from the shop itself, so that it does not matter whether the last answer was lost.
async function step(shop, browser, person) {
  const history = await browser.open(`${shop.address}/accounts/orders/`);
  assert.equal(history.status, 200);
  if (history.url.includes('/accounts/login/')) {
    await signIn(shop, browser, `buyer-${person.index}@example.com`);
    return undefined;
  }
  if (/\/accounts\/orders\/\d+\//.test(history.body)) return 'bought';
  // Who comes without a pass goes to the line, and back when it is their turn.
  let payment = await browser.open(`${shop.address}/checkout/payment-details/`);
  const { line } = shop;
  if (payment.url.startsWith(line.address)) {
    payment = await browser.open(`${line.address}/line/${line.sale}/pass`);
    if (payment.url.startsWith(line.address)) return (await line.isSoldOut()) ? 'sold_out' : undefined;
  }
  assert.equal(payment.status, 200);
  if (payment.body.includes('Everything is sold out.')) return 'sold_out';
  if (!payment.url.includes('/checkout/')) {
    const isEmpty = /Your (basket|cart) is empty/.test(payment.body);
    if (isEmpty) await send(shop, browser, '/basket/add/1/', { quantity: 1, action: 'add' });
    return undefined;
  }
  return person.paysLater ? 'reserved' : pay(shop, browser);
}

async function pay(shop, browser) {
  const { status, url, body } = await send(shop, browser, '/checkout/preview/', { action: 'place_order' });
  assert.equal(status, 200);
  if (body.includes('Your reservation has expired.')) return 'reservation_expired';
  return url.includes('/checkout/thank-you/') ? 'bought' : undefined;
}

// A registration that was not answered may have been carried out.
async function signIn(shop, browser, email) {
  const registration = { 'registration-email': email, registration_submit: '1' };
  const passwords = { 'registration-password1': PASSWORD, 'registration-password2': PASSWORD };
  const next = '/basket/';
  const fields = { ...registration, ...passwords, 'registration-redirect_url': next };
  const { body } = await send(shop, browser, '/accounts/login/', fields);
  if (!body.includes('already exists')) return;
  const login = { 'login-username': email, 'login-password': PASSWORD, login_submit: '1', 'login-redirect_url': next };
  await send(shop, browser, '/accounts/login/', login);
}

function send(shop, browser, target, fields) {
  const token = browser.cookie(shop.address, 'csrftoken');
  return browser.open(shop.address + target, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrfmiddlewaretoken: token, ...fields }).toString(),
  });
}

async function orders(shop) {
  const query = `import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "select o.number, l.quantity from order_order o join order_line l on l.order_id = o.id")
print(json.dumps([{"reference": number, "units": units} for number, units in rows]))`;
  const { stdout } = await promisify(execFile)(PYTHON, ['-c', query, join(shop.folder, 'shop.sqlite')]);
  return JSON.parse(stdout);
}

testShop('django-oscar', { namesCustomers: true, open, step, pay, orders });
