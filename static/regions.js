// The form of an address on Chinese pages: while the country is mainland China, province, city and district are chosen
// from lists. The district is sent in front of the street, as people type it without this file.

import { create, table, translator } from './lib.js';

const MAINLAND = 'CN';
const say = translator(table('region-words'));
const country = document.getElementById('country');
const form = country.form;
const [region, city, street] = ['region', 'city', 'line1'].map((name) => form.elements[name]);
const help = document.getElementById('line1-help');
const typedHelp = help?.textContent;

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
  }

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
