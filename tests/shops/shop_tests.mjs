// What every shop that sells through Seckill is tested for.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../../connectors/test/browser.mjs';
import { assertBooksAgree, assertTurnsWereKept, eventually, pause, rush } from './rush.mjs';
import { Receiver } from './receiver.mjs';
import { startSeckill } from './seckill.mjs';

const UNITS = 50;
const BUYERS = 200;
const AWAY_MS = 2_000;
// More than a purchase takes.
const STEPS_AWAY = 8;
// Of the sale in shadow mode, and how many too many are sold.
const [SHADOW_UNITS, TOO_MANY] = [4, 3];

/**
 * `namesCustomers` says whether the line learns who a customer is: then the program's sale has a waiting room. Otherwise it takes
 * anonymous visitors in, and lets them on once it is open.
 * `open(line, fail)` starts the shop, which sells through the sale of `line`, as `{address, entrance, process, close}`;
 * `entrance` is a guarded address. `step(shop, browser, person)` does what comes next for a person and returns `bought`,
 * `reserved` if `person.paysLater`, or a refusal once there is nothing to do. `pay(shop, browser)` sends the payment of what
 * is reserved. `orders(shop)` lists orders that are paid, as `{reference, units}`. With `line.shadow` the shop reserves nothing,
 * and tells the sale what it has sold.
 */
