// Follows docs/integrate.md word for word: its blocks, in this order, in an empty folder, in one shell. What stands under a block
// is what it prints. SECKILL_TEST_PROGRAM is the path of the program.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from './guards.mjs';

const REPO = fileURLToPath(new URL('../..', import.meta.url));
const PATIENCE_MS = 60_000;
/** Printed behind each block. */
const END = '\x1e';
/** Ends what the blocks left running. */
const TIDY = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT";

/** The shell blocks of a document with what they print: the text block right under each, or anything without one. */
function blocksOf(document) {
  const fences = [...document.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return fences.flatMap(({ index, 0: fence, 1: kind, 2: text }, n) => {
    const next = fences[n + 1];
    const isUnder = next?.[1] === 'text' && document.slice(index + fence.length, next.index).trim() === '';
    return kind === 'sh' ? [{ text, prints: isUnder ? next[2] : undefined }] : [];
  });
}

test('docs/integrate.md, word for word', async () => {
  const blocks = blocksOf(readFileSync(join(REPO, 'docs/integrate.md'), 'utf8'));
  assert.ok(blocks.filter(({ prints }) => prints !== undefined).length > 8, 'the blocks are found');
  const folder = mkdtempSync(join(tmpdir(), 'seckill-document-'));
  const script = `${folder}.sh`;
  const ports = { here: [8080, await freePort()], shop: [3001, await freePort()], front: [3000, await freePort()] };
  const addresses = Object.entries(ports).map(([name, [, port]]) => [name, `127.0.0.1:${port}`]);
  const program = dirname(process.env.SECKILL_TEST_PROGRAM);
  const env = {
    ...process.env,
    ...Object.fromEntries(addresses),
    PATH: `${program}:${process.env.PATH}`,
    SECKILL: REPO,
    SECKILL_OPS_LISTEN: '127.0.0.1:0',
  };
  writeFileSync(script, [TIDY, ...blocks.map(({ text }) => `${text}printf '\\x1e'`)].join('\n'));
  try {
    const run = spawnSync('bash', ['-euo', 'pipefail', script], { cwd: folder, env, encoding: 'utf8', timeout: PATIENCE_MS });
    const printed = run.stdout.split(END);
    // With the document's ports, and without spaces at the ends of lines.
    const asTold = (text) => Object.values(ports).reduce((all, [told, port]) => all.replaceAll(`${port}`, `${told}`), text);
    const inDocument = (text) => asTold(text).replace(/ +$/gm, '');
    assert.doesNotMatch(run.stderr, /seckill_pass=\w/, 'passes in a log of errors');
    blocks.forEach(({ text, prints }, n) => {
      assert.ok(n + 1 < printed.length, `this block fails (${run.status ?? run.error}):\n${text}${printed[n] ?? ''}\n${run.stderr}`);
      if (prints !== undefined) assert.equal(inDocument(printed[n]), prints, `what this block prints:\n${text}`);
    });
  } finally {
    rmSync(folder, { recursive: true });
    rmSync(script);
  }
});
