// Vendure sells fifty units through Seckill.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../connectors/test/guards.mjs';
import { Browser } from './browser.mjs';
import { assertBooksAgree, eventually, Process, rush } from './rush.mjs';
import { SALE, SeckillStandIn, TOKEN } from './seckill.mjs';

const UNITS = 50;
const BUYERS = 200;
// Where scripts/shops has installed Vendure and made the shop.
const VENDURE = process.env.SHOPS_VENDURE;

const ORDER = '... on Order { code state totalQuantity }';
const ERROR = '... on ErrorResult { errorCode message }';
const REFUSED = '... on OrderStateTransitionError { transitionError }';

describe('vendure', () => {
  let line, shop, folder, port, api;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'seckill-vendure-'));
    cpSync(join(VENDURE, 'shop'), folder, { recursive: true });
    line = new SeckillStandIn(await freePort(), UNITS);
    await line.start();
    port = await freePort();
    api = `http://127.0.0.1:${port}/shop-api`;
    line.registered.push(`http://127.0.0.1:${port}/`);
    const settings = { PORT: port, LINE: line.address, SALE, TOKEN, SECRET: 'a secret for tests, of 32 characters or more' };
    shop = new Process(process.execPath, ['server.mjs', folder], { cwd: VENDURE, env: { ...process.env, ...settings } });
    shop.start();
    await eventually(() => new Browser().open(`http://127.0.0.1:${port}/health`), 'the shop answers');
  });
  after(async () => {
    await shop.stop();
    await line.stop();
    rmSync(folder, { recursive: true });
  });

  // What comes next for a person, read from the shop itself, so that it does not matter whether the last answer was lost.
  async function step(browser, person) {
    if (!browser.cookie(api, `seckill_pass_${SALE}`)) await browser.open(api);
    const ask = (query, variables) => browser.graphql(api, query, variables);
    const { activeOrder: order } = await ask('{ activeOrder { code state totalQuantity customer { id } shippingLines { id } } }');
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
      const { transitionOrderToState: answer } = await ask(
        `mutation { transitionOrderToState(state: "ArrangingPayment") { ${ORDER} ${REFUSED} } }`,
      );
      if (answer.transitionError && answer.transitionError !== 'line_away') return answer.transitionError;
    } else {
      person.code = order.code;
      if (person.paysLater) return 'reserved';
      const { addPaymentToOrder: answer } = await ask(
        `mutation { addPaymentToOrder(input: { method: "reserved", metadata: {} }) { ${ORDER} ... on PaymentFailedError { paymentErrorMessage }
          ... on PaymentDeclinedError { paymentErrorMessage } ${ERROR} } }`,
      );
      if (answer.errorCode === 'PAYMENT_DECLINED_ERROR') return answer.paymentErrorMessage;
      if (answer.state === 'PaymentSettled') return 'bought';
    }
    return undefined;
  }

  async function admin(query) {
    const browser = new Browser();
    const url = `http://127.0.0.1:${port}/admin-api`;
    await browser.graphql(url, 'mutation { login(username: "admin", password: "admin") { __typename } }');
    return browser.graphql(url, query);
  }

  test('a buyer who pays after the expiry has no unit and no order', async () => {
    const browser = new Browser();
    const person = { index: 'late', paysLater: true };
    line.holdSeconds = 1;
    assert.equal(await eventually(() => step(browser, person), 'a reservation'), 'reserved');
    line.holdSeconds = 600;
    await eventually(() => line.list()[0].status === 'expired', 'the end of the reservation');
    person.paysLater = false;
    assert.equal(await eventually(() => step(browser, person), 'an answer'), 'reservation_expired');
    const { orders } = await admin('{ orders(options: { filter: { state: { eq: "PaymentSettled" } } }) { totalItems } }');
    assert.equal(orders.totalItems, 0);
  });

  test('two hundred buyers, fifty units, and both sides die in the middle', async () => {
    const confirmed = () => line.list().filter(({ status }) => status === 'confirmed').length;
    const outcomes = await rush({
      buyers: BUYERS,
      step,
      confirmed,
      events: [
        [5, () => (line.unanswered = 10)],
        [15, async () => {
          await shop.stop('SIGKILL');
          shop.start();
        }],
        [30, async () => {
          await line.stop();
          await new Promise((resolve) => setTimeout(resolve, 2_000));
          await line.start();
        }],
      ],
    });
    assert.deepEqual(outcomes, { bought: UNITS, sold_out: BUYERS - UNITS });
    const { orders, productVariants } = await admin(`{
      orders(options: { take: 1000, filter: { state: { eq: "PaymentSettled" } } }) { items { code } }
      productVariants(options: { take: 1 }) { items { stockLevels { stockOnHand stockAllocated } } } }`);
    assertBooksAgree(orders.items.map(({ code }) => code), line.list(), UNITS);
    assert.deepEqual(productVariants.items[0].stockLevels, [{ stockOnHand: UNITS, stockAllocated: UNITS }]);
  });
});
