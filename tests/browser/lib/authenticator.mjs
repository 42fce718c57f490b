// Authenticator apps, which compute time-based one-time passwords (RFC 6238), and Chromium's virtual device for passkeys.

import { createHmac } from 'node:crypto';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** The six digits of the current 30 seconds, for a key as the page shows it. */
export function digitsFor(key, now = Date.now()) {
  const bits = [...key.replace(/\s/g, '')].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const secret = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(now / STEP_MS)));
  const hash = createHmac('sha1', secret).update(counter).digest();
  const number = hash.readUInt32BE(hash.at(-1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

/** Sets up an authenticator app by the API, in the session of the visitor. Returns its key. */
export async function setUpSecondFactor(visitor, password) {
  const { secret, enrolment } = await ask(visitor, 'post', '/second-factor', {});
  await ask(visitor, 'put', '/second-factor', { enrolment, password, code: digitsFor(secret) });
  return secret;
}

/** Turns two-step verification off again. */
export function removeSecondFactor(visitor, password, secret) {
  return ask(visitor, 'post', '/second-factor/remove', { password, code: nextDigitsFor(secret) });
}

/** Changes the password without a code: the new session of an account with a second factor proves nothing. */
export function changePassword(visitor, present, next) {
  return ask(visitor, 'put', '/password', { password: present, new_password: next });
}

/** Sets up an authenticator app and leaves a session that proves nothing, like one that is too old. Returns the app's key. */
export async function leaveUnproved(visitor, password, next) {
  const secret = await setUpSecondFactor(visitor, password);
  await changePassword(visitor, password, next);
  return secret;
}

/** Adds a passkey on the account's page. */
export async function addPasskey(visitor, password) {
  const { page } = visitor;
  await useAuthenticator(visitor);
  await visitor.go('/account');
  await visitor.unfold('passkeys');
  await page.locator('#passkeys details:has(#add-passkey) summary').click();
  await page.locator('#passkey-name').fill('🔑');
  await page.locator('#passkey-password').fill(password);
  await page.locator('#add-passkey button:not(.show)').click();
  await page.waitForURL(visitor.path('/account?done=passkey-added'));
}

/** The next digits, which the shop accepts already. Each code works once. */
export function nextDigitsFor(key) {
  return digitsFor(key, Date.now() + STEP_MS);
}

async function ask({ context }, method, path, data) {
  const response = await context.request[method](`/api/account${path}`, { data });
  if (!response.ok()) throw new Error(`${method} ${path} answered ${response.status()} ${await response.text()}`);
  return response.status() === 204 ? null : response.json().catch(() => null);
}

/** A device that has identified its user, for the tab of the visitor. */
export async function useAuthenticator(visitor) {
  const device = await visitor.context.newCDPSession(visitor.page);
  await device.send('WebAuthn.enable');
  await device.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}
