// The switch for push messages on the account page. Without this script the page says what the switch needs.

import { call, slot, table, translator, write } from './lib.js';
import { isSupported, mayNotify, subscribe, unsubscribe } from './push.js';

async function runSwitch(place) {
  const say = translator(table('push-words'));
  const [state, button] = [slot('push-state', place), slot('push-switch', place)];
  const draw = (on, words) => {
    write(state, say(words ?? (on ? 'is_on' : 'is_off')));
    write(button, say(on ? 'off' : 'on'));
    write(slot('push-brief'), say(on ? 'brief_on' : 'brief_off'));
    button.setAttribute('aria-pressed', String(on));
  };
  place.hidden = false;
  if (!isSupported) {
    write(state, say('unsupported'));
    button.hidden = true;
    return;
  }
  const { data } = await call('GET', '/api/push');
  let on = data.subscribed === true && Notification.permission === 'granted';
  draw(on);
  button.disabled = false;
  button.addEventListener('click', async () => {
    button.disabled = true;
    if (on) {
      on = !(await unsubscribe());
      draw(on);
    } else if (await mayNotify()) {
      on = await subscribe();
      draw(on, on ? 'is_on' : 'failed');
    } else {
      draw(false, 'denied');
    }
    button.disabled = false;
  });
}

runSwitch(slot('push'));
