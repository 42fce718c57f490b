// Pictures that are taken of pages and given to goods, encoded by the browser.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GOODS = new URL('../../../static/goods/', import.meta.url);

/** The shapes that cameras and shops use: 3:4, 1:1, 4:3, 16:9. */
const SHAPES = [[900, 1200], [1000, 1000], [1200, 900], [1600, 900]];

/**
 * Chinese and Latin letters of one family, wherever the pictures are taken: Debian's fonts-noto-cjk. In English it is the
 * Korean one, whose apostrophe is not as wide as a Chinese character. Counts for browsers that start afterwards.
 */
export function useGoodFont(locale) {
  const family = locale === 'zh' ? 'Noto Sans CJK SC' : 'Noto Sans CJK KR';
  const file = join(mkdtempSync(join(tmpdir(), 'fonts-')), 'fonts.conf');
  const families = ['sans-serif', 'sans', 'system-ui', 'Segoe UI', 'Roboto'];
  const alias = (name) => `<match target="pattern"><test name="family"><string>${name}</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>${family}</string></edit></match>`;
  writeFileSync(file, `<?xml version="1.0"?><fontconfig><include>/etc/fonts/fonts.conf</include>${families.map(alias).join('')}</fontconfig>`);
  process.env.FONTCONFIG_FILE = file;
}

/**
 * Encodes a picture again: Chromium takes PNG, which is large for photographs. `width` scales it; what is higher than
 * `height` is cut off below.
 */
export async function encode(page, picture, { type = 'image/webp', quality = 0.82, width, height = Infinity } = {}) {
  const encoded = await page.evaluate(async ({ data, type, quality, width, height }) => {
    const bitmap = await createImageBitmap(await (await fetch(`data:application/octet-stream;base64,${data}`)).blob());
    const scale = (width ?? bitmap.width) / bitmap.width;
    const canvas = new OffscreenCanvas(bitmap.width * scale, Math.min(bitmap.height * scale, height ?? Infinity));
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, 0, 0, bitmap.width * scale, bitmap.height * scale);
    bitmap.close();
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type, quality })).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }, { data: picture.toString('base64'), type, quality, width, height: Number.isFinite(height) ? height : null });
  return Buffer.from(encoded, 'base64');
}

/** Gives each of the demo's goods a picture of another shape: its `photograph`, or a `drawing`. */
export async function dressGoods(page, { origin, admin }, kind) {
  const { goods } = await admin.ask('GET', '/api/admin/goods');
  for (const [n, { id, image }] of goods.entries()) {
    const name = /^([a-z-]+?)-\d+\.webp$/.exec(image)?.[1];
    if (!name) continue;
    const photograph = readFileSync(new URL(`${name}-800.jpg`, GOODS), 'base64');
    const picture = await page.evaluate(draw, { photograph, kind, shape: SHAPES[n % SHAPES.length], hue: n * 47 });
    const response = await fetch(`${origin}/api/admin/goods/${id}/image`, {
      method: 'PUT',
      headers: { cookie: admin.cookie, 'content-type': kind === 'drawing' ? 'image/png' : 'image/jpeg' },
      body: Buffer.from(picture, 'base64'),
    });
    if (!response.ok) throw new Error(`the picture of goods ${id}: ${response.status} ${await response.text()}`);
  }
}

/** Runs in a page. */
async function draw({ photograph, kind, shape: [width, height], hue }) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d');
  const side = Math.min(width, height);
  const [left, top] = [(width - side) / 2, (height - side) / 2];
  if (kind === 'drawing') {
    context.fillStyle = '#fff';
    context.fillRect(0, 0, width, height);
    context.fillStyle = `hsl(${hue} 60% 45%)`;
    context.roundRect(left + side * 0.25, top + side * 0.15, side * 0.5, side * 0.7, side * 0.08);
    context.fill();
    context.strokeStyle = '#1d1f26';
    context.lineWidth = side * 0.015;
    context.stroke();
  } else {
    const bitmap = await createImageBitmap(await (await fetch(`data:image/jpeg;base64,${photograph}`)).blob());
    // The backdrop goes on beside the product, or above and below it, as its outermost pixels.
    const last = bitmap.width - 1;
    for (const at of [0, 1]) {
      context.drawImage(bitmap, at * last, 0, 1, last + 1, at * (left + side), 0, left, height);
      context.drawImage(bitmap, 0, at * last, last + 1, 1, 0, at * (top + side), width, top);
    }
    context.drawImage(bitmap, left, top, side, side);
  }
  const blob = await canvas.convertToBlob({ type: kind === 'drawing' ? 'image/png' : 'image/jpeg', quality: 0.9 });
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}
