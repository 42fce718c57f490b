// The Seckill shop that another shop buys from: the program, if SECKILL_TEST_PROGRAM names it, or a stand-in, which has what
// connectors/test/stand_in.mjs has, customers by name, and reservations of one sale, kept in memory.
import { randomUUID } from 'node:crypto';
import { freePort } from '../../connectors/test/guards.mjs';
import { StandIn } from '../../connectors/test/stand_in.mjs';
import { SeckillProgram } from '../../connectors/test/program.mjs';

const SALE = 7;
const SHOPPERS = '/api/v1/shoppers';
const RESERVATIONS = `/api/v1/sales/${SALE}/reservations`;

/** A Seckill shop with a sale of `units` that are held for `holdSeconds`, with a waiting room if it `waits`. */
export async function startSeckill(options) {
  const program = process.env.SECKILL_TEST_PROGRAM;
  if (program) return SeckillProgram.make({ program, ...options });
  const standIn = new SeckillStandIn(await freePort(), options);
  await standIn.start();
  return standIn;
}

class SeckillStandIn extends StandIn {
  sale = SALE;
  token = 'sk_test';
  #reservations = new Map();
  #shoppers = new Set();
  #units;
  #holdSeconds;
  #unanswered = 0;

  constructor(port, { units, holdSeconds }) {
    super(port);
    this.#units = units;
    this.#holdSeconds = holdSeconds;
  }

  /** Every reservation, as programs read them. */
  async list() {
    return this.#list();
  }

  register(address) {
    this.registered.push(address);
  }

  /** Carries out so many requests without an answer, as if the process died in between. */
  loseAnswers(requests) {
    this.#unanswered = requests;
  }

  kill() {
    return this.stop();
  }

  close() {
    return this.stop();
  }

  #list() {
    return [...this.#reservations.values()].map((reservation) => this.#shown(reservation));
  }

  answer(req, res) {
    if (req.url !== SHOPPERS && !req.url.startsWith(RESERVATIONS)) return super.answer(req, res);
    if (req.headers.authorization !== `Bearer ${this.token}`) return send(res, 401, { code: 'bad_api_token' });
    let text = '';
    req.on('data', (part) => (text += part));
    req.on('end', () => {
      const [status, body] = this.#carryOut(req.url, text === '' ? {} : JSON.parse(text));
      if (this.#unanswered > 0) {
        this.#unanswered -= 1;
        return req.socket.destroy();
      }
      return send(res, status, body);
    });
    return undefined;
  }

  #carryOut(path, body) {
    if (path === SHOPPERS) {
      this.#shoppers.add(body.id);
      return [200, { shopper: { id: body.id }, entry_token: 'none' }];
    }
    const [, id, action] = path.slice(RESERVATIONS.length).split('/');
    if (id === undefined) return this.#reserve(body);
    const reservation = this.#reservations.get(id);
    if (!reservation) return [404, { code: 'no_such_reservation' }];
    const { status } = this.#shown(reservation);
    const answer = () => [200, { reservation: this.#shown(reservation) }];
    if (action === 'confirm') {
      const isRepeated = status === 'confirmed' && reservation.reference === body.reference;
      if (isRepeated) return answer();
      if (status !== 'held') return [409, { code: `reservation_${status}` }];
      Object.assign(reservation, { status: 'confirmed', reference: body.reference });
    } else if (action === 'release') {
      if (status === 'confirmed') return [409, { code: 'reservation_confirmed' }];
      if (status === 'held') reservation.status = 'released';
    }
    return answer();
  }

  #reserve({ shopper, quantity }) {
    if (!this.#shoppers.has(shopper)) return [404, { code: 'no_such_shopper' }];
    const taken = this.#list().filter(({ status }) => ['held', 'confirmed'].includes(status));
    const mine = taken.find((reservation) => reservation.shopper === shopper);
    if (mine) return [200, { reservation: mine }];
    const sold = taken.reduce((sum, reservation) => sum + reservation.quantity, 0);
    if (sold + quantity > this.#units) return [409, { code: 'sold_out' }];
    const reservation = { id: randomUUID(), sale_id: `${SALE}`, shopper, quantity, status: 'held', reference: null };
    reservation.ends = Date.now() + 1000 * this.#holdSeconds;
    this.#reservations.set(reservation.id, reservation);
    return [201, { reservation: this.#shown(reservation) }];
  }

  #shown({ ends, ...reservation }) {
    const status = reservation.status === 'held' && Date.now() >= ends ? 'expired' : reservation.status;
    return { ...reservation, status, expires_at: new Date(ends).toISOString() };
  }
}

function send(res, status, body) {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
