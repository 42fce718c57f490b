// What shoppers will see, beside the form of a sale or a product: follows what is typed.

import { main, when, write } from './lib.js';

const TYPING_PAUSE_MS = 300;

/** The shop draws the card of a sale, so that it is the card of the list. */
const card = main.querySelector('[data-card]');
const form = main.querySelector('form.planning');

async function draw() {
  const response = await fetch(`${card.dataset.card}&${new URLSearchParams(new FormData(form))}`).catch(() => null);
  if (!response?.ok) return;
  card.innerHTML = await response.text();
  for (const time of card.querySelectorAll('time')) write(time, when(new Date(time.dateTime)));
}

if (card) {
  let timer;
  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(draw, TYPING_PAUSE_MS);
  });
}

for (const words of main.querySelectorAll('[data-follows]')) {
  const field = document.getElementById(words.dataset.follows);
  field.addEventListener('input', () => write(words, field.value));
}
