// A worker that solves the puzzle of a registration: for each part a number for which PBKDF2 of the challenge begins
// with zero bits. `src/domain/proof_of_work.rs` verifies it; change both.

const text = new TextEncoder();

/** Posts the number of each part, as `[part, number]`. */
async function solve({ challenge, bits, parts, iterations }) {
  const key = await crypto.subtle.importKey('raw', text.encode(challenge), 'PBKDF2', false, ['deriveBits']);
  for (let part = 0; part < parts; part += 1) {
    for (let number = 0; ; number += 1) {
      const salt = text.encode(`${part}:${number}`);
      const derived = await crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt, iterations }, key, 32);
      if (Math.clz32(new DataView(derived).getUint32(0)) >= bits) {
        postMessage([part, number]);
        break;
      }
    }
  }
}

// `null` means that this browser cannot compute it.
onmessage = ({ data }) => solve(data).catch(() => postMessage(null));
