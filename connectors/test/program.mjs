// A Seckill shop on rung 1 with sales that other shops stand behind or sell from.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually, freePort, Process } from './guards.mjs';

const START_TIMEOUT_MS = 60_000;
const SCOPES = ['reserve', 'shoppers', 'manage_sales', 'view_console', 'manage_webhooks'];

/** The fields of a sale with a waiting room whose list is locked seven seconds from now. */
export function waitingRoom() {
  const opens = new Date(Date.now() + 2_000).toISOString();
  return { mode: 'queue', opens_at: opens, queue_prequeue_s: 60, queue_gather_s: 5, queue_seat_s: 600 };
}

export class SeckillProgram {
  /** Not a stand-in. */
  isReal = true;
  #folder = mkdtempSync(join(tmpdir(), 'seckill-program-'));
  #process;

  /** `program` is the path of the compiled program. With `waits` the sale has a waiting room, which opens soon. */
  static async make({ program, units, holdSeconds, waits = false }) {
    const made = new SeckillProgram();
    const port = await freePort();
    made.address = `http://127.0.0.1:${port}`;
    const settings = {
      SECKILL_LISTEN: `127.0.0.1:${port}`,
      SECKILL_OPS_LISTEN: '127.0.0.1:0',
      SECKILL_PUBLIC_URL: made.address,
      SECKILL_DATA_DIR: made.#folder,
      SECKILL_PAYMENT_WINDOW: `${holdSeconds}s`,
      // Anonymous visitors count as registrations of their network.
      SECKILL_FREE_REGISTRATIONS: '1000',
    };
    const env = { ...process.env, ...settings };
    made.#process = new Process(program, [], { env });
    await made.start();
    const { stdout } = await promisify(execFile)(program, ['token', 'create', 'other shop', ...SCOPES], { env });
    [made.token] = /sk_\w+/.exec(stdout);
    made.sale = await made.sell({ total: units, ...(waits && waitingRoom()) });
    if (!waits) await made.ask('POST', `/api/admin/sales/${made.sale}/start`);
    return made;
  }

  /** Makes a sale with these fields, and gives its id. */
  async sell(fields) {
    const texts = { name: { zh: '鞋', en: 'Shoe' }, description: { zh: '鞋', en: 'Shoe' } };
    const { goods } = await this.ask('POST', '/api/admin/goods', texts);
    const price = { amount: 9900, currency: 'CNY' };
    const wanted = { goods_id: goods.id, price, per_user_limit: 1, ...fields };
    const { sale } = await this.ask('POST', '/api/admin/sales', wanted);
    return sale.id;
  }

  /** Lets people return to addresses that begin with this one. */
  async register(address, { sale = this.sale, anonymous = false } = {}) {
    await this.ask('PUT', `/api/admin/sales/${sale}/front`, { front: { return_addresses: [address], anonymous } });
  }

  /** Whether there is nothing to wait for any more. */
  async isSoldOut() {
    const { phase } = await (await fetch(`${this.address}/api/sales/${this.sale}/button`)).json();
    return phase === 'sold_out';
  }

  async start() {
    this.#process.start();
    await eventually(async () => (await fetch(`${this.address}/api/ping`)).ok, 'the program answers', { patience: START_TIMEOUT_MS });
  }

  async kill() {
    await this.#process.stop('SIGKILL');
  }

  async close() {
    await this.#process.stop();
    rmSync(this.#folder, { recursive: true });
  }

  /** Every reservation of the sale. */
  async list() {
    return (await this.ask('GET', `/api/v1/sales/${this.sale}/reservations?limit=500`)).reservations;
  }

  async ask(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}`, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(this.address + path, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
}
