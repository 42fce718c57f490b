// Entering a delivery address, on whichever page asks for one.

import { ok, same } from './check.mjs';

const PLACES = {
  zh: { recipient: '王小明', phone: '13800138000', country: 'CN', region: '浙江省', city: '杭州市', line1: '西湖区文三路 478 号', line2: '3 幢 201 室', postal_code: '310012' },
  en: { recipient: 'Ada Lovelace', phone: '+1 212 555 0123', country: 'US', region: 'NY', city: 'New York', line1: '12 Mercer Street', line2: 'Floor 3', postal_code: '10013' },
};

/** An address where people of this language live. */
export function placeOf(visitor, changes = {}) {
  return { ...PLACES[visitor.locale], ...changes };
}

export async function typeAddress({ page }, place) {
  for (const [key, value] of Object.entries(place)) {
    if (key === 'country') await page.locator('#country').selectOption(value);
    else await page.locator(`#${key}`).fill(value);
  }
}

/** The form came back: the field that is wrong says so, and what was typed is still there. */
export async function comesBackFilled({ page }, place, wrong) {
  await page.locator(`#${wrong}-wrong`).waitFor();
  same(await page.locator(`#${wrong}`).getAttribute('aria-invalid'), 'true');
  for (const [key, value] of Object.entries(place)) same(await page.locator(`#${key}`).inputValue(), value, key);
}

/** Every line that somebody needs to deliver it stands on the page. */
export async function shows({ page }, place) {
  const text = await page.locator('address.place').first().textContent();
  for (const key of ['recipient', 'phone', 'city', 'line1', 'line2']) ok(text.includes(place[key]), `${key} is not in ${text}`);
}
