// Vendure sells fifty units through Seckill.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, Process } from '../../connectors/test/guards.mjs';
import { Browser } from '../../connectors/test/browser.mjs';
import { testShop } from './shop_tests.mjs';

// Where scripts/shops has installed Vendure and made the shop.
const VENDURE = process.env.SHOPS_VENDURE;
const ORDER = '... on Order { code state totalQuantity }';
const ERROR = '... on ErrorResult { errorCode message }';

async function open(line, fail) {
  const folder = mkdtempSync(join(tmpdir(), 'seckill-vendure-'));
  cpSync(join(VENDURE, 'shop'), folder, { recursive: true });
  const port = await freePort();
  const settings = { PORT: port, LINE: line.address, SALE: line.sale, TOKEN: line.token, GUARD: line.shadow ? 'off' : 'on' };
  const env = { ...process.env, ...settings, FAIL: fail, SHADOW: line.shadow ? 'on' : 'off', SECRET: 'a secret for tests, of 32 characters or more' };
  const shop = new Process(process.execPath, ['server.mjs', folder], { cwd: VENDURE, env });
  shop.start();
  const address = `http://127.0.0.1:${port}`;
  const api = `${address}/shop-api`;
  return { address, api, line, entrance: api, process: shop, close: () => rmSync(folder, { recursive: true }) };
}

// What comes next for a person, read from the shop itself, so that it does not matter whether the last answer was lost.
async function step(shop, browser, person) {
  // Who comes without a pass goes to the line, and back when it is their turn.
  const { line } = shop;
  const { url } = await browser.open(shop.api);
  if (url.startsWith(line.address)) {
    const entered = await browser.open(`${line.address}/line/${line.sale}/pass`);
    if (entered.url.startsWith(line.address)) return (await line.isSoldOut()) ? 'sold_out' : undefined;
  }
  const ask = (query, variables) => browser.graphql(shop.api, query, variables);
  const { activeOrder: order } = await ask('{ activeOrder { code state totalQuantity customer { id } } }');
  if (order === null && person.code) {
    const { orderByCode } = await ask('query ($code: String!) { orderByCode(code: $code) { state } }', { code: person.code });
    assert.equal(orderByCode.state, 'PaymentSettled');
    return 'bought';
  }
  if (order === null || order.totalQuantity === 0) {
    await ask(`mutation { addItemToOrder(productVariantId: "1", quantity: 1) { ${ORDER} ${ERROR} } }`);
  } else if (order.customer === null) {
    const email = `buyer-${person.index}@example.com`;
    await ask(`mutation ($email: String!) {
      setCustomerForOrder(input: { emailAddress: $email, firstName: "A", lastName: "Buyer" }) { ${ORDER} ${ERROR} }
      setOrderShippingAddress(input: { streetLine1: "1 Street", countryCode: "CN" }) { ${ORDER} ${ERROR} }
      setOrderShippingMethod(shippingMethodId: ["1"]) { ${ORDER} ${ERROR} } }`, { email });
  } else if (order.state === 'AddingItems') {
    const { transitionOrderToState: answer } = await ask(`mutation {
      transitionOrderToState(state: "ArrangingPayment") { ${ORDER} ... on OrderStateTransitionError { transitionError } } }`);
    if (answer.transitionError && answer.transitionError !== 'line_away') return answer.transitionError;
  } else {
    person.code = order.code;
    return person.paysLater ? 'reserved' : pay(shop, browser);
  }
  return undefined;
}

async function pay(shop, browser) {
  const { addPaymentToOrder: answer } = await browser.graphql(shop.api, `mutation {
    addPaymentToOrder(input: { method: "reserved", metadata: {} }) {
      ${ORDER} ${ERROR} ... on PaymentDeclinedError { paymentErrorMessage } } }`);
  if (answer.errorCode === 'PAYMENT_DECLINED_ERROR') return answer.paymentErrorMessage;
  return answer.state === 'PaymentSettled' ? 'bought' : undefined;
}

async function orders(shop) {
  const browser = new Browser();
  const api = `${shop.address}/admin-api`;
  await browser.graphql(api, 'mutation { login(username: "admin", password: "admin") { __typename } }');
  const { orders: paid, productVariants } = await browser.graphql(api, `{
    orders(options: { take: 1000, filter: { state: { eq: "PaymentSettled" } } }) { items { code totalQuantity } }
    productVariants(options: { take: 1 }) { items { stockLevels { stockAllocated } } } }`);
  const found = paid.items.map(({ code, totalQuantity }) => ({ reference: code, units: totalQuantity }));
  // Vendure's own count of what it has sold.
  const allocated = productVariants.items[0].stockLevels[0].stockAllocated;
  assert.equal(allocated, found.reduce((sum, { units }) => sum + units, 0));
  return found;
}

testShop('vendure', { namesCustomers: false, open, step, pay, orders });
