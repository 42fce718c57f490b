// A shop of its own for a script that takes pictures: the program in an empty folder, for as long as it is used.

import { spawn } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';

import { eventually } from './check.mjs';

export const ADMIN = { username: 'admin', password: 'password of the pictures' };

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** Calls `use` with the origin of a shop that was just started with these settings. SECKILL_TEST_PROGRAM is the program. */
export async function withShop(settings, use) {
  const program = process.env.SECKILL_TEST_PROGRAM;
  if (!program) throw new Error('SECKILL_TEST_PROGRAM must be the path of the program');
  const folder = mkdtempSync(join(tmpdir(), 'seckill-'));
  const origin = `http://127.0.0.1:${await freePort()}`;
  const log = openSync(join(folder, 'log'), 'w');
  const running = spawn(program, {
    cwd: folder,
    stdio: ['ignore', log, log],
    env: {
      PATH: process.env.PATH,
      SECKILL_DATA_DIR: join(folder, 'data'),
      SECKILL_ADMIN_PASSWORD: ADMIN.password,
      SECKILL_LISTEN: origin.slice('http://'.length),
      SECKILL_OPS_LISTEN: '127.0.0.1:0',
      SECKILL_PUBLIC_URL: origin,
      ...settings,
    },
  });
  const ended = once(running, 'exit');
  const stop = () => { running.kill(); process.exit(1); };
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, stop);
  try {
    await eventually(`the program answers (${join(folder, 'log')})`, async () => {
      if (running.exitCode !== null) throw new Error('it has ended');
      return (await fetch(`${origin}/api/ping`)).ok;
    });
    return await use(origin);
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM']) process.off(signal, stop);
    running.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
