// Verifies a draw with nothing but WebCrypto: computes root, seed and rank from list and proof, as `docs/draw.md`
// describes. The signature of the public round is not verified here.

const HASH_BYTES = 32;
/** Hashes that are computed at the same time, before the browser may draw the page. */
const BATCH = 2000;
const HEADER = 'entry,status';
const LINE = /^([0-9a-f]{32}),(in|excluded:[a-z_]+)$/;
const PROTOCOL = 'seckill-draw/1';
const FIELDS = ['protocol', 'rules', 'n', 'root', 'excluded', 'entries_sha256', 'changes', 'round', 'signature', 'secret', 'seed'];
const FIELDS_OF_CHANGE = ['from', 'to', 'at', 'reason'];
/** When round 1 appeared, and the time between two rounds. */
const GENESIS_MS = 1692803367000;
const PERIOD_MS = 3000;
/** A round this late may be given up, for the first one that appears more than this long after its announcement. */
const OVERDUE_MS = 3600000;
const NOTICE_MS = 600000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?Z$/;

// ---- bytes ----

const text = (words) => new TextEncoder().encode(words);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));

function join(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A number as eight bytes, big-endian. */
function number(n) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(n));
  return bytes;
}

function compare(a, b) {
  const at = a.findIndex((byte, n) => byte !== b[n]);
  return at < 0 ? 0 : a[at] - b[at];
}

const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));

/** Counts hashes for the progress bar. */
class Work {
  constructor(total, tell) {
    Object.assign(this, { total: Math.max(1, total), done: 0, tell });
  }

  /** The hashes of `input(0)` to `input(count - 1)`. */
  async hashes(length, input) {
    const all = new Array(length);
    for (let from = 0; from < length; from += BATCH) {
      const size = Math.min(BATCH, length - from);
      const batch = await Promise.all(Array.from({ length: size }, (_, n) => sha256(input(from + n))));
      batch.forEach((hash, n) => { all[from + n] = hash; });
      this.done += size;
      this.tell(Math.min(1, this.done / this.total));
      // Let the browser draw the progress.
      await new Promise((resolve) => setTimeout(resolve));
    }
    return all;
  }
}

// ---- the list ----

/**
 * Returns the entries that take part, and the excluded entries by id. Throws the number of a line that is not in the
 * published form.
 */
function parse(csv) {
  const lines = csv.split('\n');
  if (lines.shift() !== HEADER) throw 1;
  if (lines.pop() !== '') throw lines.length + 2;
  const taking = [];
  const excluded = new Set();
  let last = '';
  lines.forEach((line, n) => {
    const [, id, status] = LINE.exec(line) ?? [];
    if (!id || id <= last) throw n + 2;
    last = id;
    if (status === 'in') taking.push(unhex(id));
    else excluded.add(id);
  });
  return { taking, excluded };
}

// ---- the computation ----

/** The Merkle tree hash of RFC 6962: a last node without a sibling moves up as it is. */
async function merkleRoot(entries, work) {
  if (entries.length === 0) return sha256(new Uint8Array());
  let level = await work.hashes(entries.length, (n) => join([0], entries[n]));
  while (level.length > 1) {
    const below = level;
    level = await work.hashes(below.length >> 1, (n) => join([1], below[2 * n], below[2 * n + 1]));
    if (below.length % 2 === 1) level.push(below.at(-1));
  }
  return level[0];
}

/** The value of a line of the rules. */
const rule = (rules, name) => rules.split('\n').find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? '';

const hasOnly = (value, fields) => Object.keys(value).every((field) => fields.includes(field));

/** The number of the first round that appears after a time. */
const firstAfter = (ms) => Math.floor((ms - GENESIS_MS) / PERIOD_MS) + 2;

