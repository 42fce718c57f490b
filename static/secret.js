// Fields for passwords: a button that shows what was typed, the rules that a new password already meets, and its
// strength. Without this file the rules are only a list.

import { create } from './lib.js';

const showWords = document.querySelector('meta[name="show-password"]').content;

/** Adds the button. A shown password is hidden again before it is sent, so that browsers know the field as one. */
function addButton(field) {
  const button = create('button', { type: 'button', className: 'plain show', textContent: showWords, ariaPressed: 'false' });
  button.setAttribute('aria-controls', field.id);
  const hide = () => {
    field.type = 'password';
    button.ariaPressed = 'false';
  };
  button.addEventListener('click', () => {
    if (field.type === 'text') return hide();
    field.type = 'text';
    button.ariaPressed = 'true';
  });
  field.form.addEventListener('submit', hide);
  const hasFocus = document.activeElement === field;
  const frame = create('div', { className: 'secret' });
  field.replaceWith(frame);
  frame.append(field, button);
  if (hasFocus) field.focus();
}

// ---- the rules of `src/accounts/password.rs` that need no list of passwords ----

const MAX_CHARS = 256;
const MIN_DIFFERENT_CHARS = 4;
const SEQUENCES = [
  'abcdefghijklmnopqrstuvwxyz', '01234567890123456789', 'qwertyuiopasdfghjklzxcvbnm', 'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn', '1234567890qwertyuiopasdfghjklzxcvbnm', '1q2w3e4r5t6y7u8i9o0p',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p', 'qazwsxedcrfvtgbyhnujmikolp',
];

const plain = (text) => text.normalize('NFKC').toLowerCase();

/** Whether a piece of at most half the length is repeated to the end. */
function isRepetition(chars) {
  for (let period = 1; period <= chars.length / 2; period += 1) {
    if (chars.every((char, i) => i < period || char === chars[i - period])) return true;
  }
  return false;
}

/** Whether the password has no letters besides the user name. */
function isName(text, name) {
  const rest = name ? text.replaceAll(name, '') : text;
  return rest.length < text.length && !/\p{Alphabetic}/u.test(rest);
}

const rules = {
  length: (typed, _, { min }) => [...typed].length >= Number(min) && [...typed].length <= MAX_CHARS,
  varied(typed, username) {
    const text = plain(typed);
    const chars = [...text];
    const isSequence = SEQUENCES.some((row) => row.includes(text) || row.includes([...chars].reverse().join('')));
    return new Set(text.trim()).size >= MIN_DIFFERENT_CHARS && !isRepetition(chars) && !isSequence && !isName(text, plain(username));
  },
};

/**
 * A password that meets the rules is good from the first length on, and strong from the second. Length helps most
 * against guessing.
 */
const LENGTHS = [15, 20];
/** With fewer different characters, length adds little. */
const MIN_VARIED_CHARS = 8;

/** 1 for a password that breaks a rule, 2 to 4 for the others. */
function strengthOf(typed, isMet) {
  if (!isMet) return 1;
  if (new Set(plain(typed)).size < MIN_VARIED_CHARS) return 2;
  return 2 + LENGTHS.filter((length) => [...typed].length >= length).length;
}

/** Marks the rules that the new password meets, and shows its strength below them. Nothing is marked before something is typed. */
function followRules(list) {
  const field = document.getElementById(list.dataset.rulesOf);
  const name = field.form.elements.username ?? field.form.elements.who;
  const items = [...list.querySelectorAll('[data-rule]')];
  const strength = list.nextElementSibling;
  const [meter, output] = strength.querySelectorAll('meter, output');
  const mark = () => {
    const met = items.filter((item) => field.value !== '' && rules[item.dataset.rule](field.value, name?.value ?? '', item.dataset));
    for (const item of items) item.toggleAttribute('data-met', met.includes(item));
    strength.hidden = field.value === '';
    meter.value = strengthOf(field.value, met.length === items.length);
    output.textContent = output.dataset.words.split('|')[meter.value - 1];
  };
  field.addEventListener('input', mark);
  name?.addEventListener('input', mark);
  mark();
}

document.querySelectorAll('input[type="password"]').forEach(addButton);
document.querySelectorAll('[data-rules-of]').forEach(followRules);