export function testShop(name, { namesCustomers, open, step, pay, orders }) {
  async function withShop({ holdSeconds, fail = 'closed' }, use) {
    const line = await startSeckill({ units: UNITS, waits: namesCustomers, holdSeconds });
    try {
      const shop = await open(line, fail);
      try {
        await line.register(`${shop.address}/`, { anonymous: !namesCustomers });
        await eventually(() => new Browser().open(shop.address), 'the shop answers');
        await use(line, shop);
      } finally {
        await shop.process.stop();
        shop.close();
      }
    } finally {
      await line.close();
    }
  }

  describe(name, () => {
    test('a buyer who pays after the expiry has no unit and no order', async () => {
      await withShop({ holdSeconds: 3 }, async (line, shop) => {
        const browser = new Browser();
        const person = { index: 'late', paysLater: true };
        assert.equal(await eventually(() => step(shop, browser, person), 'a reservation'), 'reserved');
        const status = async () => (await line.list())[0].status;
        await eventually(async () => (await status()) === 'expired', 'the end of the reservation');
        assert.equal(await eventually(() => pay(shop, browser), 'an answer'), 'reservation_expired');
        assert.equal(await status(), 'expired');
        assert.deepEqual(await orders(shop), []);
      });
    });

    test('in shadow mode the orders that a shop sells beyond its stock are told', async (t) => {
      const line = await startSeckill({ units: UNITS, holdSeconds: 1800 });
      try {
        if (!line.isReal) return t.skip('the stand-in compares nothing');
        // A draft, which nobody sees here. The shop does not check its own stock.
        const sale = await line.sell({ total: SHADOW_UNITS });
        const { address, token } = line;
        const shop = await open({ address, token, sale, shadow: true }, 'closed');
        try {
          await eventually(() => new Browser().open(shop.address), 'the shop answers');
          const sold = [];
          for (let index = 0; index < SHADOW_UNITS + TOO_MANY; index += 1) {
            const [browser, person] = [new Browser(), { index }];
            assert.equal(await eventually(() => step(shop, browser, person), 'an answer'), 'bought', 'nobody is held up');
            browser.close();
            const references = (await orders(shop)).map(({ reference }) => reference);
            sold.push(...references.filter((reference) => !sold.includes(reference)));
          }
          assert.equal(sold.length, SHADOW_UNITS + TOO_MANY);
          const read = () => line.ask('GET', `/api/v1/sales/${sale}/decisions/differences`);
          await eventually(async () => (await read()).comparison.decisions === sold.length, 'everything is told');
          const { comparison, differences } = await read();
          assert.deepEqual(comparison, {
            decisions: sold.length, units_sold: sold.length, refused_here: TOO_MANY, refused_there: 0, oversold: TOO_MANY,
          });
          const tooMany = differences.map(({ decision, here, oversold }) => [decision.reference, here, oversold]);
          assert.deepEqual(tooMany, sold.slice(SHADOW_UNITS).map((reference) => [reference, 'sold_out', 1]));
          assert.deepEqual((await line.ask('GET', `/api/v1/sales/${sale}/reservations`)).reservations, [], 'nothing is held');
        } finally {
          await shop.process.stop();
          shop.close();
        }
        return undefined;
      } finally {
        await line.close();
      }
    });

    test('a lost event comes again, and a replayed one is known', async (t) => {
      await withShop({ holdSeconds: 1800 }, async (line, shop) => {
        if (!line.isReal) return t.skip('the stand-in sends no events');
        const receiver = await Receiver.start();
        try {
          const wanted = { url: receiver.address, events: ['reservation.*'] };
          const { webhook, secret } = await line.ask('POST', '/api/admin/webhooks', wanted);
          receiver.secret = secret;
          // Whatever comes first is lost on the way.
          receiver.losesNext = 1;
          const [browser, person] = [new Browser(), { index: 'event' }];
          assert.equal(await eventually(() => step(shop, browser, person), 'an answer'), 'bought');
          const [{ id }] = await line.list();
          const types = () => [...receiver.events.values()].filter(({ data }) => data.reservation.id === id).map(({ type }) => type);
          await eventually(() => types().length === 2, 'both events');
          assert.deepEqual(types().sort(), ['reservation.confirmed', 'reservation.held']);
          assert.equal(receiver.lost, 1);
          const before = receiver.received;
          const since = new Date(Date.now() - 3_600_000).toISOString();
          await line.ask('POST', `/api/admin/webhooks/${webhook.id}/replay`, { since });
          await eventually(() => receiver.received >= before + 2, 'both events again');
          assert.equal(types().length, 2, 'with the same ids');
          return undefined;
        } finally {
          receiver.stop();
        }
      });
    });

    for (const fail of ['open', 'closed']) {
      test(`while Seckill is away, a shop that is set to ${fail} sells nothing`, async () => {
        await withShop({ holdSeconds: 1800, fail }, async (line, shop) => {
          await line.kill();
          const browser = new Browser();
          const person = { index: fail };
          const { status } = await eventually(() => browser.open(shop.entrance), 'the shop knows that the line is away');
          assert.equal(status === 503, fail === 'closed');
          if (fail === 'open') {
            for (let i = 0; i < STEPS_AWAY; i += 1) assert.equal(await step(shop, browser, person), undefined);
          }
          assert.deepEqual(await orders(shop), []);
          await line.start();
          assert.equal(await eventually(() => step(shop, browser, person), 'an answer'), 'bought');
          assert.equal((await orders(shop)).length, 1);
        });
      });
    }

    for (const fail of ['open', 'closed']) {
      test(`two hundred buyers, fifty units, and both sides die in the middle, set to ${fail}`, async () => {
        await withShop({ holdSeconds: 1800, fail }, async (line, shop) => {
          const confirmed = async () => (await line.list()).filter(({ status }) => status === 'confirmed').length;
          const { outcomes, people } = await rush({
            buyers: BUYERS,
            step: (browser, person) => step(shop, browser, person),
            confirmed,
            events: [
              [5, () => line.loseAnswers?.(10)],
              [15, async () => {
                await shop.process.stop('SIGKILL');
                shop.process.start();
              }],
              [30, async () => {
                await line.kill();
                await pause(AWAY_MS);
                await line.start();
              }],
            ],
          });
          assert.deepEqual(outcomes, { bought: UNITS, sold_out: BUYERS - UNITS });
          const sold = await orders(shop);
          assertBooksAgree(sold.map(({ reference }) => reference), await line.list(), UNITS);
          assert.equal(sold.reduce((sum, { units }) => sum + units, 0), UNITS);
          // While the line is away, an open shop lets people in without a pass. Nobody gets a unit out of turn all the same.
          if (line.isReal && fail === 'closed') await assertTurnsWereKept(people, shop.entrance);
        });
      });
    }
  });
}
