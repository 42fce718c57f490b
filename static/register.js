// The page of registration while an account costs a proof of work: a worker begins to compute while the form is filled in.
// Without this file, and where browsers have no WebCrypto, the visitor waits for some minutes instead.

const form = document.querySelector('form[data-puzzle]');
const { challenge, proof } = form.elements;
const note = form.querySelector('[data-slot="computing"]');
const bar = note.querySelector('progress');
const numbers = [];
let wanted = false;

/** Sends the form as soon as everything is computed. */
function take([part, number]) {
  numbers[part] = number;
  bar.value = numbers.length;
  if (numbers.length < bar.max) return;
  proof.value = numbers.join(',');
  note.hidden = true;
  if (wanted) form.requestSubmit();
}

if (window.crypto?.subtle && window.Worker && !proof.value) {
  form.querySelector('[data-slot="wait"]').hidden = true;
  const worker = new Worker(form.dataset.worker);
  worker.onmessage = ({ data }) => take(data);
  worker.postMessage({ challenge: challenge.value, ...JSON.parse(form.dataset.puzzle) });
  form.addEventListener('submit', (event) => {
    if (proof.value) return;
    event.preventDefault();
    wanted = true;
    note.hidden = false;
    form.querySelector('button').setAttribute('aria-busy', 'true');
  });
}
