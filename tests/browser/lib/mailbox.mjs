// A mail server that stores the shop's messages, for journeys that follow the links in them.

import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

import { eventually } from './check.mjs';

const messages = [];
let server;

/** Begins to take messages. All runs of a journey share the server. */
export function openMailbox(port) {
  server ??= createServer((socket) => take(socket).catch(() => socket.destroy())).listen(port, '127.0.0.1').unref();
}

async function take(socket) {
  socket.write('220 journey\r\n');
  let message = null;
  for await (const line of createInterface({ input: socket })) {
    if (message && line !== '.') {
      message.push(line.replace(/^\./, ''));
      continue;
    }
    if (message) messages.push(message.join('\n'));
    const begins = line.toUpperCase() === 'DATA';
    message = begins ? [] : null;
    socket.write(begins ? '354 go on\r\n' : '250 ok\r\n');
  }
}

/** The decoded text of a message. */
function text(message) {
  const [head, ...rest] = message.split('\n\n');
  const body = rest.join('\n\n');
  if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8');
  return body.replaceAll('=\n', '').replaceAll('=3D', '=');
}

/** The link in the latest message to an address. */
export function linkSentTo(address) {
  return eventually(`a message to ${address} with a link`, () => {
    const found = messages.findLast((message) => message.includes(`To: ${address}`));
    return found && text(found).match(/http:\S+?token=[\w.-]+/)?.[0];
  }, 30_000);
}
