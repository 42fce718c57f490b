// What a winner shows around: the product, "got it" and the shop, painted in the browser and offered like a poster.

import { blank, offer } from './poster.js';

const FONTS = getComputedStyle(document.body).fontFamily;
const MARGIN = 60;
/** The frame of the product: a square in the middle. */
const FRAME = { x: 110, y: 170, size: 680, round: 48 };

/** Writes a line in the middle, smaller if it would not fit, and cut if it would become too small. */
function line(context, text, y, size, weight, color) {
  const room = context.canvas.width - 2 * MARGIN;
  const width = (words, at) => { context.font = `${weight} ${at}px ${FONTS}`; return context.measureText(words).width; };
  const fitting = Math.max(size * 0.6, Math.min(size, size * room / width(text, size)));
  let words = text;
  while (width(words, fitting) > room) words = `${[...words].slice(0, -2).join('')}…`;
  context.fillStyle = color;
  context.fillText(words, context.canvas.width / 2, y);
}

/** The colors of the stage (`outcome.css`), which are the same in both themes. */
function stage(context, { width, height }) {
  const heat = context.createRadialGradient(width / 2, 0, 0, width / 2, 0, height);
  [[0, '#d03822'], [0.45, '#a31d12'], [1, '#5a0b10']].forEach(([at, color]) => heat.addColorStop(at, color));
  context.fillStyle = heat;
  context.fillRect(0, 0, width, height);
  context.fillStyle = 'rgb(255 214 150 / 10%)';
  const [x, y] = [width / 2, FRAME.y + FRAME.size / 2];
  for (let ray = 0; ray < 24; ray += 1) {
    const from = ray * Math.PI / 12;
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, height, from, from + Math.PI / 36);
    context.fill();
  }
}

/** The product stands whole in its frame. */
function product(context, picture) {
  const { x, y, size, round } = FRAME;
  const panel = (margin, color) => {
    context.beginPath();
    context.roundRect(x - margin, y - margin, size + 2 * margin, size + 2 * margin, round + margin);
    context.fillStyle = color;
    context.fill();
  };
  panel(12, '#fff');
  panel(0, '#eceae6');
  const scale = Math.min(size / picture.naturalWidth, size / picture.naturalHeight);
  const [w, h] = [picture.naturalWidth * scale, picture.naturalHeight * scale];
  context.save();
  context.clip();
  context.drawImage(picture, x + (size - w) / 2, y + (size - h) / 2, w, h);
  context.restore();
}

async function painted({ shop, goods, url }) {
  const picture = [...document.querySelectorAll('.prize img')].at(-1);
  await picture.decode();
  const [canvas, context] = blank();
  context.textAlign = 'center';
  stage(context, canvas);
  line(context, shop, 105, 48, 800, '#fff');
  product(context, picture);
  line(context, document.getElementById('won').textContent, 1015, 120, 850, '#fff');
  line(context, goods, 1105, 52, 650, '#ffe2ad');
  line(context, new URL(url, location).host, 1270, 32, 400, '#fff');
  return canvas;
}

for (const button of document.querySelectorAll('[data-win]')) {
  const dialog = button.closest('.ticket').querySelector('dialog');
  const { shop, goods, url } = button.dataset;
  button.hidden = false;
  button.addEventListener('click', () => offer(button, dialog, () => painted(button.dataset), { title: `${shop} · ${goods}`, url }));
}
