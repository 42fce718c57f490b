// How close the rows of the console's lists stand: the buttons change it without loading the page again, so that ticks and the
// place on the page stay. The shop keeps it in a cookie; without this file the form does.

import { main } from './lib.js';

export function installDensity() {
  const form = document.querySelector('form.density');
  form?.addEventListener('submit', async (event) => {
    const chosen = event.submitter;
    if (!chosen) return;
    event.preventDefault();
    main.dataset.density = chosen.value;
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button === chosen));
    // What is not kept is lost with the page only.
    await fetch(form.action, { method: 'POST', body: new URLSearchParams({ density: chosen.value }) }).catch(() => {});
  });
}
