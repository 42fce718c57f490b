// The key P in the console pauses the sale of the focused row, or of the dashboard, or resumes it. It takes effect
// after some seconds. Until then it can be undone by the button, by Esc, or by leaving the page or full screen (which
// Esc does there).

import { create, main, table, translator, write } from './lib.js';
import { isCommand } from './shortcuts.js';

const WAIT_S = 5;
const say = translator(table('pause-words'));

/** The form that the key would send. The page has it for its menus. */
function formHere() {
  const place = document.activeElement.closest('[data-sale]') ?? document.querySelector('[data-cockpit]');
  return place?.querySelector('form:is([action*="/pause?"], [action*="/resume?"])');
}

/**
 * Sends a form. In full screen it is sent by script, because a navigation ends full screen; the page follows only if
 * that does not succeed.
 */
async function send(form) {
  if (document.fullscreenElement) {
    const answer = await fetch(form.action, { method: 'POST', body: new URLSearchParams(new FormData(form)) }).catch(() => null);
    if (answer?.ok && new URL(answer.url).pathname === location.pathname) return;
  }
  form.requestSubmit();
}

/** Counts down to sending a form. While it counts, the page does not reload itself. */
function sendSoon(form) {
  const left = create('span', { ariaHidden: 'true' });
  const undo = create('button', { type: 'button', className: 'outline', textContent: say('undo') });
  const notice = create('div', { className: 'pending', role: 'status' }, create('span', { textContent: form.querySelector('h3').textContent }), left, undo);
  // In full screen only that element is shown.
  (document.fullscreenElement ?? main).append(notice);
  const end = () => {
    clearInterval(timer);
    removeEventListener('keydown', onEscape, true);
    document.removeEventListener('fullscreenchange', end);
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
    send(form);
  };
  const timer = setInterval(tick, 1000);
  addEventListener('keydown', onEscape, true);
  document.addEventListener('fullscreenchange', end);
  undo.addEventListener('click', end);
  tick();
}

export function installPauseKey() {
  addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'p' || !isCommand(event)) return;
    const form = formHere();
    if (!form || document.querySelector('.pending')) return;
    event.preventDefault();
    sendSoon(form);
  });
}
