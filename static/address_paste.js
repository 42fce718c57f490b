// The form of an address on English pages: name, phone and address as one text, which is split into the fields below, where
// the shopper sees them.

import { slot } from './lib.js';

const box = document.getElementById('paste');
const fields = box.form.elements;
const countries = new Map([...fields.country.options].filter(({ value }) => value).map(({ text, value }) => [text.toLowerCase(), value]));
for (const [name, code] of [['usa', 'US'], ['us', 'US'], ['uk', 'GB']]) countries.set(name, code);

/** How the last line ends, by country: city, region, postal code. In other countries the city stands alone or behind its code. */
const ENDS = [
  ['US', /^(?<city>.*?)\s*\b(?<region>[A-Z]{2}) (?<code>\d{5}(?:-\d{4})?)$/],
  ['CA', /^(?<city>.*?)\s*\b(?<region>[A-Z]{2}) (?<code>[A-Z]\d[A-Z] ?\d[A-Z]\d)$/],
  ['AU', /^(?<city>.*?)\s*\b(?<region>NSW|VIC|QLD|WA|SA|TAS|ACT|NT) (?<code>\d{4})$/],
  ['GB', /^(?<city>.*?)\s*\b(?<code>[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2})$/],
  ['', /^(?<code>\d{4,6}) (?<city>\D+)$/],
  ['', /^(?<city>.+)$/],
];

const isPhone = (part) => /^[+\d][\d ().-]*$/.test(part) && part.replace(/\D/g, '').length >= (part.startsWith('+') ? 7 : 10);

/** The parts of a text whose first part without digits is the name, and whose last one is the town. */
function split(text) {
  const parts = text.split(/[,;\n]/).map((part) => part.trim()).filter(Boolean);
  const take = (test) => parts.splice(parts.findIndex(test), parts.some(test) ? 1 : 0)[0] ?? '';
  const phone = take(isPhone);
  const named = countries.get(take((part) => countries.has(part.toLowerCase())).toLowerCase());
  const recipient = take((part) => !/\d/.test(part));
  const [country, end] = ENDS.map(([of, form]) => [of, form.exec(parts.at(-1) ?? '')]).find(([, found]) => found) ?? [];
  if (!end || parts.length < 2) return null;
  parts.pop();
  const { city, region = '', code = '' } = end.groups;
  const [line1, ...more] = parts.slice(0, city ? parts.length : -1);
  return { recipient, phone, country: named ?? country, region, city: city || parts.at(-1), line1, line2: more.join(', '), postal_code: code };
}

box.addEventListener('input', () => {
  const found = split(box.value);
  if (!found?.line1) return;
  for (const [name, value] of Object.entries(found)) if (name !== 'country' || value) fields[name].value = value;
});
slot('paste').hidden = false;
