// The poster of a sale as a picture to store or share: with the start in the visitor's time, and as PNG, which every
// gallery accepts. Without this file the link leads to the drawing.

import { create, dateOf, timeOfDay } from './lib.js';

const WIDTH = 900;
const HEIGHT = 1350;

/** The drawing, with the start in the visitor's time. */
async function drawing(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the poster answered ${answer.status}`);
  const svg = new DOMParser().parseFromString(await answer.text(), 'image/svg+xml');
  const opens = svg.querySelector('[data-opens]');
  if (opens) {
    const at = new Date(opens.dataset.opens);
    // A picture is looked at on another day.
    opens.textContent = `${dateOf(at)} ${timeOfDay(at)}`;
  }
  return new XMLSerializer().serializeToString(svg);
}

async function painted(svg) {
  const image = new Image();
  // The security policy allows `data:`, not `blob:`.
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [WIDTH, HEIGHT];
  canvas.getContext('2d').drawImage(image, 0, 0, WIDTH, HEIGHT);
  return canvas.toDataURL('image/png');
}

for (const link of document.querySelectorAll('[data-poster]')) {
  const dialog = link.parentElement.querySelector('dialog');
  const [frame, save] = [dialog.querySelector('article'), dialog.querySelector('[download]')];
  const picture = create('img', { alt: frame.dataset.alt, width: WIDTH, height: HEIGHT });
  link.addEventListener('click', async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.setAttribute('aria-busy', 'true');
    try {
      picture.src = save.href = await painted(await drawing(link.href));
      frame.prepend(picture);
      dialog.showModal();
    } catch {
      location.assign(link.href);
    } finally {
      link.removeAttribute('aria-busy');
    }
  });
  dialog.querySelector('button').addEventListener('click', () => dialog.close());
}
