// The key P in the console pauses the sale of the focused row, or of the dashboard, or resumes it. It takes effect after some
// seconds, in which it can be undone: by the button, by Esc, or by leaving the page.

import { create, main, table, translator, write } from './lib.js';
import { isCommand } from './shortcuts.js';

const WAIT_S = 5;
const say = translator(table('pause-words'));

/** What the key would send: a form that the page has for its menus. */
function formHere() {
  const place = document.activeElement.closest('[data-sale]') ?? document.querySelector('[data-cockpit]');
  return place?.querySelector('form:is([action*="/pause?"], [action*="/resume?"])');
}

/** Counts down to sending a form. The page does not load itself again meanwhile. */
function sendSoon(form) {
  const left = create('span', { ariaHidden: 'true' });
  const undo = create('button', { type: 'button', className: 'outline', textContent: say('undo') });
  const notice = create('div', { className: 'pending', role: 'status' }, create('span', { textContent: form.querySelector('h3').textContent }), left, undo);
  main.append(notice);
  const end = () => {
    clearInterval(timer);
    removeEventListener('keydown', onEscape, true);
    notice.remove();
  };
  const onEscape = (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    end();
  };
  let seconds = WAIT_S;
  const tick = () => {
    write(left, say('left', seconds));
    seconds -= 1;
    if (seconds >= 0) return;
    end();
    form.requestSubmit();
  };
  const timer = setInterval(tick, 1000);
  addEventListener('keydown', onEscape, true);
  undo.addEventListener('click', end);
  tick();
}

export function installPauseKey() {
  addEventListener('keydown', (event) => {
    if (event.key !== 'p' || !isCommand(event)) return;
    const form = formHere();
    if (!form || document.querySelector('.pending')) return;
    event.preventDefault();
    sendSoon(form);
  });
}
