// Passkeys: adding one on the account page, logging in with one, and using one to confirm who the member of the staff
// is. The controls are hidden until this file runs in a browser that has passkeys.

import { call, show, table, translator } from './lib.js';

const say = translator(table('passkey-words'));

const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
const base64url = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const withBytes = (credentials) => credentials.map((credential) => ({ ...credential, id: bytes(credential.id) }));

/** The device creates a passkey. Null when the user or the device does not. */
async function create(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: withBytes(options.excludeCredentials),
  };
  const credential = await navigator.credentials.create({ publicKey }).catch(() => null);
  if (!credential) return null;
  const { clientDataJSON, attestationObject } = credential.response;
  return {
    id: credential.id,
    response: { clientDataJSON: base64url(clientDataJSON), attestationObject: base64url(attestationObject) },
  };
}

/** The device signs with a passkey. Null when the user or the device does not. */
async function sign(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: withBytes(options.allowCredentials),
  };
  const credential = await navigator.credentials.get({ publicKey }).catch(() => null);
  if (!credential) return null;
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  return {
    id: credential.id,
    response: {
      clientDataJSON: base64url(clientDataJSON),
      authenticatorData: base64url(authenticatorData),
      signature: base64url(signature),
      userHandle: userHandle && base64url(userHandle),
    },
  };
}

/** Why the shop refused a request, in the page's language. */
function reason({ code, data }) {
  return say(data.fields?.[0]?.code ?? code) || say(code) || say('failed');
}

/** Runs `steps` while the button is busy. A text that they return is shown as an error. */
async function attempt(within, steps) {
  const [button, alert] = [within.querySelector('button'), within.querySelector('[role="alert"]')];
  if (button.getAttribute('aria-busy') === 'true') return;
  button.setAttribute('aria-busy', 'true');
  show(alert, '');
  const error = await steps();
  button.removeAttribute('aria-busy');
  if (error) show(alert, error);
}

/** Asks for a challenge, lets the device answer it, and sends the answer. Returns what went wrong, if anything did. */
async function exchange({ challenge, ask, answer, path, more }) {
  const options = await call('POST', challenge, ask ?? {});
  if (!options.ok) return reason(options);
  const credential = await answer(options.data.public_key);
  if (!credential) return say('cancelled');
  const done = await call('POST', path, { ...more, credential });
  return done.ok ? '' : reason(done);
}

function addPasskey(form) {
  document.getElementById('passkeys').closest('li').hidden = false;
  form.closest('details').hidden = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const { name, password, code } = form.elements;
    attempt(form, async () => {
      const error = await exchange({
        challenge: '/api/account/passkeys/challenge',
        ask: { password: password.value, ...(code && { code: code.value }) },
        answer: create,
        path: '/api/account/passkeys',
        more: { name: name.value },
      });
      if (!error) location.assign(form.dataset.done);
      return error;
    });
  });
}

function logIn(box) {
  box.hidden = false;
  box.querySelector('button').addEventListener('click', () => attempt(box, async () => {
    const path = '/api/login/passkey';
    const error = await exchange({ challenge: `${path}/challenge`, answer: sign, path });
    if (!error) location.assign(box.dataset.next);
    return error;
  }));
}

/** Confirms the form that asks for the password with a passkey instead. */
function stepUp(box) {
  box.hidden = false;
  box.querySelector('button').addEventListener('click', () => attempt(box, async () => {
    const path = '/api/account/step-up/passkey';
    const error = await exchange({ challenge: `${path}/challenge`, answer: sign, path });
    if (error) return error;
    const form = box.closest('article').querySelector('form');
    form.querySelectorAll('[name^="step_up_"]').forEach((field) => field.remove());
    form.submit();
    return '';
  }));
}

if (window.PublicKeyCredential) {
  for (const [id, run] of [['add-passkey', addPasskey], ['passkey-log-in', logIn], ['passkey-step-up', stepUp]]) {
    const element = document.getElementById(id);
    if (element) run(element);
  }
}
