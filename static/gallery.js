// Galleries: a thumbnail scrolls the strip, not the page, and the thumbnail of the visible picture is marked. A picture
// opens in its largest copy.

import { create } from './lib.js';

for (const gallery of document.querySelectorAll('[data-gallery]')) {
  const strip = gallery.querySelector('.strip');
  const thumbs = [...gallery.querySelectorAll('.thumbs a')];
  const pictures = [...strip.children];

  thumbs.forEach((thumb, at) => thumb.addEventListener('click', (event) => {
    event.preventDefault();
    strip.scrollTo({ left: pictures[at].offsetLeft - strip.offsetLeft });
  }));

  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      thumbs.forEach((thumb, at) => {
        if (pictures[at] === target) thumb.setAttribute('aria-current', 'true');
        else thumb.removeAttribute('aria-current');
      });
    }
  }, { root: strip, threshold: 0.6 });
  pictures.forEach((picture) => observer.observe(picture));
}

// A press on the large picture goes nearer, to the point that was pressed, and away again. Arrow keys lead to the others.

const links = [...document.querySelectorAll('[data-zoom]')];
const image = create('img');
const near = create('button', { type: 'button' }, image);
const close = create('button', { type: 'button', className: 'plain' });
const box = create('dialog', { className: 'zoom' }, near, close);
let shown = 0;

/** The copy on the page stands in for the largest one until that has come. */
function show(at) {
  shown = at;
  box.classList.remove('near');
  const copy = [...links[at].querySelectorAll('img')].at(-1);
  Object.assign(image, { src: copy.currentSrc || copy.src, alt: copy.alt });
  const largest = create('img', { src: links[at].href });
  largest.decode().then(() => { if (shown === at) image.src = largest.src; }, () => {});
}

links.forEach((link, at) => link.addEventListener('click', (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  close.textContent = link.dataset.zoom;
  show(at);
  document.body.append(box);
  box.showModal();
}));
near.addEventListener('click', ({ clientX, clientY, detail }) => {
  // A key presses the middle.
  const [x, y] = detail === 0 ? [innerWidth / 2, innerHeight / 2] : [clientX, clientY];
  const factor = box.classList.toggle('near') ? near.clientWidth / box.clientWidth : 1;
  box.scrollTo(x * (factor - 1), y * (factor - 1));
});
close.addEventListener('click', () => box.close());
box.addEventListener('close', () => box.remove());
box.addEventListener('keydown', ({ key }) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
  if (step && links.length > 1 && !box.classList.contains('near')) show((shown + step + links.length) % links.length);
});
