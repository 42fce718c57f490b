// The form of an address on Chinese pages: while the country is mainland China, province, city and district are chosen
// from lists. The district is sent in front of the street, as people type it without this file.

import { create, slot, table, translator } from './lib.js';

const MAINLAND = 'CN';
const say = translator(table('region-words'));
const country = document.getElementById('country');
const form = country.form;
const [region, city, street] = ['region', 'city', 'line1'].map((name) => form.elements[name]);
const help = document.getElementById('line1-help');
const typedHelp = help?.textContent;
const [code, postal] = [slot('code'), form.elements.postal_code];

/**
 * A list in the place of a text field. It takes over the field's id, label and error message. `choose` is called with
 * the choice.
 */
function listFor(field, choose) {
  const list = create('select', { required: true });
  for (const name of ['autocomplete', 'aria-invalid', 'aria-describedby']) {
    if (field.hasAttribute(name)) list.setAttribute(name, field.getAttribute(name));
  }
  list.addEventListener('change', () => {
    field.value = list.value;
    choose(list.value);
  });
  return list;
}

/** Fills a list, and chooses `chosen` if it is in the list. */
function offer(list, names, chosen) {
  list.replaceChildren(create('option', { value: '', textContent: say('choose') }), ...names.map((name) => create('option', { value: name, textContent: name })));
  list.value = names.includes(chosen) ? chosen : '';
}

/** What ends the name of a place and is often left out. */
const ENDING = /(省|市|壮族自治区|回族自治区|维吾尔自治区|自治区)$/;
/** What stands before the parts of an address that was copied from elsewhere. */
const LABELS = /(收货人|收件人|姓名|联系电话|联系方式|电话|手机号码|手机号|手机|所在地区|地区|详细地址|收货地址|地址)\s*[:：]/g;

/**
 * The parts of an address that was pasted as one text: a mobile number, the place from the lists, a name of two to four
 * characters, and the rest as the street.
 */
function split(text, provinces) {
  let rest = text.replace(LABELS, ' ');
  const find = (names) => {
    const found = names.find((name) => rest.includes(name)) ?? names.find((name) => rest.includes(name.replace(ENDING, '')));
    if (found) rest = rest.includes(found) ? rest.replace(found, ' ') : rest.replace(found.replace(ENDING, ''), ' ');
    return found ?? '';
  };
  const phone = rest.match(/(?:\+?86[- ]?)?(1[3-9]\d)[- ]?(\d{4})[- ]?(\d{4})(?!\d)/);
  if (phone) rest = rest.replace(phone[0], ' ');
  const province = find(Object.keys(provinces));
  const cities = Object.keys(provinces[province] ?? {});
  const city = cities.length === 1 ? cities[0] : find(cities);
  rest = rest.replace(city, ' ');
  const part = find(provinces[province]?.[city] ?? []);
  const words = rest.split(/[\s,，;；、]+/).filter(Boolean);
  const person = words.find((word) => /^[\u4e00-\u9fff·]{2,4}$/.test(word)) ?? '';
  return { phone: phone?.slice(1).join('') ?? '', province, city, part, person, line: words.filter((word) => word !== person).join(' ') };
}

/** Finds a name that was typed in full or without its last characters. */
const known = (names, typed) => names.find((name) => typed !== '' && name.startsWith(typed));

function begin(provinces) {
  const district = create('select', { id: 'district', required: true });
  const districtFrame = create('div', {}, create('label', { htmlFor: 'district', textContent: say('district') }), district);
  const cities = listFor(city, (name) => showDistricts(name, ''));
  const regions = listFor(region, (name) => showCities(name, ''));
  const texts = [[region, regions, region.id, region.required], [city, cities, city.id, city.required]];
  let isOn = false;

  function showDistricts(name, chosen) {
    const names = provinces[region.value]?.[name] ?? [];
    offer(district, names, chosen);
    district.required = names.length > 0;
    districtFrame.hidden = name !== '' && names.length === 0;
  }

  function showCities(name, chosen) {
    const names = Object.keys(provinces[name] ?? {});
    // A municipality is its own only city, such as Beijing.
    offer(cities, names, names.length === 1 ? names[0] : chosen);
    city.value = cities.value;
    showDistricts(cities.value, '');
  }

  /** Shows the lists, unless the form has a place that is not in them. Such a place stays as it was typed. */
  function turnOn() {
    const province = known(Object.keys(provinces), region.value);
    const town = province && known(Object.keys(provinces[province]), city.value);
    if ((region.value !== '' && !province) || (city.value !== '' && !town)) return;
    isOn = true;
    for (const [field, list, id] of texts) {
      Object.assign(field, { hidden: true, required: false, id: `${id}-typed` });
      list.id = id;
      field.after(list);
    }
    city.closest('.pair').append(districtFrame);
    const part = (provinces[province]?.[town] ?? []).find((name) => street.value.startsWith(name)) ?? '';
    offer(regions, Object.keys(provinces), province);
    region.value = regions.value;
    showCities(regions.value, town);
    showDistricts(cities.value, part);
    street.value = street.value.slice(part.length).trim();
    if (help) help.textContent = say('street_help');
    // Parcels in mainland China need no postal code.
    code.hidden = postal.value === '';
  }

  function turnOff() {
    isOn = false;
    street.value = district.value + street.value;
    districtFrame.remove();
    for (const [field, list, id, required] of texts) {
      list.remove();
      Object.assign(field, { hidden: false, required, id });
    }
    if (help) help.textContent = typedHelp;
    code.hidden = false;
  }

  const paste = document.getElementById('paste');
  paste.addEventListener('input', () => {
    const { phone, province, city: town, part, person, line } = split(paste.value, provinces);
    if (!phone || !province) return;
    Object.assign(country, { value: MAINLAND });
    follow();
    if (!isOn) return;
    Object.assign(form.elements.phone, { value: phone });
    Object.assign(form.elements.recipient, { value: person });
    region.value = regions.value = province;
    showCities(province, town);
    showDistricts(cities.value, part);
    street.value = line;
  });
  slot('paste').hidden = false;

  const follow = () => {
    if (country.value === MAINLAND && !isOn) turnOn();
    if (country.value !== MAINLAND && isOn) turnOff();
  };
  country.addEventListener('change', follow);
  form.addEventListener('formdata', ({ formData }) => {
    if (isOn) formData.set('line1', district.value + street.value);
  });
  follow();
}

// If the lists do not load, the fields stay text fields.
const answer = await fetch(document.getElementById('region-words').dataset.regions).catch(() => null);
if (answer?.ok) begin(await answer.json());
