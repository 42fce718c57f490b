// The density of the console's lists. The buttons change it without loading the page again, so that ticks and scroll
// position stay. The shop stores it in a cookie. Without this file the form changes it.

import { main } from './lib.js';

export function installDensity() {
  const form = document.querySelector('form.density');
  form?.addEventListener('submit', async (event) => {
    const chosen = event.submitter;
    if (!chosen) return;
    event.preventDefault();
    main.dataset.density = chosen.value;
    for (const button of form.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button === chosen));
    // If this fails, the density still applies until the page is left.
    await fetch(form.action, { method: 'POST', body: new URLSearchParams({ density: chosen.value }) }).catch(() => {});
  });
}
