// Red packets: opening one at its time, giving one with a live example, and copying its link. All of it works without
// this file, by forms.

import { call, clock, digits, jitter, main, page, show, sleep, slot, table, write } from './lib.js';

const words = table('packet-words');
const still = matchMedia('(prefers-reduced-motion: reduce)').matches;

// ---- opening ----

/** Asks for a share until the shop has decided. A lost answer is asked for again: whoever has a share gets the same. */
async function claim(form, said) {
  for (let tries = 0; ; tries += 1) {
    const { status, code, ok, wait } = await call('POST', form.dataset.claims, {});
    if (ok || !['', 'overloaded', 'unavailable', 'rate_limited', 'packet_not_open'].includes(code)) return { ok, code, status };
    if (code === 'packet_not_open') {
      show(said, words.not_open);
      if (!(clock.until(main.dataset.opens) < 3000) || tries > 20) return { ok, code, status };
    } else {
      show(said, status === 0 && tries > 4 ? words.lost : words.again);
    }
    if (tries > 30) return { ok, code, status };
    await sleep(Math.max(wait, 400) + jitter(800));
  }
}

function openEnvelope(form) {
  const button = form.querySelector('button');
  const said = slot('said');
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (button.getAttribute('aria-disabled') === 'true') return;
    button.setAttribute('aria-disabled', 'true');
    form.closest('.envelope').dataset.opening = '';
    show(said, words.opening);
    const began = Date.now();
    const { ok, code, status } = await claim(form, said);
    if (ok || code.startsWith('packet_e') || code === 'own_packet') {
      // Luck wants a moment of suspense.
      if (ok && !still) await sleep(Math.max(0, 900 - (Date.now() - began)));
      location.assign(ok ? form.dataset.result : form.dataset.result.split('?')[0]);
      return;
    }
    delete form.closest('.envelope').dataset.opening;
    button.removeAttribute('aria-disabled');
    if (status === 401) form.submit();
    else if (code === 'packet_not_open') show(said, words.not_open);
    else if (status === 0) show(said, words.lost);
    else form.submit();
  });
}

/** Counts down to the opening; then the button is what it was waiting for. */
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

/** The field shows local time; a hidden one of the same name carries RFC 3339 in UTC. The console has its own script for it. */
function localTime(field) {
  if (!field || document.querySelector('script[src*="/admin."]')) return;
  const carrier = document.createElement('input');
  carrier.type = 'hidden';
  carrier.name = field.name;
  field.removeAttribute('name');
  field.after(carrier);
  const given = field.value && new Date(/Z$/.test(field.value) ? field.value : `${field.value}Z`);
  if (given && !Number.isNaN(given.getTime())) {
    field.value = new Date(given.getTime() - given.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  }
  const carry = () => {
    const at = new Date(field.value);
    carrier.value = Number.isNaN(at.getTime()) ? '' : at.toISOString();
  };
  field.addEventListener('input', carry);
  carry();
  const help = document.getElementById(`${field.id}-help`);
  help.textContent = `${help.dataset.local} (${Intl.DateTimeFormat().resolvedOptions().timeZone})`;
}

/** Shows another example whenever what it depends on has changed: the page's own form, asked for its example. */
function preview(form) {
  const shown = form.querySelector('#preview');
  const again = form.querySelector('button[value="preview"]');
  let latest = 0;
  const ask = async () => {
    const mine = (latest += 1);
    const body = new URLSearchParams(new FormData(form));
    body.set('then', 'preview');
    const response = await fetch(form.action, { method: 'POST', body }).catch(() => null);
    if (!response?.ok || mine !== latest) return;
    const answered = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById('preview');
    if (!answered || mine !== latest) return;
    shown.replaceChildren(...answered.childNodes);
    shown.hidden = answered.hidden;
  };
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    if (form.total.value.trim() && form.count.value.trim()) timer = setTimeout(ask, 400);
  };
  for (const name of ['total', 'count', 'min', 'max']) form[name].addEventListener('input', soon);
  form.addEventListener('change', soon);
  again.addEventListener('click', (event) => {
    if (!form.reportValidity()) return;
    event.preventDefault();
    ask();
  });
}

function copyButtons() {
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const field = document.getElementById(button.dataset.copy);
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = button.dataset.copied;
      } catch { /* It is selected: people copy by themselves. */ }
    });
  }
}

const envelope = main.querySelector('form[data-claims]');
if (envelope) openEnvelope(envelope);
if (page === 'packet') countDown();
const give = main.querySelector('.give form');
if (give) {
  localTime(give.querySelector('[data-utc]'));
  preview(give);
}
copyButtons();
