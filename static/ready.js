// What a visitor has ready before the rush: a session, an address to deliver to, and the right to take part where a sale has rules
// about it. The reminder marks itself.

import { call, main, say, write } from './lib.js';

/** Marks what is done. Without an answer, nothing is claimed. */
export async function showReady(list, user) {
  const mark = (key) => {
    const item = list.querySelector(`[data-ready="${key}"]`);
    item.dataset.done = '';
    item.href = item.dataset.saved ?? item.href;
    write(item, say(`ready_${key}`));
  };
  if (!user) return;
  mark('user');
  const check = async () => {
    const { data } = await call('GET', '/api/addresses');
    if (data.addresses?.length > 0) mark('address');
    if (list.querySelector('[data-ready="eligible"]')) {
      const { data: own } = await call('GET', `/api/sales/${main.dataset.sale}/eligibility`);
      if (own.eligible) mark('eligible');
    }
  };
  await check();
  // The address may be added in another tab.
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && list.querySelector('[data-ready]:not([data-done])')) check();
  });
}
