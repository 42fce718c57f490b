// The shop's API: prepares the data that pages then show.

import { randomBytes } from 'node:crypto';

import { eventually } from './check.mjs';

export const PASSWORD = 'correct horse battery';

/** The demo products. */
export const GOODS = { phone: '1', headphones: '2', espresso: '3', sneakers: '4', mug: '7' };

export function newName() {
  return `visitor-${randomBytes(5).toString('hex')}`;
}

/** A user with a session. */
export class Account {
  constructor(origin, username, cookie) {
    Object.assign(this, { origin, username, cookie });
  }

  async ask(method, path, body) {
    const response = await fetch(this.origin + path, {
      method,
      headers: { cookie: this.cookie, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    return text && JSON.parse(text);
  }

  orders() {
    return this.ask('GET', '/api/orders').then(({ orders }) => orders);
  }

  /** Buys by the API. */
  async buy(sale, quantity = 1) {
    const { token } = await this.ask('POST', `/api/sales/${sale}/token`);
    const { order } = await this.ask('POST', `/api/sales/${sale}/orders`, { quantity, token });
    return order;
  }

  balance() {
    return this.ask('GET', '/api/wallet').then((wallet) => wallet.balance.amount);
  }

  /** Tops up an empty wallet at the sandbox's checkout. */
  async fillWallet(amount) {
    const { payment } = await this.ask('POST', '/api/wallet/top-ups', { amount: { amount, currency: 'CNY' } });
    await fetch(`${this.origin}/sandbox/cashier/${payment.id}/pay`, { method: 'POST', redirect: 'manual' });
    await eventually('the wallet is filled', () => this.balance());
  }

  /** Pays for an order at the sandbox's checkout as soon as it is stored. */
  async pay({ id, sale_id: sale }) {
    const started = await eventually('the order can be paid', () => this.ask('POST', `/api/sales/${sale}/orders/${id}/payments`));
    await fetch(`${this.origin}/sandbox/cashier/${started.payment.id}/pay`, { method: 'POST', redirect: 'manual' });
    await eventually('the order is paid', async () => (await this.orders()).some((order) => order.id === id && order.status === 'paid'));
  }
}

export class Shop {
  static async visit(origin, admin) {
    const shop = new Shop();
    shop.origin = origin;
    shop.admin = await shop.account('/api/login', admin.username, admin.password);
    return shop;
  }

  /** Logs in or registers, again while the shop refuses because it has too many passwords to hash. */
  async account(path, username, password) {
    const request = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password }),
    };
    const response = await eventually(`${path} is not overloaded`, async () => {
      const answer = await fetch(this.origin + path, request);
      return answer.status !== 503 && answer;
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
    return new Account(this.origin, username, response.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; '));
  }

  register(username = newName()) {
    return this.account('/api/register', username, PASSWORD);
  }

  /** Creates a sale and returns its id. Without `opensIn` it has to be started. With `reviewS` it is a draw. */
  async newSale({ goods = GOODS.phone, price = 199_900, total = 10, limit = 1, opensIn, closesIn, spread, reviewS, ...more } = {}) {
    const at = (ms) => (ms == null ? null : new Date(Date.now() + ms).toISOString());
    const { sale } = await this.admin.ask('POST', '/api/admin/sales', {
      goods_id: goods,
      price: { amount: price, currency: 'CNY' },
      list_price: { amount: 2 * price, currency: 'CNY' },
      total,
      per_user_limit: limit,
      opens_at: at(opensIn),
      closes_at: at(closesIn),
      ...(spread != null && { spread_ms: spread }),
      ...(reviewS != null && { mode: 'draw', draw_review_s: reviewS }),
      ...more,
    });
    return sale.id;
  }

  /** Announces a sale of one unit whose waiting room is open, and whose order is drawn at the opening. */
  async newWaitingRoom(opensIn, more = {}) {
    const id = await this.newSale({ mode: 'queue', total: 1, opensIn, queue_prequeue_s: 1800, queue_gather_s: 0, queue_seat_s: 120, ...more });
    await eventually(`sale ${id} has a page and a line`, async () => {
      const answers = await Promise.all([`/en/sales/${id}`, `/api/sales/${id}/line`].map((path) => fetch(this.origin + path)));
      return answers.every((answer) => answer.ok);
    });
    return id;
  }

  async openSale(options) {
    const id = await this.newSale(options);
    await this.act(id, 'start');
    await this.shows(id, 'open');
    return id;
  }

  act(sale, action, body) {
    return this.admin.ask('POST', `/api/admin/sales/${sale}/${action}`, body);
  }

  /** Waits until the sale has a page and this phase. */
  async shows(sale, phase) {
    await eventually(`sale ${sale} is ${phase}`, async () => {
      const page = await fetch(`${this.origin}/en/sales/${sale}`);
      return page.ok && (await this.button(sale)).phase === phase;
    });
  }

  async button(sale) {
    const response = await fetch(`${this.origin}/api/sales/${sale}/button`);
    return response.json();
  }
}
