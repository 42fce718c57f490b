// What another shop does with events of Seckill: verifies the signature, and remembers each event by its id.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';

export class Receiver {
  secret = '';
  /** By id. */
  events = new Map();
  /** Answers that were 2xx. */
  received = 0;
  /** Requests that got no answer, and how many more will get none. */
  lost = 0;
  losesNext = 0;
  #server;

  static async start() {
    const receiver = new Receiver();
    receiver.#server = createServer((req, res) => receiver.#take(req, res));
    await new Promise((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve));
    receiver.address = `http://127.0.0.1:${receiver.#server.address().port}/seckill`;
    return receiver;
  }

  stop() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #take(req, res) {
    let body = '';
    for await (const part of req.setEncoding('utf8')) body += part;
    if (this.losesNext > 0) {
      [this.losesNext, this.lost] = [this.losesNext - 1, this.lost + 1];
      req.socket.destroy();
      return;
    }
    const id = req.headers['webhook-id'];
    if (!this.#isSigned(req.headers, body)) {
      res.writeHead(401).end();
      return;
    }
    const known = this.events.get(id);
    const event = { ...JSON.parse(body), body };
    if (known) assert.equal(known.body, body, 'an event is the same each time');
    this.events.set(id, event);
    this.received += 1;
    res.writeHead(204).end();
  }

  // Standard Webhooks: HMAC-SHA256 over id, time and body.
  #isSigned(headers, body) {
    const key = Buffer.from(this.secret.replace('whsec_', ''), 'base64');
    const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
    const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
    return headers['webhook-signature'].split(' ').includes(expected);
  }
}
