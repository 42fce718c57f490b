// What the stand-ins of payment providers share: a server that lies on demand, and commands.
//
// It prints its port, and then answers each line of JSON on its standard input with a line: payers and staff act there,
// notices are handed out there, and there it is told to lie. It ends with its input.
//
// For the torture, the environment says more: `STAND_IN_PORT`; `STAND_IN_STATE`, a file that outlives the process;
// `STAND_IN_LIES`, the share of requests that are answered with a lie; `STAND_IN_BILL_AGO`, by how many seconds bills are early, so
// that the bill of a day that is not over can be read.
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createInterface } from 'node:readline';

/** What the shop does wrong. */
export const faults = [];

/** An answer that refuses a request. */
export class Refused extends Error {
  constructor(status, body) {
    super(JSON.stringify(body));
    Object.assign(this, { status, body });
  }
}

let ahead = 0;
/** The stand-in's time, which the command `clock` sets. */
export const now = () => Math.floor(Date.now() / 1000) + ahead;
/** Where the stand-in listens. */
export const address = { port: 0 };

/** Numbers, each once. */
const last = new Map([['number', 0]]);
export function next() {
  last.set('number', last.get('number') + 1);
  return last.get('number');
}

// Bills. What moved is listed as `{ line, of, amount, refund, fee, at }`: the provider's number, the stand-in's name of the
// payment, and the number of the refund, if it is one. The command `bill` says how bills lie about it.
const moved = [];
const BILL_AGO = Number(process.env.STAND_IN_BILL_AGO ?? 0);
let lies = {};
export function move(line) {
  moved.push({ at: now() - BILL_AGO, fee: Math.round(line.amount * 0.006) * (line.refund ? -1 : 1), ...line });
}
/** What the bill of a time has. */
export function billed(from, to) {
  const { lose = [], amounts = {}, add } = lies;
  const told = moved.filter(({ of, refund }) => refund || !lose.includes(of)).map((line) => ({ ...line, amount: (!line.refund && amounts[line.of]) || line.amount }));
  if (add) told.push({ line: 'line-of-another', of: 'another', amount: add, fee: 0, at: from });
  return told.filter(({ at }) => at >= from && at < to);
}
/** What such movements add up to; without an argument, what the merchant has. */
export function sums(lines = moved) {
  const of = (isIn) => lines.filter(isIn).reduce((sum, { amount }) => sum + amount, 0);
  const [captured, refunded] = [of(({ refund }) => !refund), of(({ refund }) => refund)];
  const fees = lines.reduce((sum, { fee }) => sum + fee, 0);
  return { captured, refunded, fees, balance: captured - refunded - fees };
}
/** The bounds of a day in China. */
export const chinaDay = (day) => [0, 24 * 3600].map((offset) => Date.parse(`${day}T00:00:00+08:00`) / 1000 + offset);
export const chinaTime = (at) => new Date((at + 8 * 3600) * 1000).toISOString().slice(0, 19).replace('T', ' ');

// The state. Each change is a line of a file, written before anybody is told of it, so that nothing is forgotten with the
// process.
const STATE = process.env.STAND_IN_STATE;
const parts = {};
const written = new Map();
/** Keeps maps and lists by their names. Lists are written as a whole. */
export function keep(all) {
  Object.assign(parts, all, { moved, last });
  if (!STATE || !existsSync(STATE)) return;
  for (const line of readFileSync(STATE, 'utf8').split('\n')) {
    let name, key, value;
    try {
      [name, key, value] = JSON.parse(line);
    } catch {
      // The last line may be cut off. Nobody was told of it.
      continue;
    }
    const part = parts[name];
    if (Array.isArray(part)) part.splice(0, part.length, ...value);
    else part.set(key, value);
    written.set(`${name} ${key}`, JSON.stringify(value));
  }
}
function save() {
  if (!STATE) return;
  let lines = '';
  for (const [name, part] of Object.entries(parts)) {
    for (const [key, value] of Array.isArray(part) ? [['', part]] : part) {
      const text = JSON.stringify(value);
      if (written.get(`${name} ${key}`) === text) continue;
      written.set(`${name} ${key}`, text);
      lines += `${JSON.stringify([name, key, value])}\n`;
    }
  }
  // A line that was cut off stands alone.
  if (lines) appendFileSync(STATE, `\n${lines}`);
}

/** What happens to a request at random: nothing most of the time. */
function randomLie() {
  if (Math.random() >= Number(process.env.STAND_IN_LIES ?? 0)) return undefined;
  return ['lost', 500, 'drop', 'late', 429][Math.floor(Math.random() * 5)];
}

/** A key of `keys`, which are for tests alone. */
export const key = (name) => readFileSync(new URL(`./keys/${name}`, import.meta.url), 'utf8');

/**
 * `answer(request)` returns the body of an answer, or throws a `Refused`. `write(body, status, request)` returns what is
 * sent, `headers` and `text`. `name(request)` is what lies call a request.
 *
 * The lies: `lost`, a fault before the request took effect; a number, that status before it; `500`, a fault after it;
 * `drop` and `hang`, no answer after it. Others are left to `write`, as `request.lie`.
 */
export async function serve({ answer, write, name, commands, fault = () => {}, tls }) {
  const told = [];
  const handle = (request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (part) => (text += part));
    request.on('end', async () => {
      const asked = { method: request.method, url: request.url, headers: request.headers, text };
      const lie = told.find(({ at, times }) => times > 0 && (name(asked) === at || (at.startsWith('/') && request.url.startsWith(at))));
      if (lie) lie.times -= 1;
      asked.lie = lie?.as ?? randomLie();
      let [status, body] = [200, null];
      try {
        if (asked.lie === 'lost') throw new Refused(500, {});
        if (asked.lie > 400 && asked.lie < 500) throw new Refused(asked.lie, {});
        body = await answer(asked);
        if (body === undefined) status = 204;
      } catch (error) {
        if (!(error instanceof Refused)) faults.push(String(error.stack));
        [status, body] = [error.status ?? 500, error.body ?? {}];
      }
      if (asked.lie === 500) {
        fault(asked);
        [status, body] = [500, {}];
      }
      save();
      if (asked.lie === 'late') await new Promise((over) => setTimeout(over, Math.random() * 2000));
      if (asked.lie === 'drop') return request.socket.destroy();
      if (asked.lie === 'hang') return;
      const sent = write(body, status, asked);
      response.writeHead(status, sent.headers).end(sent.text);
    });
  };
  const all = {
    ...commands,
    /** Lies about such requests, so many times. */
    lie({ at, as, times }) {
      told.push({ at, as, times });
      return {};
    },
    /** Lies no more. */
    truth() {
      told.length = 0;
      return {};
    },
    bill(how) {
      lies = how;
      return {};
    },
    clock({ at }) {
      ahead = at - Math.floor(Date.now() / 1000);
      return {};
    },
    state: () => ({ ...commands.state(), faults, sums: sums() }),
  };
  const read = (file) => readFileSync(`${tls}/${file}`);
  const server = tls ? createTlsServer({ cert: read('server.pem'), key: read('server.key') }, handle) : createServer(handle);
  server.listen(Number(process.env.STAND_IN_PORT ?? 0), '127.0.0.1', () => console.log((address.port = server.address().port)));
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: command, ...rest } = JSON.parse(line);
    const answer = JSON.stringify(all[command](rest));
    save();
    console.log(answer);
  }
  process.exit(0);
}
