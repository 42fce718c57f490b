// Galleries: the thumbnails move the strip and nothing else on the page, and show which picture is seen.

for (const gallery of document.querySelectorAll('[data-gallery]')) {
  const strip = gallery.querySelector('.strip');
  const thumbs = [...gallery.querySelectorAll('.thumbs a')];
  const shots = [...strip.children];

  thumbs.forEach((thumb, at) => thumb.addEventListener('click', (event) => {
    event.preventDefault();
    strip.scrollTo({ left: shots[at].offsetLeft - strip.offsetLeft });
  }));

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      thumbs.forEach((thumb, at) => {
        if (shots[at] === target) thumb.setAttribute('aria-current', 'true');
        else thumb.removeAttribute('aria-current');
      });
    }
  }, { root: strip, threshold: 0.6 });
  shots.forEach((shot) => seen.observe(shot));
}
