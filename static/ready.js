// Shows what a visitor has prepared before the start of a sale: a session, a delivery address, the right to take part
// if the sale has rules, and money in the wallet. The reminder marks itself.

import { call, clock, currentUser, main, say, slot, write } from './lib.js';
import { reminder } from './reminder.js';

/** The money for an order of this sale: the balance, and the deposit that is set aside for it. */
function purse({ balance, deposits }) {
  const own = deposits.find((deposit) => deposit.sale_id === main.dataset.sale);
  return balance.amount + (own?.amount.amount ?? 0);
}

/** Marks what is done. Without an answer, nothing is marked. */
async function showReady(list) {
  const item = (key) => list.querySelector(`[data-ready="${key}"]`);
  const mark = (key) => {
    const link = item(key);
    link.dataset.done = '';
    link.href = link.dataset.saved ?? link.href;
    write(link, say(`ready_${key}`));
  };
  if (!(await currentUser())) return;
  mark('user');
  const check = async () => {
    const [{ data }, own, wallet] = await Promise.all([
      call('GET', '/api/addresses'),
      item('eligible') && call('GET', `/api/sales/${main.dataset.sale}/eligibility`),
      item('payment') && call('GET', '/api/wallet'),
    ]);
    if (data.addresses?.length > 0) mark('address');
    if (own?.data.eligible) mark('eligible');
    if (wallet?.ok && purse(wallet.data) >= Number(item('payment').dataset.price)) mark('payment');
  };
  await check();
  // The address or the money may be added in another tab.
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && list.querySelector('[data-ready]:not([data-done])')) check();
  });
}

/**
 * Shows what is ready, and enables the reminder. `report` shows a message on the page, `opensAt` returns the opening
 * as far as the page knows it. Returns a function; call it with whether the start is still to come.
 */
export function ready(report, opensAt = () => main.dataset.opens) {
  const list = slot('ready');
  if (!list) return () => {};
  // A page that was loaded after the start keeps no space for what was to prepare.
  if (clock.until(opensAt()) <= Number(list.dataset.ahead)) {
    list.hidden = true;
    return () => {};
  }
  showReady(list);
  const plan = reminder(list, opensAt, report);
  let awaited;
  return (now) => {
    if (now === awaited) return;
    awaited = now;
    list.classList.toggle('done', !now);
    plan();
  };
}
