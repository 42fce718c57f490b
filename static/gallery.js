// Galleries: a thumbnail scrolls the strip, not the page, and the thumbnail of the visible picture is marked.

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
