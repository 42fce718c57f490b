// The form of a product: buttons that move pictures. The form sends the same number fields that work without scripts.

import { create, slot, write } from './lib.js';

const list = document.querySelector('.picture-list');

function renumber() {
  [...list.children].forEach((item, at) => {
    item.querySelector('input[type="number"]').value = at + 1;
    slot('cover', item).hidden = at !== 0;
  });
}

function move(item, to, button) {
  const others = [...list.children].filter((other) => other !== item);
  const place = Math.max(0, Math.min(to, others.length));
  // The form sends the pictures in document order, so the item itself moves, with its hidden name.
  list.insertBefore(item, others[place] ?? null);
  renumber();
  write(slot('moved'), list.dataset.moved.replace('{}', place + 1));
  button.focus();
}

if (list?.children.length > 1) {
  for (const item of list.children) {
    const { earlier, later, cover } = list.dataset;
    const buttons = [['←', earlier, (at) => at - 1], ['→', later, (at) => at + 1], [cover, cover, () => 0]].map(([textContent, label, to]) => {
      const button = create('button', { type: 'button', className: 'secondary outline', textContent });
      button.setAttribute('aria-label', label);
      button.addEventListener('click', () => move(item, to([...list.children].indexOf(item)), button));
      return button;
    });
    item.append(create('div', { className: 'moves' }, ...buttons));
  }
}
// A requested preview is below the form.
document.getElementById('preview')?.scrollIntoView();
