// A rush on another shop that sells through Seckill: buyers on connections of their own, processes that die in the middle,
// and the books of both at the end. What a shop is, its test says.
import assert from 'node:assert/strict';
import { Browser } from '../../connectors/test/browser.mjs';
import { eventually as soon, get } from '../../connectors/test/guards.mjs';

const PATIENCE_MS = Number(process.env.PATIENCE_S ?? 600) * 1000;
const PAUSE_MS = 300;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits as long as a rush may take. */
export function eventually(condition, what) {
  return soon(condition, what, { patience: PATIENCE_MS, pause: PAUSE_MS });
}

/**
 * Lets `buyers` people buy one unit each, all at once. `step(browser, person)` does what comes next for a person and returns
 * `bought` or a refusal once there is nothing to do; what fails is done again. `events` are `[confirmed, happens]`: what happens
 * once so many units are confirmed.
 */
export async function rush({ buyers, step, confirmed, events }) {
  const people = Array.from({ length: buyers }, (_, index) => ({ index }));
  let over = false;
  const happen = async () => {
    for (const [units, happens] of events) {
      await eventually(async () => over || (await confirmed()) >= units, `${units} units are confirmed`);
      await happens();
    }
  };
  const buy = async (person) => {
    const browser = new Browser();
    await eventually(async () => (person.outcome = await step(browser, person)), `person ${person.index} has an answer`);
    person.passes = browser.passes;
    browser.close();
  };
  const happening = happen();
  await Promise.all(people.map(buy));
  over = true;
  await happening;
  const outcomes = {};
  for (const { outcome } of people) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  return { outcomes, people };
}

const claimsOf = (pass) => JSON.parse(Buffer.from(pass.split('.')[1], 'base64url'));

/**
 * Everybody who bought came in with a pass of an own turn, and each pass that let somebody in does so once. `entrance` is a
 * guarded address.
 */
export async function assertTurnsWereKept(people, entrance) {
  const buyers = people.filter(({ outcome }) => outcome === 'bought');
  for (const { index, passes } of buyers) assert.ok(passes.length > 0, `person ${index} bought without a turn`);
  const passes = people.flatMap((person) => person.passes);
  const claims = passes.map(claimsOf);
  assert.equal(new Set(claims.map(({ jti }) => jti)).size, passes.length, 'no pass let two in');
  const owners = new Map(claims.map(({ place, sub }) => [place, sub]));
  for (const { place, sub } of claims) assert.equal(owners.get(place), sub, 'a turn belongs to one person');
  assert.ok(new Set(buyers.map((person) => claimsOf(person.passes[0]).sub)).size === buyers.length, 'one turn each');
  const { port, pathname } = new URL(entrance);
  for (const pass of passes) {
    const { status, headers } = await get(port, `${pathname}?seckill_pass=${pass}`);
    assert.ok(status === 303 && new URL(headers.location, entrance).port !== port, `a used pass gets ${status} ${headers.location}`);
  }
}

/** Orders that are paid in the other shop, and reservations that are confirmed, are the same. */
export function assertBooksAgree(paid, reservations, units) {
  const references = reservations.filter(({ status }) => status === 'confirmed').map(({ reference }) => reference);
  assert.equal(references.length, units);
  assert.equal(new Set(references).size, units);
  assert.deepEqual([...paid].sort(), [...references].sort());
}
