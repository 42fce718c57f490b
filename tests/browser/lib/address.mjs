// Delivery addresses, on every page that has the form.

import { ok, same } from './check.mjs';

const PLACES = {
  zh: { recipient: '王小明', phone: '13800138000', country: 'CN', region: '浙江省', city: '杭州市', line1: '西湖区文三路 478 号', line2: '3 幢 201 室', postal_code: '310012' },
  en: { recipient: 'Ada Lovelace', phone: '+1 212 555 0123', country: 'US', region: 'NY', city: 'New York', line1: '12 Mercer Street', line2: 'Floor 3', postal_code: '10013' },
};

/** An address in a country of the visitor's language. */
export function exampleAddress(visitor, changes = {}) {
  return { ...PLACES[visitor.locale], ...changes };
}

export async function typeAddress({ page }, place) {
  for (const [key, value] of Object.entries(place)) {
    if (key === 'country') await page.locator('#country').selectOption(value);
    else await page.locator(`#${key}`).fill(value);
  }
}

/** The form is shown again, with an error at the wrong field and the input kept. */
export async function formKeepsInput({ page }, place, wrong) {
  await page.locator(`#${wrong}-wrong`).waitFor();
  same(await page.locator(`#${wrong}`).getAttribute('aria-invalid'), 'true');
  for (const [key, value] of Object.entries(place)) same(await page.locator(`#${key}`).inputValue(), value, key);
}

/** The page shows every line of the address. */
export async function showsAddress({ page }, place) {
  const text = await page.locator('address.place').first().textContent();
  for (const key of ['recipient', 'phone', 'city', 'line1', 'line2']) ok(text.includes(place[key]), `${key} is not in ${text}`);
}
