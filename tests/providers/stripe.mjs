// A stand-in for Stripe with a state of its own. The official client signs its webhooks, and encodes every request of the
// shop once more: what the shop sent has to be the same. Its arguments are the secret key, the signing secret, and, for TLS,
// the folder with `server.pem` and `server.key`.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import Stripe from 'stripe';
import { billed, faults, keep, move, next, now, Refused, serve } from './stand_in.mjs';

const [KEY, SECRET, tls] = process.argv.slice(2);
const sessions = new Map();
const intents = new Map();
const refunds = [];
const disputes = new Map();
/** Answers by idempotency key, with the form that they belong to. Stripe keeps faults, too. */
const kept = new Map();
let refundStatus = 'succeeded';

const id = (prefix) => `${prefix}_${String(next()).padStart(6, '0')}`;
/** Transactions on a page of a bill: few, so that there are several pages, and in the torture as many as Stripe has. */
const PAGE = process.env.STAND_IN_STATE ? 100 : 2;

const refusal = (status, type, message, code) => new Refused(status, { error: { type, message, code } });
const refuse = (message, code) => {
  throw refusal(400, 'invalid_request_error', message, code);
};

/** `a[b][0]=c` as nested objects. */
function nested(form) {
  const root = {};
  for (const [name, value] of new URLSearchParams(form)) {
    const keys = [...name.matchAll(/[^[\]]+/g)].map(([key]) => key);
    let place = root;
    keys.forEach((key, at) => {
      place = at + 1 === keys.length ? (place[key] = value) : (place[key] ??= /^\d+$/.test(keys[at + 1]) ? [] : {});
    });
  }
  return root;
}

/** The request as the official client sends it. */
async function mirrored(call) {
  let seen;
  const mirror = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      seen = { path: request.url, body, version: request.headers['stripe-version'] };
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise((listening) => mirror.listen(0, '127.0.0.1', listening));
  const { port } = mirror.address();
  await call(new Stripe(KEY, { host: '127.0.0.1', port, protocol: 'http', telemetry: false }));
  mirror.close();
  mirror.closeAllConnections();
  return seen;
}

const sorted = (form) => form.split('&').filter(Boolean).map(decodeURIComponent).map((pair) => pair.replaceAll('+', ' ')).sort();

async function compare(path, form, version, call) {
  const seen = await mirrored(call);
  try {
    assert.deepEqual({ path, form: sorted(form), version }, { path: seen.path, form: sorted(seen.body), version: seen.version });
  } catch (error) {
    faults.push(error.message);
  }
}

