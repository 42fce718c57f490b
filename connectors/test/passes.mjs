// Keys and passes of the tests.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';

// PKCS #8 with the 32 bytes of an Ed25519 key behind it.
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** A key from 32 bytes in hex, as `{kid, secret, jwk}`. */
export function keyFrom(kid, seed) {
  const secret = createPrivateKey({ key: Buffer.concat([PKCS8, Buffer.from(seed, 'hex')]), format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(secret).export({ format: 'jwk' });
  return { kid, secret, jwk: { kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA', kid, x } };
}

export const base64 = (text) => Buffer.from(text).toString('base64url');

/** A compact JWS of two texts, which need not be JSON. */
export function signTexts(header, claims, key) {
  const signed = `${base64(header)}.${base64(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key.secret).toString('base64url')}`;
}

export function signPass(claims, key, header = {}) {
  return signTexts(JSON.stringify({ alg: 'EdDSA', typ: 'JWT', kid: key.kid, ...header }), JSON.stringify(claims), key);
}
