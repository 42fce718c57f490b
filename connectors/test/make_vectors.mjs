// Prints ../vectors.json, always the same: node make_vectors.mjs >../vectors.json
import { createHmac } from 'node:crypto';
import { base64, keyFrom, signPass, signTexts } from './passes.mjs';

const issuer = 'https://line.example';
const sale = '7';
const now = 1_800_000_000;
const secret = 'a secret for tests, of 32 characters or more';
const seeds = Object.fromEntries(['1', '2', '3', '4'].map((digit) => [`test-${digit}`, `0${digit}`.repeat(32)]));
// The third was rotated away, the fourth was never the shop's.
const [one, two, three, four] = Object.entries(seeds).map(([kid, seed]) => keyFrom(kid, seed));
const rsa = { kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'test-rsa', n: 'AQAB', e: 'AQAB' };

const claims = {
  iss: issuer,
  aud: `sale:${sale}`,
  sub: '4711',
  place: '12',
  iat: now - 60,
  exp: now + 600,
  jti: '01890a5d-ac96-774b-bcce-b302099a8057',
  use: 'once',
};
const without = (name) => Object.fromEntries(Object.entries(claims).filter(([other]) => other !== name));
const good = signPass(claims, one);
const [goodHeader, goodClaims, goodSignature] = good.split('.');
const headerText = JSON.stringify({ alg: 'EdDSA', typ: 'JWT', kid: one.kid });
const claimsText = JSON.stringify(claims);

const passes = [];
function add(name, verdict, pass, more = {}) {
  passes.push({ name, verdict, pass, ...more });
}
const signed = (name, verdict, change, more) => add(name, verdict, signPass({ ...claims, ...change }, one), more);

add('once', 'ok', good);
signed('many', 'ok', { use: 'many' });
add('by the second key', 'ok', signPass(claims, two));
signed('of an account of the line', 'ok', { sub: 'account:01890a5d-ac96-774b-bcce-b302099a8057' });
signed('of a customer with another script', 'ok', { sub: '客户 4711 "é"' });
signed('with a claim of a later version', 'ok', { later: { nested: [1, { sub: 'x' }] } });
add('spaces between names and values', 'ok', signTexts(headerText, JSON.stringify(claims, null, 2), one));
add('without a place', 'ok', signPass(without('place'), one));

add('just before its end, with leeway', 'ok', good, { now: claims.exp + 29 });
add('at its end, with leeway', 'expired', good, { now: claims.exp + 30 });
signed('expired long ago', 'expired', { exp: now - 86_400 });
add('issued by a clock that is ahead', 'ok', good, { now: claims.iat - 30 });
add('not yet valid', 'not_yet_valid', good, { now: claims.iat - 31 });

signed('of another sale', 'other_sale', { aud: 'sale:8' });
signed('of a sale whose number begins the same', 'other_sale', { aud: 'sale:70' });
signed('of two sales', 'bad_claims', { aud: ['sale:7', 'sale:8'] });
signed('by another issuer', 'other_issuer', { iss: 'https://line.example.evil' });
signed('by the issuer with a slash', 'other_issuer', { iss: `${issuer}/` });

add('by an unknown key', 'unknown_key', signPass(claims, four));
add('by a key that was rotated away', 'unknown_key', signPass(claims, three));
add('by a key that was rotated away, before', 'ok', signPass(claims, three), { keys: 'earlier' });
add('without a key id', 'unknown_key', signPass(claims, one, { kid: undefined }));
add('with a number as key id', 'unknown_key', signPass(claims, one, { kid: 1 }));
add('with a key of another kind', 'unknown_key', signPass(claims, one, { kid: rsa.kid }));
add('with the name of a property as key id', 'unknown_key', signPass(claims, one, { kid: '__proto__' }));
add('by another key under a known id', 'bad_signature', signPass(claims, { ...four, kid: one.kid }));
add('by a key that the header brings along', 'bad_signature', signPass(claims, four, { kid: one.kid, jwk: four.jwk }));

const headerOf = (alg) => base64(JSON.stringify({ alg, typ: 'JWT', kid: one.kid }));
const unsigned = (alg, signature) => `${headerOf(alg)}.${goodClaims}.${signature}`;
const macBy = (key) => {
  const text = unsigned('HS256', '').slice(0, -1);
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
};
add('algorithm none', 'bad_algorithm', unsigned('none', ''));
add('algorithm None with a signature', 'bad_algorithm', unsigned('None', goodSignature));
add('algorithm in lower case', 'bad_algorithm', signPass(claims, one, { alg: 'eddsa' }));
add('algorithm Ed25519', 'bad_algorithm', signPass(claims, one, { alg: 'Ed25519' }));
add('without an algorithm', 'bad_algorithm', signPass(claims, one, { alg: undefined }));
add('HS256 with the public key as the secret', 'bad_algorithm', macBy(Buffer.from(one.jwk.x, 'base64url')));
add('HS256 with the text of the public key as the secret', 'bad_algorithm', macBy(one.jwk.x));
add('a critical header', 'bad_header', signPass(claims, one, { crit: ['exp'] }));
add('an empty critical header', 'bad_header', signPass(claims, one, { crit: [] }));
add('another type', 'bad_header', signPass(claims, one, { typ: 'entry' }));
add('without a type', 'bad_header', signPass(claims, one, { typ: undefined }));

