// The check on the page of a draw: fetches the published list and proof, verifies them, and says in words which checks
// hold.

import { check } from './draw_verify.js';
import { count, create, show, slot, table, translator, write } from './lib.js';

const say = translator(table('check-words'));
const place = slot('check');
const form = place.querySelector('form');
const { list: listUrl, proof: proofUrl, ...known } = form.dataset;

async function download(url, read) {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(url);
  return read(answer);
}

const bar = slot('bar', place);
const state = slot('progress', place);
const results = slot('results', place);

function tell(part) {
  bar.value = part;
  write(state, say('hashing', Math.floor(part * 100)));
}

const aboutEntry = ({ words, rank, of }) => (rank ? say(words, count(rank)) + say('rank_of', count(of)) : say(words));

function display({ findings, entry }) {
  const holds = findings.every((finding) => finding.holds);
  results.replaceChildren(...findings.map((finding) => create('li', {}, say(finding.words, finding.value && count(finding.value)))));
  findings.forEach((finding, n) => { results.children[n].dataset.holds = finding.holds; });
  const verdict = slot('verdict', place);
  verdict.dataset.holds = holds;
  show(verdict, say(holds ? 'holds' : 'broken'));
  show(slot('rank', place), holds && entry ? aboutEntry(entry) : '');
}

async function run() {
  const own = form.elements.entry.value.trim().toLowerCase();
  if (own && !/^[0-9a-f]{32}$/.test(own)) return say('bad_entry');
  if (!globalThis.crypto?.subtle) return say('insecure');
  [slot('verdict', place), slot('rank', place)].forEach((line) => { line.hidden = true; });
  results.replaceChildren();
  bar.hidden = false;
  bar.value = 0;
  write(state, say('loading'));
  try {
    const [csv, proof] = await Promise.all([
      download(listUrl, (answer) => answer.arrayBuffer()),
      download(proofUrl, (answer) => answer.json()),
    ]);
    display(await check(new Uint8Array(csv), proof, { known, own, tell }));
    return '';
  } catch (why) {
    return typeof why === 'number' ? say('malformed', why) : say('failed');
  } finally {
    bar.hidden = true;
  }
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const button = form.querySelector('button');
  button.setAttribute('aria-busy', 'true');
  button.disabled = true;
  write(state, await run());
  button.removeAttribute('aria-busy');
  button.disabled = false;
});
place.hidden = false;
