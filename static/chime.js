// The sound of a turn that has come, or of an alarm. The tones are made here. Many browsers play sound only on a page
// that was touched.

import { create, storage } from './lib.js';

const KEY = 'chime';
const TONES = [[660, 0], [880, 0.22], [1320, 0.44]];
const LENGTH_S = 1.1;

/**
 * Makes a button that switches the sound on and off, and beside it the hint that the page has to be touched first. Its `ring`
 * plays the sound, and ends when the sound does.
 */
export function chime(button) {
  let audio = null;
  let isOn = storage.get(KEY) === true;

  const hint = create('small', { textContent: button.dataset.hint });
  hint.setAttribute('role', 'status');
  const draw = () => {
    button.setAttribute('aria-pressed', String(isOn));
    hint.hidden = !isOn || audio?.state === 'running';
  };
  const wake = () => {
    if (!isOn || audio?.state === 'running') return;
    audio ??= Object.assign(new AudioContext(), { onstatechange: draw });
    audio.resume();
  };
  async function ring() {
    if (!isOn || !audio || audio.state !== 'running') return;
    for (const [tone, after] of TONES) {
      const [source, volume, at] = [audio.createOscillator(), audio.createGain(), audio.currentTime + after];
      source.frequency.value = tone;
      volume.gain.setValueAtTime(0.0001, at);
      volume.gain.exponentialRampToValueAtTime(0.3, at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.5);
      source.connect(volume).connect(audio.destination);
      source.start(at);
      source.stop(at + 0.55);
    }
    await new Promise((resolve) => { setTimeout(resolve, LENGTH_S * 1000); });
  }

  button.after(hint);
  button.hidden = false;
  button.addEventListener('click', () => {
    isOn = !isOn;
    storage.set(KEY, isOn || null);
    draw();
    wake();
    // Let the visitor hear how it will sound.
    ring();
  });
  // If the page was loaded with the sound on, it may play after the first touch.
  for (const touch of ['pointerdown', 'pointerup', 'keydown']) addEventListener(touch, wake);
  wake();
  draw();
  return { ring };
}
