// Generates a picture.

import { PNG } from 'pngjs';

/** A PNG with a color gradient. */
export function png(width, height, hue = 0) {
  const picture = new PNG({ width, height });
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const color = [(hue + Math.round((255 * x) / width)) % 256, Math.round((160 * y) / height), 180, 255];
      picture.data.set(color, 4 * (y * width + x));
    }
  }
  return PNG.sync.write(picture, { colorType: 2 });
}
