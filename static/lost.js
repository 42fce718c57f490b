// The verdict for a shopper who pressed and got nothing: how close it was, and where there is still a chance. It stays through
// polls and a reload of the tab, until the shopper leaves it or gets units.

import { call, count, digits, language, locale, say, session, slot, write } from './lib.js';

const stage = slot('lost');
const [wait, again, next, leave] = ['wait', 'again', 'next', 'leave'].map((name) => slot(`lost-${name}`, stage));
const unitDisplay = locale === 'zh' ? 'short' : 'long';
const inSeconds = [0, 2].map((maximumFractionDigits) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', unitDisplay, maximumFractionDigits }));

/** For so long a cached answer may still say that the sale is open. */
const STALE_MS = 3000;

/** A time after the opening: to the hundredth of a second at first, then to the second. Chinese has a space before its unit. */
const span = (ms) => (ms < 60_000 ? inSeconds[Number(ms < 10_000)].format(ms / 1000).replace(/(?=秒)/, ' ') : digits(ms));

/** The sales that nothing can be bought in any more. */
const GONE = ['sold_out', 'ended'];

/** Shows as many of the further sales as before, one of each product, without those that sold out since the page was made. */
async function leaveOutGone(section) {
  const { data } = await call('GET', '/api/sales');
  const gone = new Set((data.sales ?? []).filter(({ phase }) => GONE.includes(phase)).map(({ id }) => String(id)));
  const list = section.querySelector('ul');
  const shown = new Set();
  for (const item of list.children) {
    const { next: sale, product } = item.dataset;
    item.hidden = shown.size === Number(list.dataset.sales) || shown.has(product) || gone.has(sale);
    if (!item.hidden) shown.add(product);
  }
  list.dataset.sales = shown.size;
  section.hidden = shown.size === 0;
}

/** The verdict of one sale. `tryAgain` is called with the quantity when the shopper presses again. */
export function verdict(sale, tryAgain) {
  const key = `lost:${sale}`;
  let loss = session.get(key);

  /** Takes over what the button says. Only the answers of a sold-out sale tell how fast it went. */
  function update({ phase, sold_out_ms: soldOut, asked, waited }) {
    if (!loss) return;
    // Each process counts its own requests, and a process that started later saw no opening.
    loss = { ...loss, gone: loss.gone || phase !== 'open', soldOut: soldOut ?? loss.soldOut, asked: Math.max(loss.asked ?? 0, asked ?? 0) };
    session.set(key, loss);
    draw(phase, waited);
  }

  function draw(phase, waited) {
    const { pressed, soldOut, quantity, asked, gone, at } = loss;
    if (pressed >= 0 && soldOut >= 0) write(slot('lost-when', stage), say('lost_when', span(pressed)).replace('{}', span(soldOut)));
    else if (pressed >= 0) write(slot('lost-when', stage), say('lost_pressed', span(pressed)));
    if (soldOut >= 0) write(slot('lost-units', stage), say('lost_units', span(soldOut)));
    const attempts = slot('lost-asked', stage);
    write(attempts, count(asked ?? 0));
    attempts.parentElement.hidden = !(asked > 1);
    again.hidden = phase !== 'open' || !(gone || Date.now() - at > STALE_MS);
    if (wait) {
      wait.hidden = !again.hidden || phase === 'ended';
      wait.elements.quantity.value = quantity;
      // Where more than one unit may be wanted, units say nothing about places.
      if (waited > 0 && stage.dataset.limit === '1') write(wait.querySelector('button'), say('lost_place', count(waited + 1)));
    }
  }

  function show() {
    // Moved, not only shown elsewhere: so nothing that is in view shifts.
    const onward = document.getElementById('onward')?.closest('.onward');
    if (onward) {
      next.append(onward);
      leaveOutGone(onward);
    }
    stage.hidden = false;
  }

  function drop() {
    loss = null;
    session.set(key, null);
    stage.hidden = true;
    if (next.firstChild) stage.parentElement.append(next.firstChild);
  }

  again.addEventListener('submit', (event) => {
    event.preventDefault();
    const { quantity } = loss;
    drop();
    tryAgain(quantity);
  });
  leave.addEventListener('click', drop);
  if (loss) {
    show();
    draw('sold_out');
  }
  return {
    update,
    drop,
    /** Shows the verdict. `pressed` is how long after the opening the shopper pressed, in milliseconds; `NaN` if that is unknown. */
    take(live, pressed, quantity) {
      loss = { pressed, quantity, at: Date.now() };
      show();
      update(live);
      scrollTo(0, 0);
      document.getElementById('lost-title').focus({ preventScroll: true });
    },
  };
}
