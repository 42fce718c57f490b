// Generates a picture.

import { PNG } from 'pngjs';

/** A PNG with a color gradient. */
export function png(width, height, hue = 0) {
  const picture = new PNG({ width, height });
  const colors = new DataView(picture.data.buffer, picture.data.byteOffset);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const red = (hue + Math.round((255 * x) / width)) % 256;
      const green = Math.round((160 * y) / height);
      colors.setUint32(4 * (y * width + x), ((red << 24) | (green << 16) | (180 << 8) | 255) >>> 0);
    }
  }
  return PNG.sync.write(picture, { colorType: 2 });
}
