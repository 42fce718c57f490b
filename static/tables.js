// Lists of the console whose rows can be ticked: tick all, the number of ticked rows, and keys that move and tick.

import { write } from './lib.js';
import { isCommand } from './shortcuts.js';

/** The element around a table and its tools. */
const batch = document.querySelector('[data-bulk]');
const boxes = batch ? [...batch.querySelectorAll('input[name="id"]')] : [];
const rows = boxes.map((box) => box.closest('tr'));
const all = batch?.querySelector('[data-all]');

function follow() {
  const ticked = boxes.filter((box) => box.checked).length;
  all.checked = ticked > 0 && ticked === boxes.length;
  all.indeterminate = ticked > 0 && ticked < boxes.length;
  const count = batch.querySelector('[data-slot="ticked"]');
  if (count) write(count, count.dataset.words.replace('{}', ticked));
  batch.classList.toggle('some', ticked > 0);
}

if (boxes.length) {
  all.hidden = false;
  batch.classList.add('scripted');
  all.addEventListener('change', () => {
    for (const box of boxes) box.checked = all.checked;
    follow();
  });
  batch.addEventListener('change', follow);
  // A page that is restored by the back button has its ticks again.
  addEventListener('pageshow', follow);
  follow();
}

/** Moves the focus to the link of the next or previous row. */
function move(by) {
  const links = rows.map((row) => row.querySelector(':is(th, .id) a'));
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus();
}

function tick() {
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  if (at < 0) return;
  boxes[at].checked = !boxes[at].checked;
  follow();
}

const KEYS = { j: () => move(1), k: () => move(-1), x: tick };

addEventListener('keydown', (event) => {
  if (!rows.length || !KEYS[event.key] || !isCommand(event)) return;
  event.preventDefault();
  KEYS[event.key]();
});
