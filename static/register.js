// The page of registration while an account needs a proof of work: a worker begins to compute while the form is filled
// in. Without this file, or without WebCrypto in the browser, the visitor waits for some minutes or verifies a mail
// address instead.

const form = document.querySelector('form[data-puzzle]');
const { challenge, proof } = form.elements;
const others = document.querySelectorAll('[data-slot="wait"], [data-slot="contact"]');
const note = form.querySelector('[data-slot="computing"]');
const button = form.querySelector('button');
const numbers = [];
let wanted = false;
let computing = false;

/** Sends the form as soon as everything is computed. */
function take([part, number]) {
  const bar = note.querySelector('progress');
  numbers[part] = number;
  bar.value = numbers.length;
  if (numbers.length < bar.max) return;
  proof.value = numbers.join(',');
  computing = false;
  note.hidden = true;
  if (wanted) form.requestSubmit();
}

/** Shows the ways to register without a computation, or hides them. */
function offerOthers(offered) {
  for (const other of others) other.hidden = !offered;
}

/** The worker did not load, or the browser cannot compute. */
function giveUp() {
  computing = false;
  offerOthers(true);
  note.hidden = true;
  button.removeAttribute('aria-busy');
}

if (window.crypto?.subtle && window.Worker && !proof.value) {
  computing = true;
  offerOthers(false);
  const worker = new Worker(form.dataset.worker);
  worker.onmessage = ({ data }) => (data ? take(data) : giveUp());
  worker.onerror = giveUp;
  worker.postMessage({ challenge: challenge.value, ...JSON.parse(form.dataset.puzzle) });
  form.addEventListener('submit', (event) => {
    if (!computing) return;
    event.preventDefault();
    wanted = true;
    note.hidden = false;
    button.setAttribute('aria-busy', 'true');
  });
}
