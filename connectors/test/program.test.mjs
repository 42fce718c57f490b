// Each connector in front of its example page, with the line of the program itself. SECKILL_TEST_PROGRAM is its path.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser } from './browser.mjs';
import { eventually, freePort, get, startGuard, stopGuard } from './guards.mjs';
import { SeckillProgram, waitingRoom } from './program.mjs';

const PATIENCE = { patience: 60_000, pause: 200 };

describe('with the program', { concurrency: true }, () => {
  let line;
  before(async () => {
    line = await SeckillProgram.make({ program: process.env.SECKILL_TEST_PROGRAM, units: 1, holdSeconds: 1800 });
  });
  after(() => line.close());

  for (const kind of ['node', 'wsgi', 'asgi', 'nginx']) {
    test(`${kind}: from the page through the waiting room and back`, async () => {
      const port = await freePort();
      const address = `http://127.0.0.1:${port}`;
      const sale = await line.sell({ total: 5, ...waitingRoom() });
      await line.register(`${address}/buy`, { sale, anonymous: true });
      const guard = await startGuard(kind, { line: line.address, sale, port });
      try {
        const target = `${address}/buy/shoes?size=41&note=a%20b`;
        const comesIn = async (browser, entrance, name) => {
          const waiting = await eventually(async () => {
            const page = await browser.open(await entrance());
            return page.status === 200 && page;
          }, 'a place', PATIENCE);
          assert.match(waiting.url, new RegExp(`^${line.address}/(zh|en)/sales/${sale}/line`));
          const page = await eventually(async () => {
            const answer = await browser.open(`${line.address}/line/${sale}/pass`);
            return answer.url.startsWith(address) && answer;
          }, 'the turn', PATIENCE);
          assert.equal(page.url, target);
          assert.match(page.body, name);
          assert.match((await browser.open(`${address}/buy`)).body, name);
        };
        const browser = new Browser();
        // The shop's own customer brings an entry along.
        const withEntry = async () => {
          const { headers } = await get(port, target.slice(address.length));
          const { entry_token: entry } = await line.ask('POST', '/api/v1/shoppers', { id: `customer-${kind}` });
          return `${headers.location}&entry=${entry}`;
        };
        await Promise.all([
          comesIn(browser, () => target, /^Hello (account:|anonymous-)[0-9a-f-]+, buy now!$/m),
          comesIn(new Browser(), withEntry, new RegExp(`^Hello customer-${kind}, buy now!$`, 'm')),
        ]);
        const other = await new Browser().open(`${address}/buy`);
        assert.ok(other.url.startsWith(line.address), 'nobody else comes in');
        // The turn is used up for nginx alone; a connector that works offline remembers the pass, not the turn.
        const again = await browser.open(`${line.address}/line/${sale}/pass`);
        assert.ok(again.url.startsWith(kind === 'nginx' ? line.address : address), again.url);
      } finally {
        await stopGuard(guard);
      }
    });
  }
});
