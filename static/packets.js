// Red packets: opening one, giving one with a live example of the split. Without this file everything works with forms.

import { call, clock, digits, jitter, main, page, show, sleep, slot, table, write } from './lib.js';

const texts = table('packet-words');
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;
const MIN_OPENING_MS = 900;
const MAX_TRIES = 30;
const RETRYABLE = ['', 'overloaded', 'unavailable', 'rate_limited', 'packet_not_open'];

// ---- opening ----

/** Claims a share until an answer settles it. Repeating is safe: a second claim returns the same share. */
async function claim(form, status) {
  for (let tries = 0; ; tries += 1) {
    const answer = await call('POST', form.dataset.claims, {});
    if (answer.ok || !RETRYABLE.includes(answer.code)) return answer;
    if (answer.code === 'packet_not_open') {
      show(status, texts.not_open);
      if (!(clock.until(main.dataset.opens) < 3000) || tries > 20) return answer;
    } else {
      show(status, answer.status === 0 && tries > 4 ? texts.lost : texts.again);
    }
    if (tries > MAX_TRIES) return answer;
    await sleep(Math.max(answer.wait, 400) + jitter(800));
  }
}

function openByScript(form) {
  const button = form.querySelector('button');
  const status = slot('status');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    form.closest('.envelope').dataset.opening = '';
    show(status, texts.opening);
    const began = Date.now();
    const answer = await claim(form, status);
    // The packet is empty, expired or the visitor's own: the result page explains it.
    if (answer.ok || answer.code.startsWith('packet_e') || answer.code === 'own_packet') {
      // A short suspense before the result.
      if (answer.ok && !reducedMotion) await sleep(Math.max(0, MIN_OPENING_MS - (Date.now() - began)));
      location.assign(answer.ok ? form.dataset.result : form.dataset.result.split('?')[0]);
      return;
    }
    delete form.closest('.envelope').dataset.opening;
    button.removeAttribute('aria-disabled');
    if (answer.code === 'packet_not_open') show(status, texts.not_open);
    else if (answer.status === 0) show(status, texts.lost);
    // The form leads to the login page, or to the page of the error.
    else form.submit();
  });
}

/** Counts down to the opening. */
function countDown() {
  const wait = slot('wait');
  if (!wait) return;
  const left = slot('left');
  const tick = () => {
    const ms = clock.until(main.dataset.opens);
    wait.hidden = !(ms > 0);
    write(left, digits(ms));
    main.dataset.waiting = ms > 0 ? 'yes' : '';
    if (ms > 0) setTimeout(tick, Math.min(1000, (ms % 1000) + 20));
  };
  tick();
}

// ---- giving ----

/** Updates the example when its inputs change: posts the form and takes the example from the page that answers. */
function preview(form) {
  const shown = form.querySelector('#preview');
  const button = form.querySelector('button[value="preview"]');
  let latest = 0;
  const update = async (isPressed) => {
    const request = (latest += 1);
    const body = new URLSearchParams(new FormData(form));
    body.set('then', 'preview');
    const response = await fetch(form.action, { method: 'POST', body }).catch(() => null);
    if (!response || request !== latest) return;
    const answered = response.ok && new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('preview');
    // The page that answers names the wrong field, or asks to log in.
    if (!answered && isPressed) form.requestSubmit(button);
    if (!answered || request !== latest) return;
    shown.replaceChildren(...answered.childNodes);
    shown.hidden = answered.hidden;
  };
  let timer = 0;
  const updateSoon = () => {
    clearTimeout(timer);
    if (form.total.value.trim() && form.count.value.trim()) timer = setTimeout(() => update(false), 400);
  };
  for (const name of ['total', 'count', 'min', 'max']) form[name].addEventListener('input', updateSoon);
  form.addEventListener('change', updateSoon);
  button.addEventListener('click', (event) => {
    if (!form.reportValidity()) return;
    event.preventDefault();
    update(true);
  });
}

const openForm = main.querySelector('form[data-claims]');
if (openForm) openByScript(openForm);
if (page === 'packet') countDown();
const giveForm = main.querySelector('.give form');
if (giveForm) preview(giveForm);
