// The form of goods: pictures move by buttons; what is posted are the same place fields that one may also type into.

const wall = document.querySelector('.wall');
const status = document.querySelector('[data-slot="moved"]');

function number() {
  [...wall.children].forEach((row, at) => {
    row.querySelector('input[type="number"]').value = at + 1;
    row.querySelector('[data-slot="cover"]').hidden = at !== 0;
  });
}

function move(row, to, button) {
  const rows = [...wall.children].filter((other) => other !== row);
  const place = Math.max(0, Math.min(to, rows.length));
  wall.insertBefore(row, rows[place] ?? null);
  // Places are those of the page as it was sent, so the hidden names must stand in the same order.
  number();
  status.textContent = wall.dataset.moved.replace('{}', place + 1);
  button.focus();
}

if (wall?.children.length > 1) {
  for (const row of wall.children) {
    const moves = document.createElement('div');
    moves.className = 'moves';
    const add = (text, label, to) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'secondary outline';
      button.textContent = text;
      button.setAttribute('aria-label', label);
      button.addEventListener('click', () => move(row, to([...wall.children].indexOf(row)), button));
      moves.append(button);
    };
    add('←', wall.dataset.earlier, (at) => at - 1);
    add('→', wall.dataset.later, (at) => at + 1);
    add(wall.dataset.cover, wall.dataset.cover, () => 0);
    row.append(moves);
  }
}
// What was asked for is below the form.
document.getElementById('preview')?.scrollIntoView();
