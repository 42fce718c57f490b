// What the tests need of a browser: one connection of its own to each server, cookies, and redirects.
import { Agent, request } from 'node:http';

const MAX_REDIRECTS = 10;
const TIMEOUT_MS = 60_000;

export class Browser {
  #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // By host and port.
  #cookies = new Map();
  /** Passes with which a shop let this browser in. */
  passes = [];

  /** Follows redirects, and gives `{status, url, body}` of the last answer. Rejects if a connection fails. */
  async open(url, { method = 'GET', headers = {}, body } = {}) {
    for (let i = 0; i < MAX_REDIRECTS; i += 1) {
      const answer = await this.#send(new URL(url), method, headers, body);
      if (![301, 302, 303].includes(answer.status)) return { ...answer, url };
      const [from, to] = [new URL(url), new URL(answer.location, url)];
      const pass = from.searchParams.get('seckill_pass');
      if (pass !== null && to.origin === from.origin) this.passes.push(pass);
      url = to.href;
      [method, body] = ['GET', undefined];
    }
    throw new Error(`too many redirects, the last one to ${url}`);
  }

  async graphql(url, query, variables = {}) {
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await this.open(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) });
    if (status !== 200) throw new Error(`status ${status}: ${body.slice(0, 200)}`);
    const { data, errors } = JSON.parse(body);
    if (errors) throw new Error(errors[0].message);
    return data;
  }

  cookie(url, name) {
    return this.#cookies.get(new URL(url).host)?.get(name);
  }

  close() {
    this.#agent.destroy();
  }

  #send(url, method, headers, body) {
    const jar = this.#cookies.get(url.host) ?? new Map();
    this.#cookies.set(url.host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    return new Promise((resolve, reject) => {
      const options = { method, agent: this.#agent, headers: { ...headers, ...(cookie && { cookie }) }, timeout: TIMEOUT_MS };
      const sent = request(url, options, (answer) => {
        for (const line of answer.headers['set-cookie'] ?? []) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
          jar.set(name, value);
        }
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => (text += part)).on('error', reject);
        answer.on('end', () => resolve({ status: answer.statusCode, location: answer.headers.location, body: text }));
      });
      sent.on('timeout', () => sent.destroy(new Error('timeout'))).on('error', reject);
      sent.end(body);
    });
  }
}
