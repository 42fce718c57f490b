// The page of the shop's name and looks: shows at once what is being entered, and says whether white text on the colour
// can be read. The shop decides in the end with the same rule (`Colour` in `src/domain/shop.rs`).

import { locale, slot, write } from './lib.js';

const MIN_CONTRAST = 4.5;

const form = document.querySelector('[data-brand]');
const preview = slot('preview');
const picture = preview.querySelector('img');
const mend = form.elements.namedItem('mended');

form.addEventListener('input', draw);
draw();

function draw() {
  const { name_zh, name_en, mark, colour } = form.elements;
  write(slot('name', preview), (locale === 'zh' ? name_zh : name_en).value);
  const contrast = 1.05 / (luminance(colour.value) + 0.05);
  const isPale = contrast < MIN_CONTRAST;
  write(document.getElementById('colour-wrong'), isPale ? form.dataset.colourWords.replace('{}', contrast.toFixed(1)) : '');
  const legible = mended(colour.value);
  if (mend) {
    mend.hidden = !isPale;
    mend.value = legible;
    write(mend, mend.dataset.words.replace('{}', legible));
  }
  for (const token of ['primary', 'primary-background', 'primary-border']) preview.style.setProperty(`--pico-${token}`, colour.value);
  if (picture.dataset.mark === 'true' && mark.value.trim() !== '') picture.src = drawn(mark.value.trim(), colour.value);
}

function bytes(colour) {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** The relative luminance of WCAG 2. */
function luminance(colour) {
  const [red, green, blue] = bytes(colour).map((byte) => {
    const part = byte / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The nearest darker colour on which white text is legible. */
function mended(colour) {
  for (let percent = 0; percent <= 100; percent += 1) {
    const hex = bytes(colour).map((byte) => Math.round(byte * (1 - percent / 100)).toString(16).padStart(2, '0'));
    const darker = `#${hex.join('')}`;
    if (1.05 / (luminance(darker) + 0.05) >= MIN_CONTRAST) return darker;
  }
  return '#000000';
}

/** The mark as the shop draws it. */
function drawn(mark, colour) {
  const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 64 });
  const context = canvas.getContext('2d');
  context.fillStyle = colour;
  context.roundRect(0, 0, 64, 64, 16);
  context.fill();
  Object.assign(context, { fillStyle: '#fff', font: `700 ${[...mark].length === 1 ? 40 : 28}px system-ui, sans-serif`, textAlign: 'center', textBaseline: 'middle' });
  context.fillText(mark, 32, 34);
  return canvas.toDataURL();
}
