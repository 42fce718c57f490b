// A sale with rules about who may take part: staff choose them and download codes. A shopper reads what is lacking,
// does it, and buys. Another account at the same address reads that it may not. Without scripts the same forms work.

import { ok, same } from '../lib/check.mjs';
import { exampleAddress, sentAddress, typeAddress } from '../lib/address.mjs';

const RULES = { one_per_address: true, invitation: true, total: 5 };

export default async function eligibility(run) {
  const { shop } = run;
  const sale = await shop.openSale(RULES);
  const { codes } = await shop.admin.ask('POST', `/api/admin/sales/${sale}/codes`, { count: 3 });
  const visitor = await (await run.visit()).logInAsNewUser();
  visitor.expect(403, /\/token$/);
  visitor.expect(409, /\/token$/);
  visitor.expect(403, /\/code$/);
  await readRules(visitor, sale);
  await saveAddress(visitor, sale);
  await redeem(visitor, codes[0]);
  await visitor.inspect('eligibility-met');
  await buy(visitor, sale);
  await withoutScripts(run, sale, codes[1]);
  await lookAtConsole(run, sale);
}

/** The page shows the rules; the button says what is lacking. */
async function readRules(visitor, sale) {
  await visitor.go(`/sales/${sale}`);
  await visitor.page.locator('.clock[data-phase="open"]').waitFor();
  await visitor.page.locator('.eligibility').waitFor();
  await visitor.inspect('eligibility-sale');
  await visitor.button(visitor.labels.buy).click();
  await visitor.slot('note').filter({ hasText: /./ }).waitFor();
  await visitor.link(visitor.labels.checkRules).first().click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
  await visitor.inspect('eligibility-lacking');
}

/** The form of an address leads back to the rules. */
async function saveAddress(visitor, sale) {
  await visitor.page.locator(`a[href$="/addresses/new?sale=${sale}"]`).click();
  await typeAddress(visitor, exampleAddress(visitor));
  await visitor.page.locator('article form button.big').click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
}

async function redeem(visitor, code) {
  await visitor.page.locator('#code').fill('00000-00000-00000-00000-000000');
  await visitor.button(visitor.labels.redeem).click();
  await visitor.page.locator('#code-wrong').waitFor();
  await visitor.inspect('eligibility-wrong-code');
  await visitor.page.locator('#code').fill(code.toLowerCase());
  await visitor.button(visitor.labels.redeem).click();
  await visitor.page.locator('#code').waitFor({ state: 'detached' });
}

async function buy(visitor, sale) {
  await visitor.go(`/sales/${sale}`);
  await visitor.page.locator('.clock[data-phase="open"]').waitFor();
  await visitor.button(visitor.labels.buy).click();
  await visitor.page.waitForURL(visitor.path(`/orders/${sale}/*`));
}

/** Another account at the same address, and without scripts: the form of the sale leads to the rules. */
async function withoutScripts(run, sale, code) {
  const visitor = await run.visit({ scripts: false });
  visitor.expect(409, /./);
  await visitor.logInAsNewUser();
  await visitor.account.ask('POST', '/api/addresses', { address: sentAddress(visitor, { recipient: 'Li Lei' }) });
  await visitor.go(`/sales/${sale}`);
  await visitor.button(visitor.labels.buy).click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
  await visitor.page.locator('#code').fill(code);
  await visitor.button(visitor.labels.redeem).click();
  await visitor.page.waitForURL(visitor.path(`/sales/${sale}/eligibility`));
  await visitor.inspect('eligibility-taken');
  same((await visitor.account.ask('GET', `/api/sales/${sale}/eligibility`)).rules.map(({ lacks }) => lacks), ['address_taken', null]);
  same((await visitor.account.orders()).length, 0);
  await visitor.account.ask('POST', '/api/addresses', { address: sentAddress(visitor, { line2: '99' }), is_default: true });
  await visitor.go(`/sales/${sale}`);
  await visitor.button(visitor.labels.buy).click();
  await visitor.page.waitForURL(visitor.path(`/orders/${sale}/*`));
}

async function lookAtConsole(run, sale) {
  const staff = await run.visit();
  await staff.logInAs(run.shop.admin);
  await staff.goAdmin(`/sales/${sale}/codes`);
  await staff.inspect('eligibility-codes');
  await staff.page.locator('#count').fill('2');
  const download = staff.page.waitForEvent('download');
  await staff.button(staff.labels.makeCodes).click();
  ok((await download).suggestedFilename().endsWith('.csv'), 'the codes are a file');
  const planned = await run.shop.newSale({ ...RULES, opensIn: 3_600_000 });
  await staff.goAdmin(`/sales/${planned}/edit`);
  await staff.page.locator('#rules').scrollIntoViewIfNeeded();
  await staff.inspect('eligibility-form');
}
