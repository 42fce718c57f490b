// Push messages to this browser, which its service worker shows.

import { call, locale, sleep } from './lib.js';

export const isSupported = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window;
/** Longer than a worker takes to start. If workers are forbidden, it never starts. */
const WORKER_TIMEOUT_MS = 5000;

/** Asks for permission; called only after a click. Some browsers have no notifications, some return no promise. */
export async function mayNotify() {
  if (typeof Notification === 'undefined') return false;
  if (Notification.permission !== 'default') return Notification.permission === 'granted';
  try {
    return (await Notification.requestPermission()) === 'granted';
  } catch {
    return false;
  }
}

const base64url = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');

async function pushManager() {
  const late = sleep(WORKER_TIMEOUT_MS).then(() => { throw new Error('no service worker'); });
  return (await Promise.race([navigator.serviceWorker.ready, late])).pushManager;
}

/** Subscribes this browser for the account that is logged in. Returns whether the shop can reach it now. */
export async function subscribe() {
  if (!isSupported || Notification.permission !== 'granted') return false;
  try {
    const { ok, data: { key } } = await call('GET', '/api/push');
    if (!ok) return false;
    const manager = await pushManager();
    let subscription = await manager.getSubscription();
    // An old subscription does not accept messages signed with the shop's new key.
    if (subscription && base64url(subscription.options.applicationServerKey) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const { endpoint, keys } = subscription.toJSON();
    return (await call('PUT', '/api/push', { endpoint, p256dh: keys.p256dh, auth: keys.auth, locale })).ok;
  } catch {
    // The browser cannot reach its push service.
    return false;
  }
}

/** Returns whether the shop has deleted the subscription of this browser. */
export async function unsubscribe() {
  const { ok } = await call('DELETE', '/api/push');
  try {
    await (await (await pushManager()).getSubscription())?.unsubscribe();
  } catch { /* The shop no longer sends anything, so the browser's subscription may stay. */ }
  return ok;
}