function createSession(params) {
  if (params.mode !== 'payment') refuse('mode');
  const { quantity, price_data: price } = params.line_items[0];
  const amount = Number(price.unit_amount) * Number(quantity);
  if (!Number.isInteger(amount) || amount < 1) refuse('amount_too_small', 'amount_too_small');
  if (price.currency !== price.currency.toLowerCase() || !price.product_data.name) refuse('price_data');
  const ahead = Number(params.expires_at) - now();
  if (ahead < 30 * 60 || ahead > 24 * 3600) refuse('expires_at has to be 30 minutes to 24 hours ahead');
  for (const url of [params.success_url, params.cancel_url]) if (!/^https?:\/\/[^/]+\//.test(url)) refuse('Not a valid URL');
  const name = id('cs_test');
  const session = {
    id: name, object: 'checkout.session', url: `${process.env.STAND_IN_PAGES ?? 'https://checkout.stripe.com'}/c/pay/${name}`, status: 'open', payment_status: 'unpaid',
    amount_total: amount, currency: price.currency, payment_intent: null, client_reference_id: params.client_reference_id,
    metadata: params.metadata ?? {}, livemode: false, expires_at: Number(params.expires_at), success_url: params.success_url,
  };
  sessions.set(name, session);
  intents.set(name, params.payment_intent_data?.metadata ?? {});
  return session;
}

function refund(params) {
  const intent = intents.get(params.payment_intent) ?? refuse('No such payment_intent', 'resource_missing');
  const left = intent.amount - intent.refunded;
  if (left === 0) refuse('Charge has already been refunded.', 'charge_already_refunded');
  const amount = params.amount === undefined ? left : Number(params.amount);
  if (amount > left) refuse('Refund amount is greater than unrefunded amount on charge');
  const made = {
    id: id('re'), object: 'refund', amount, currency: intent.currency, payment_intent: intent.id, status: refundStatus,
    metadata: params.metadata ?? {}, failure_reason: refundStatus === 'failed' ? 'expired_or_canceled_card' : undefined,
  };
  if (refundStatus !== 'failed') intent.refunded += amount;
  move({ line: id('txn'), of: intent.session, refund: made.id, amount, fee: 0, source: made });
  refunds.unshift(made);
  return made;
}

async function answer({ method, url: path, text: form, headers }) {
  if (headers.authorization !== `Bearer ${KEY}`) throw refusal(401, 'invalid_request_error', `Invalid API Key provided: ${headers.authorization}`);
  const [place, query] = path.split('?');
  const [, , ...parts] = place.split('/');
  const version = headers['stripe-version'];
  const options = { idempotencyKey: headers['idempotency-key'] };
  if (version !== Stripe.API_VERSION) faults.push(`version ${version}, the client has ${Stripe.API_VERSION}`);
  const params = nested(form);
  const session = () => sessions.get(parts[2]) ?? refuse(`No such checkout.session: ${parts[2]}`, 'resource_missing');
  switch (`${method} ${parts.map((part, at) => (at === (parts[0] === 'checkout' ? 2 : 1) ? '*' : part)).join('/')}`) {
    case 'POST checkout/sessions':
      await compare(path, form, version, (client) => client.checkout.sessions.create(params, options));
      return once(headers, form, () => createSession(params));
    case 'GET checkout/sessions':
      await compare(path, form, version, (client) => client.checkout.sessions.list(Object.fromEntries(new URLSearchParams(query))));
      return { object: 'list', data: [...sessions.values()].slice(0, 1) };
    case 'GET checkout/sessions/*':
      await compare(path, form, version, (client) => client.checkout.sessions.retrieve(parts[2]));
      return session();
    case 'POST checkout/sessions/*/expire':
      await compare(path, form, version, (client) => client.checkout.sessions.expire(parts[2]));
      if (session().status !== 'open') refuse('Only Checkout Sessions with a status in ["open"] can be expired.');
      return Object.assign(session(), { status: 'expired' });
    case 'POST refunds':
      await compare(path, form, version, (client) => client.refunds.create(params, options));
      return once(headers, form, () => refund(params));
    case 'GET refunds':
      await compare(path, form, version, (client) => client.refunds.list(Object.fromEntries(new URLSearchParams(query))));
      return { object: 'list', data: refunds.filter((made) => !query.includes('payment_intent') || query.includes(`payment_intent=${made.payment_intent}&`)) };
    case 'GET balance_transactions': {
      const asked = nested(query);
      await compare(path, form, version, (client) => client.balanceTransactions.list(asked));
      if (!asked.created) return { object: 'list', data: [], has_more: false };
      const all = billed(Number(asked.created.gte), Number(asked.created.lt)).reverse();
      const rest = all.slice(all.findIndex(({ line }) => line === asked.starting_after) + 1);
      return { object: 'list', data: rest.slice(0, PAGE).map(transaction), has_more: rest.length > PAGE };
    }
    case 'GET disputes':
      await compare(path, form, version, (client) => client.disputes.list(Object.fromEntries(new URLSearchParams(query))));
      return { object: 'list', data: [...disputes.values()].slice(0, 1) };
    case 'GET disputes/*':
      await compare(path, form, version, (client) => client.disputes.retrieve(parts[1]));
      return disputes.get(parts[1]) ?? refuse('No such dispute', 'resource_missing');
    case 'GET payment_intents/*':
      await compare(path, form, version, (client) => client.paymentIntents.retrieve(parts[1]));
      return intents.get(parts[1]) ?? refuse('No such payment_intent', 'resource_missing');
    default:
      faults.push(`${method} ${path}`);
      return refuse('Unrecognized request URL');
  }
}

/** A line of a bill. Its amount may be in another currency than that of the charge. */
function transaction({ line, amount, refund, fee, at, source }) {
  if (source?.object === 'dispute') {
    return { id: line, object: 'balance_transaction', amount, fee, net: amount - fee, currency: source.currency, type: 'adjustment', created: at, source };
  }
  const of = source ?? { id: 'ch_another', object: 'charge', currency: 'cny', payment_intent: 'pi_another', metadata: {} };
  return {
    id: line, object: 'balance_transaction', amount: refund ? -amount : amount, fee, net: (refund ? -amount : amount) - fee, currency: of.currency,
    type: refund ? 'refund' : 'charge', created: at, source: { ...of, amount },
  };
}

/** Makes something once for each idempotency key. */
function once(headers, form, make) {
  const key = headers['idempotency-key'];
  if (!key) faults.push('a request that makes something has no idempotency key');
  const known = kept.get(key);
  if (known && known.form !== form) throw refusal(400, 'idempotency_error', 'Keys for idempotent requests can only be used with the same parameters');
  if (known?.fault) throw refusal(500, 'api_error', 'a fault');
  const made = known?.made ?? make();
  kept.set(key, { form, made });
  return made;
}

/** A webhook, signed by the official client. */
function signed(event, { secret = SECRET, at = now() } = {}) {
  const payload = JSON.stringify(event, null, 2);
  const { webhooks } = new Stripe(KEY);
  const header = webhooks.generateTestHeaderString({ payload, secret, timestamp: at });
  assert.equal(webhooks.constructEvent(payload, header, secret, Infinity).id, event.id);
  return { headers: { 'content-type': 'application/json', 'stripe-signature': header }, body: payload };
}
const event = (type, object) => ({
  id: id('evt'), object: 'event', api_version: Stripe.API_VERSION, created: now(), livemode: false, type, data: { object: structuredClone(object) },
});

const commands = {
  /** The payer pays. A slow method is settled later. */
  pay({ payment: name, amount, slow }) {
    const session = sessions.get(name);
    if (session?.status !== 'open') return { refused: session?.status ?? 'unknown' };
    const intent = { id: id('pi'), object: 'payment_intent', status: slow ? 'processing' : 'succeeded', amount: amount ?? session.amount_total, currency: session.currency, refunded: 0, metadata: intents.get(name), session: name };
    intents.set(intent.id, intent);
    Object.assign(session, { status: 'complete', payment_intent: intent.id, amount_total: intent.amount, payment_status: slow ? 'unpaid' : 'paid' });
    const charge = slow ? [] : [charged(intent)];
    return { events: [event('checkout.session.completed', session), ...charge] };
  },
  /** The outcome of a slow method. */
  settle({ payment: name, good }) {
    const session = sessions.get(name);
    const intent = intents.get(session.payment_intent);
    intent.status = good ? 'succeeded' : 'requires_payment_method';
    if (good) {
      session.payment_status = 'paid';
      charged(intent);
    }
    return { events: [event(`checkout.session.async_payment_${good ? 'succeeded' : 'failed'}`, session)] };
  },
  /** The payer's card is refused; the session stays open. */
  decline: ({ payment: name }) => ({ events: [event('payment_intent.payment_failed', { object: 'payment_intent', metadata: intents.get(name) })] }),
  /** The payer's bank takes the money back for now. */
  dispute({ payment: name }) {
    const { amount, currency, id: payment_intent } = intents.get(sessions.get(name).payment_intent);
    const made = {
      id: id('du'), object: 'dispute', amount, currency, payment_intent, reason: 'fraudulent', status: 'needs_response', livemode: false, metadata: {},
      evidence_details: { due_by: now() + 7 * 24 * 3600 },
    };
    disputes.set(made.id, made);
    move({ line: id('txn'), of: name, amount: -amount, fee: 1500, source: made });
    return { events: [event('charge.dispute.created', made)], dispute: made.id };
  },
  /** How a dispute goes on: `under_review`, `won` or `lost`. */
  judge({ dispute, status }) {
    const made = Object.assign(disputes.get(dispute), { status });
    if (status === 'won') move({ line: id('txn'), of: 'dispute', amount: made.amount, fee: -1500, source: made });
    return { events: [event(`charge.dispute.${status === 'under_review' ? 'updated' : 'closed'}`, made)] };
  },
  /** The merchant refunds at Stripe. */
  refund: ({ payment: name, amount }) => ({ events: [event('refund.created', refund({ payment_intent: sessions.get(name).payment_intent, amount }))] }),
  /** How refunds end from now on. */
  refunds({ status }) {
    refundStatus = status;
    return {};
  },
  /** Ends the newest refund, also one that has succeeded: its money comes back. */
  finish({ status }) {
    const [made] = refunds;
    if (status === 'failed') {
      Object.assign(made, { failure_reason: 'lost_or_stolen_card' });
      intents.get(made.payment_intent).refunded -= made.amount;
    }
    made.status = status;
    return { events: [event(status === 'failed' ? 'refund.failed' : 'refund.updated', made)] };
  },
  sign: ({ event, secret, at }) => signed(event, { secret, at }),
  state: () => ({ sessions: [...sessions.values()], refunds, requests: kept.size }),
};

function charged(intent) {
  const { amount, currency, metadata } = intent;
  const charge = { id: id('ch'), object: 'charge', amount, currency, payment_intent: intent.id, metadata };
  move({ line: id('txn'), of: intent.session, amount, fee: Math.round(amount * 0.029) + 30, source: charge });
  return event('charge.succeeded', {
    id: charge.id, object: 'charge', amount: intent.amount, amount_captured: intent.amount, currency: intent.currency, paid: true, captured: true,
    payment_intent: intent.id, metadata: intent.metadata, payment_method_details: { type: 'card', card: { last4: '4242', fingerprint: 'Xt5EWLLDS7FJjR1c' } },
  });
}

keep({ sessions, intents, kept, refunds, disputes });
await serve({
  answer,
  write: (body, status) => ({ headers: { 'content-type': 'application/json' }, text: JSON.stringify(body) }),
  name: ({ method, url }) => `${method} ${url}`,
  fault: ({ headers, text }) => kept.set(headers['idempotency-key'], { form: text, fault: true }),
  commands,
  tls,
});
