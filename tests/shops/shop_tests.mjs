// What every shop that sells through Seckill is tested for.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Browser } from '../../connectors/test/browser.mjs';
import { assertBooksAgree, eventually, pause, rush } from './rush.mjs';
import { startSeckill } from './seckill.mjs';

const UNITS = 50;
const BUYERS = 200;
const AWAY_MS = 2_000;
// More than a purchase takes.
const STEPS_AWAY = 8;

/**
 * `hasLine` says whether the shop names its customers to the line, so that the program's sale can have a waiting room.
 * `open(line, fail)` starts the shop, which sells through the sale of `line`, as `{address, entrance, process, close}`;
 * `entrance` is a guarded address. `step(shop, browser, person)` does what comes next for a person and returns `bought`,
 * `reserved` if `person.paysLater`, or a refusal once there is nothing to do. `pay(shop, browser)` sends the payment of what
 * is reserved. `orders(shop)` lists orders that are paid, as `{reference, units}`.
 */
export function testShop(name, { hasLine, open, step, pay, orders }) {
  async function withShop({ holdSeconds, fail = 'closed' }, use) {
    const line = await startSeckill({ units: UNITS, hasLine, holdSeconds });
    try {
      const shop = await open(line, fail);
      try {
        if (line.hasLine) await line.register(`${shop.address}/`);
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

    for (const fail of ['open', 'closed']) {
      test(`while Seckill is away, a shop that is set to ${fail} sells nothing`, async (t) => {
        await withShop({ holdSeconds: 1800, fail }, async (line, shop) => {
          if (!line.hasLine) return t.skip('no line before this sale');
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
          return undefined;
        });
      });
    }

    test('two hundred buyers, fifty units, and both sides die in the middle', async () => {
      await withShop({ holdSeconds: 1800 }, async (line, shop) => {
        const confirmed = async () => (await line.list()).filter(({ status }) => status === 'confirmed').length;
        const outcomes = await rush({
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
      });
    });
  });
}