/** Whether the changes lead from the announced round to the last one, each by the rule. */
function followsRule(changes, announced) {
  let round = announced;
  return changes.every(({ from, to, at }) => {
    const due = GENESIS_MS + (round - 1) * PERIOD_MS;
    const ms = TIME.test(at) ? Date.parse(at) : NaN;
    const holds = from === round && ms - due >= OVERDUE_MS && to === firstAfter(ms + NOTICE_MS);
    round = to;
    return holds;
  });
}

/** The finding about the round: the key of its words, and whether it holds. */
async function roundOf(proof, changes) {
  const [source, announced] = rule(proof.rules, 'randomness').split(' ');
  const round = String(changes.at(-1)?.to ?? announced);
  if (source === 'none') return ['round_none', proof.round === null && proof.signature === null];
  if (String(proof.round) !== round || !proof.signature) return ['round_wrong', false];
  if (source !== 'sandbox') return ['round_ok', true];
  const expected = await sha256(join(text('seckill-sandbox-round'), number(round)));
  return ['round_sandbox', hex(expected) === proof.signature];
}

async function seedOf(proof, root, n) {
  const randomness = proof.signature ? await sha256(unhex(proof.signature)) : new Uint8Array(HASH_BYTES);
  const rules = await sha256(text(proof.rules));
  return sha256(join(text(PROTOCOL), rules, root, number(n), number(proof.round ?? 0), randomness, unhex(proof.secret)));
}

/** The rank, from 1: one more than the number of entries whose key is smaller. */
async function rankOf(own, seed, entries, work) {
  const key = (entry) => join(seed, [0], entry, [0, 0, 0, 0]);
  const mine = await sha256(key(own));
  const keys = await work.hashes(entries.length, (n) => key(entries[n]));
  return 1 + keys.filter((other, n) => (compare(other, mine) || compare(entries[n], own)) < 0).length;
}

/**
 * Recomputes everything. Returns the findings (each with the key of its words, whether it holds, and a value), and
 * what to say about the entry `own` unless it is empty. `known` has the rules and the root that were published
 * beforehand. `tell` is called with the progress, from 0 to 1.
 */
export async function check(csv, proof, { known, own = '', tell = () => {} }) {
  const { taking, excluded } = parse(new TextDecoder().decode(csv));
  const work = new Work(taking.length * (own ? 3 : 2), tell);
  const root = await merkleRoot(taking, work);
  const seed = await seedOf(proof, root, taking.length);
  const excludedCount = Object.values(proof.excluded).reduce((sum, n) => sum + n, 0);
  const is = (name, holds, value) => ({ words: `${name}_${holds ? 'ok' : 'wrong'}`, holds, value });
  const { changes = [] } = proof;
  const [words, holds] = await roundOf(proof, changes);
  const findings = [
    is('fields', hasOnly(proof, FIELDS) && changes.every((change) => hasOnly(change, FIELDS_OF_CHANGE))),
    is('rules', proof.protocol === PROTOCOL && proof.rules === known.rules),
    is('list', hex(await sha256(csv)) === proof.entries_sha256),
    is('count', proof.n === taking.length && excludedCount === excluded.size, taking.length),
    is('root', hex(root) === proof.root && proof.root === known.root),
    is('secret', hex(await sha256(unhex(proof.secret))) === rule(proof.rules, 'commitment')),
    ...changes.length > 0 ? [is('changes', followsRule(changes, Number(rule(proof.rules, 'randomness').split(' ')[1])), changes.length)] : [],
    { words: holds ? words : 'round_wrong', holds },
    is('seed', hex(seed) === proof.seed),
  ];
  return { findings, entry: own ? await aboutEntry(own, { taking, excluded, seed, work }) : null };
}

/** What to say about an entry: the key of the words, and the rank if there is one. */
async function aboutEntry(own, { taking, excluded, seed, work }) {
  const id = unhex(own);
  if (excluded.has(own)) return { words: 'excluded' };
  if (!taking.some((entry) => compare(entry, id) === 0)) return { words: 'missing' };
  return { words: 'rank', rank: await rankOf(id, seed, taking, work), of: taking.length };
}
