// Delivery addresses, on every page that has the form.

import { ok, same } from './check.mjs';

const PLACES = {
  zh: { recipient: '王小明', phone: '13800138000', country: 'CN', region: '浙江省', city: '杭州市', district: '西湖区', line1: '文三路 478 号', line2: '3 幢 201 室' },
  en: { recipient: 'Ada Lovelace', phone: '+1 212 555 0123', country: 'US', region: 'NY', city: 'New York', line1: '12 Mercer Street', line2: 'Floor 3', postal_code: '10013' },
};

/** An address in a country of the visitor's language. */
export function exampleAddress(visitor, changes = {}) {
  return { ...PLACES[visitor.locale], ...changes };
}

/** The same address as the interface takes it, with the district in front of the street. */
export function sentAddress(visitor, changes = {}) {
  const { district = '', ...place } = exampleAddress(visitor, changes);
  return { ...place, line1: district + place.line1 };
}

/** Fills the form. Places in mainland China are chosen from lists on Chinese pages, and are texts without scripts. */
export async function typeAddress({ page, locale, scripts }, place) {
  const { district = '', ...fields } = place;
  const hasLists = scripts && locale === 'zh' && place.country === 'CN';
  if (!hasLists) fields.line1 = district + fields.line1;
  await page.locator('#country').selectOption(place.country);
  if (hasLists) {
    for (const [key, name] of [['region', place.region], ['city', place.city], ['district', district]]) await page.locator(`select#${key}`).selectOption(name);
  }
  for (const [key, value] of Object.entries(fields)) {
    if (key !== 'country' && !(hasLists && ['region', 'city'].includes(key))) await page.locator(`#${key}`).fill(value);
  }
}

/** The form is shown again, with an error at the wrong field and the input kept. */
export async function formKeepsInput({ page, locale }, place, wrong) {
  await page.locator(`#${wrong}-wrong`).waitFor();
  same(await page.locator(`#${wrong}`).getAttribute('aria-invalid'), 'true');
  if (locale === 'zh' && place.country === 'CN') await page.locator('#district').waitFor();
  for (const [key, value] of Object.entries(place)) same(await page.locator(`#${key}`).inputValue(), value, key);
}

/** The page shows every line of the address. */
export async function showsAddress({ page }, place) {
  const text = await page.locator('address.place').first().textContent();
  for (const key of ['recipient', 'phone', 'city', 'line1', 'line2']) ok(text.includes(place[key]), `${key} is not in ${text}`);
  ok(text.includes((place.district ?? '') + place.line1), `the district is not before the street in ${text}`);
}