// 1 added to R, the order of the group added to S, a byte taken away: three signatures that are not the key's.
const bytes = Buffer.from(goodSignature, 'base64url');
const otherR = Buffer.from(bytes);
otherR[0] ^= 1;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const number = (buffer) => BigInt(`0x${Buffer.from(buffer).reverse().toString('hex')}`);
const sum = (number(bytes.subarray(32)) + ORDER).toString(16).padStart(64, '0');
const malleable = Buffer.concat([bytes.subarray(0, 32), Buffer.from(sum, 'hex').reverse()]);
const withSignature = (signature) => `${goodHeader}.${goodClaims}.${Buffer.from(signature).toString('base64url')}`;
add('a wrong signature', 'bad_signature', withSignature(otherR));
add('a second spelling of the signature', 'bad_signature', withSignature(malleable));
add('a signature that is too short', 'bad_signature', withSignature(bytes.subarray(0, 63)));
add('a signature of zeros', 'bad_signature', withSignature(Buffer.alloc(64)));
add('without a signature', 'bad_signature', `${goodHeader}.${goodClaims}.`);
const otherClaims = base64(JSON.stringify({ ...claims, sub: '4712' }));
add('claims of another pass', 'bad_signature', `${goodHeader}.${otherClaims}.${goodSignature}`);

add('empty', 'malformed', '');
add('two parts', 'malformed', `${goodHeader}.${goodClaims}`);
add('four parts', 'malformed', `${good}.`);
add('five parts, as of an encrypted token', 'malformed', `${goodHeader}.${goodClaims}.${goodSignature}.x.y`);
add('the header is not base64url', 'malformed', `${goodHeader.slice(0, -1)}*.${goodClaims}.${goodSignature}`);
add('the signature is not base64url', 'malformed', `${goodHeader}.${goodClaims}.${goodSignature.slice(0, -1)}+`);
add('the signature is padded', 'malformed', `${good}==`);
add('a second spelling of the last character', 'malformed', `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'x'}`);
add('a space in front', 'malformed', ` ${good}`);
add('a line break behind', 'malformed', `${good}\n`);
add('huge', 'malformed', signPass({ ...claims, place: 'x'.repeat(4096) }, one));
add('the header is a list', 'malformed', signTexts('["EdDSA"]', claimsText, one));
const headerTwice = headerText.replace('{', '{"alg":"none",');
add('the header names its algorithm twice', 'malformed', signTexts(headerTwice, claimsText, one));

const claimed = (name, text, verdict = 'malformed') => add(name, verdict, signTexts(headerText, text, one));
claimed('a claim twice', claimsText.replace('{', '{"sub":"4712",'));
claimed('a claim twice, once escaped', claimsText.replace('{', '{"s\\u0075b":"4712",'));
claimed('the claims are no JSON', claimsText.slice(0, -1));
claimed('the claims are a list', '[]');
claimed('the claims are null', 'null');
claimed('NaN among the claims', claimsText.replace('{', '{"later":NaN,'));
claimed('a byte order mark', `\uFEFF${claimsText}`);
claimed('the end as a text', claimsText.replace(`${claims.exp}`, `"${claims.exp}"`), 'bad_claims');
claimed('the end as a fraction', claimsText.replace(`${claims.exp}`, `${claims.exp}.5`), 'bad_claims');
claimed('the end beyond every number', claimsText.replace(`${claims.exp}`, '1e999'), 'bad_claims');
claimed('the end beyond the integers', claimsText.replace(`${claims.exp}`, '1e17'), 'bad_claims');
claimed('the end as true', claimsText.replace(`${claims.exp}`, 'true'), 'bad_claims');
for (const name of ['iss', 'aud', 'sub', 'iat', 'exp', 'jti', 'use']) {
  add(`without ${name}`, 'bad_claims', signPass(without(name), one));
}
signed('with an empty sub', 'bad_claims', { sub: '' });
signed('with a number as sub', 'bad_claims', { sub: 4711 });
signed('used twice', 'bad_claims', { use: 'twice' });

// A connector's own cookie: the claims as they came, and HMAC-SHA256 over the parameter's name, a colon and the claims.
const macOf = (payload, by) => createHmac('sha256', by).update(`seckill_pass:${payload}`).digest('base64url');
const cookie = `${goodClaims}.${macOf(goodClaims, secret)}`;
const ofSale8 = base64(JSON.stringify({ ...claims, aud: 'sale:8' }));
const cookies = [
  { name: 'good', holds: true, cookie },
  { name: 'just before its end', holds: true, cookie, now: claims.exp + 29 },
  { name: 'expired', holds: false, cookie, now: claims.exp + 30 },
  { name: 'of another sale', holds: false, cookie: `${ofSale8}.${macOf(ofSale8, secret)}` },
  { name: 'by another secret', holds: false, cookie: `${goodClaims}.${macOf(goodClaims, `${secret}!`)}` },
  { name: 'with claims of another', holds: false, cookie: `${ofSale8}.${macOf(goodClaims, secret)}` },
  { name: 'without a MAC', holds: false, cookie: goodClaims },
  { name: 'with an empty MAC', holds: false, cookie: `${goodClaims}.` },
  { name: 'with half a MAC', holds: false, cookie: cookie.slice(0, -22) },
  { name: 'a pass', holds: false, cookie: good },
  { name: 'empty', holds: false, cookie: '' },
];

const vectors = {
  about: 'Test keys and passes, made by test/make_vectors.mjs. The secret keys are public: never use one of them.',
  issuer,
  sale,
  now,
  keys: { keys: [one.jwk, two.jwk, rsa] },
  earlier_keys: { keys: [three.jwk, one.jwk] },
  secret_keys_for_tests_only: seeds,
  passes,
  cookie_secret: secret,
  cookies,
};
process.stdout.write(`${JSON.stringify(vectors, null, 2)}\n`);
