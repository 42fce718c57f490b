// Pictures to store or share: the poster of a sale with the start in the visitor's time, as PNG, which every gallery
// accepts. Without this file the link leads to the drawing.

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

/** A canvas of the size of a poster. */
export function blank() {
  const canvas = create('canvas', { width: WIDTH, height: HEIGHT });
  return [canvas, canvas.getContext('2d')];
}

async function painted(svg) {
  const image = new Image();
  // The security policy allows `data:`, not `blob:`.
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const [canvas, context] = blank();
  context.drawImage(image, 0, 0, WIDTH, HEIGHT);
  return canvas;
}

/** Shows what `paint` returns, a canvas, in the dialog beside a control, to be stored, and sent where the device can. */
export async function offer(control, dialog, paint, { title, url }) {
  const [frame, save, send] = [dialog.querySelector('article'), dialog.querySelector('[download]'), dialog.querySelector('[data-send]')];
  control.setAttribute('aria-busy', 'true');
  try {
    const canvas = await paint();
    save.href = canvas.toDataURL('image/png');
    frame.querySelector('img')?.remove();
    frame.prepend(create('img', { alt: frame.dataset.alt, width: WIDTH, height: HEIGHT, src: save.href }));
    const bytes = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    const files = [new File([bytes], save.download, { type: 'image/png' })];
    send.hidden = !navigator.canShare?.({ files });
    // A sheet that was closed, or an app that refused, leaves the picture to be stored.
    send.onclick = () => navigator.share({ files, title, text: `${title} ${new URL(url, location)}` }).catch(() => {});
    dialog.querySelector('[data-close]').onclick = () => dialog.close();
    dialog.showModal();
  } finally {
    control.removeAttribute('aria-busy');
  }
}

for (const link of document.querySelectorAll('[data-poster]')) {
  const dialog = link.parentElement.querySelector('dialog');
  link.addEventListener('click', async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const paint = async () => painted(await drawing(link.href));
    const about = { title: document.querySelector('h1').textContent, url: location.pathname };
    await offer(link, dialog, paint, about).catch(() => location.assign(link.href));
  });
}
