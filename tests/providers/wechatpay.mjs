// A stand-in for WeChat Pay (API v3) with a state of its own. `wechatpay-axios-plugin`, a client for Node, signs every
// request of the shop once more: what the shop sent has to be the same. It encrypts and signs the notices and answers, too.
import assert from 'node:assert/strict';
import { createHash, createPublicKey } from 'node:crypto';
import WechatPay from 'wechatpay-axios-plugin';
import { address, billed, chinaDay, chinaTime, faults, keep, key, move, next, Refused, serve, sums } from './stand_in.mjs';

const { Aes, Formatter, Rsa } = WechatPay;
const [MCHID, APPID, SERIAL, V3_KEY, PUBLIC_KEY_ID] = process.argv.slice(2);
const MERCHANT = createPublicKey(key('merchant.key'));
const PLATFORM = {
  a: { serial: '5157F09EFDC096DE15EBE81A47057A7232F1B8E1', key: key('platform_a.key'), certificate: key('platform_a.pem') },
  b: { serial: '7132D72A03E93CDDF8C03BBD1F37EEDF8FA27C3F', key: key('platform_b.key'), certificate: key('platform_b.pem') },
};
// An account with a public key of the platform has no certificates.
if (PUBLIC_KEY_ID) PLATFORM.a.serial = PUBLIC_KEY_ID;
let certificates = PUBLIC_KEY_ID ? [] : ['a'];
let signer = 'a';
const orders = new Map();
const refunds = [];
const fetched = { certificates: 0 };
let refundStatus = 'SUCCESS';
let hasH5 = true;

const id = (prefix) => `${prefix}${String(next()).padStart(10, '0')}`;
const refuse = (status, code, message = code) => {
  throw new Refused(status, { code, message });
};
const check = (holds, what) => holds || refuse(400, 'PARAM_ERROR', what);

/** The header `Authorization` as the client writes it. */
function verify({ method, url, headers, text }) {
  const [scheme, fields] = (headers.authorization ?? '').split(/ (.*)/s);
  const told = Object.fromEntries([...(fields ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));
  const message = Formatter.request(method, url, told.timestamp, told.nonce_str, text);
  if (told.mchid !== MCHID || told.serial_no !== SERIAL || !Rsa.verify(message, told.signature ?? '', MERCHANT)) {
    refuse(401, 'SIGN_ERROR', 'the signature is wrong');
  }
  const client = Formatter.authorization(MCHID, told.nonce_str, Rsa.sign(message, key('merchant.key')), told.timestamp, SERIAL);
  const sorted = (header) => header.split(/[ ,](?=\w+=)/).sort();
  try {
    assert.equal(scheme, 'WECHATPAY2-SHA256-RSA2048');
    assert.deepEqual(sorted(headers.authorization), sorted(client));
    assert.match(headers['user-agent'] ?? '', /\w/);
    assert.equal(headers.accept, 'application/json');
    assert.equal(headers['content-type'], text ? 'application/json' : undefined);
    assert.equal(headers['wechatpay-serial'], PUBLIC_KEY_ID || undefined);
  } catch (error) {
    faults.push(`${method} ${url}: ${error.message}`);
  }
  return Number(told.timestamp);
}

function begin(way, order, now) {
  if (way === 'h5' && !hasH5) refuse(403, 'NO_AUTH');
  check(order.appid === APPID && order.mchid === MCHID, 'appid or mchid');
  check(/^[0-9A-Za-z_\-|*]{6,32}$/.test(order.out_trade_no), 'out_trade_no');
  check(order.description && Buffer.byteLength(order.description) <= 127, 'description');
  check(Number.isInteger(order.amount?.total) && order.amount.total >= 1 && order.amount.currency === 'CNY', 'amount');
  check(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00$/.test(order.time_expire), 'time_expire');
  check(Date.parse(order.time_expire) / 1000 - now > 60, 'time_expire is less than a minute ahead');
  check(order.attach.length <= 128 && /^https?:\/\/[^?]+$/.test(order.notify_url), 'attach or notify_url');
  if (way === 'h5') check(order.scene_info?.payer_client_ip && order.scene_info.h5_info?.type, 'scene_info');
  const known = orders.get(order.out_trade_no);
  if (known?.trade_state === 'SUCCESS') refuse(400, 'ORDERPAID');
  if (known && JSON.stringify(known.asked) !== JSON.stringify(order)) refuse(403, 'OUT_TRADE_NO_USED');
  if (!known) orders.set(order.out_trade_no, { asked: order, way, trade_state: 'NOTPAY', refunded: 0 });
  return way === 'h5'
    ? { h5_url: `${process.env.STAND_IN_PAGES ?? 'https://wx.tenpay.com'}/cgi-bin/mmpayweb-bin/checkmweb?prepay_id=${order.out_trade_no}&package=1` }
    : { code_url: `weixin://wxpay/bizpayurl?pr=${order.out_trade_no}` };
}

const COLUMNS = '交易时间,公众账号ID,商户号,特约商户号,设备号,微信订单号,商户订单号,用户标识,交易类型,交易状态,付款银行,货币种类,应结订单金额,代金券金额,微信退款单号,商户退款单号,退款金额,充值券退款金额,退款类型,退款状态,商品名称,商户数据包,手续费,费率,订单金额,申请退款金额,费率备注';
const yuan = (amount) => `${amount < 0 ? '-' : ''}${Math.floor(Math.abs(amount) / 100)}.${String(Math.abs(amount) % 100).padStart(2, '0')}`;

/** The bill of a day. */
function table(day) {
  const lines = billed(...chinaDay(day));
  const row = ({ line, of, refund, amount, fee, at }) => {
    const { description = 'Phone', attach = '' } = orders.get(of)?.asked ?? {};
    const [paid, back] = refund ? [0, amount] : [amount, 0];
    return [
      chinaTime(at), APPID, MCHID, '0', '', refund ? '42' : line, of, 'oUpF8', 'NATIVE', refund ? 'REFUND' : 'SUCCESS', 'OTHERS', 'CNY', yuan(paid), '0.00',
      refund ? line : '0', refund ?? '0', yuan(back), '0.00', refund ? 'ORIGINAL' : '', refund ? 'SUCCESS' : '', description, attach, `${yuan(fee)}000`, '0.60%',
      yuan(paid), yuan(back), '',
    ].map((field) => `\`${field}`).join(',');
  };
  const total = '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额';
  const { captured, refunded, fees } = sums(lines);
  const totals = [lines.length, yuan(captured), yuan(refunded), '0.00', `${yuan(fees)}000`, yuan(captured), yuan(refunded)].map((field) => `\`${field}`).join(',');
  return lines.length && `\ufeff${[COLUMNS, ...lines.map(row), total, totals].join('\r\n')}\r\n`;
}

/** An order as answers and notices tell it. */
function told(order) {
  const { asked, trade_state, paid } = order;
  const { appid, mchid, out_trade_no, attach } = asked;
  const base = { appid, mchid, out_trade_no, attach, trade_state, trade_state_desc: trade_state, amount: { total: paid ?? asked.amount.total, currency: 'CNY' } };
  if (!order.transaction_id) return base;
  const { transaction_id } = order;
  return { ...base, transaction_id, trade_type: order.way === 'h5' ? 'MWEB' : 'NATIVE', bank_type: 'OTHERS', success_time: '2026-11-29T12:00:00+08:00', payer: { openid: 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o' } };
}

function refund({ out_trade_no, out_refund_no, amount, notify_url }) {
  const order = orders.get(out_trade_no) ?? refuse(404, 'RESOURCE_NOT_EXISTS');
  const known = refunds.find((made) => made.out_refund_no === out_refund_no);
  if (known) return known.amount.refund === amount.refund ? known : refuse(400, 'INVALID_REQUEST', 'another amount');
  if (!['SUCCESS', 'REFUND'].includes(order.trade_state)) refuse(400, 'INVALID_REQUEST', 'the order is not paid');
  check(/^[0-9A-Za-z_\-|*@]{1,64}$/.test(out_refund_no) && /^https?:/.test(notify_url), 'out_refund_no');
  check(amount.total === (order.paid ?? order.asked.amount.total) && amount.currency === 'CNY', 'amount.total');
  if (refundStatus === 'NOT_ENOUGH') refuse(403, 'NOT_ENOUGH', 'the balance is too low');
  if (order.refunded + amount.refund > amount.total) refuse(400, 'INVALID_REQUEST', 'more than is left');
  const made = { refund_id: id('50'), out_refund_no, transaction_id: order.transaction_id, out_trade_no, channel: 'ORIGINAL', user_received_account: 'a card', create_time: '2026-11-29T12:00:00+08:00', status: refundStatus, amount: { ...amount, payer_total: amount.total, payer_refund: amount.refund } };
  move({ line: made.refund_id, of: out_trade_no, refund: out_refund_no, amount: amount.refund });
  order.refunded += amount.refund;
  order.trade_state = 'REFUND';
  refunds.unshift(made);
  return made;
}

function answer(request) {
  const now = verify(request);
  const { pathname, searchParams } = new URL(request.url, 'http://shop');
  const body = request.text && JSON.parse(request.text);
  const [, number, close] = pathname.match(/^\/v3\/pay\/transactions\/out-trade-no\/(\w+)(\/close)?$/) ?? [];
  const order = () => orders.get(number) ?? refuse(404, 'ORDER_NOT_EXIST');
  const ofMerchant = (mchid) => check(mchid === MCHID, 'mchid');
  switch (`${request.method} ${number ? '*' : pathname}${close ?? ''}`) {
    case 'POST /v3/pay/transactions/native':
      return begin('native', body, now);
    case 'POST /v3/pay/transactions/h5':
      return begin('h5', body, now);
    case 'GET *':
      ofMerchant(searchParams.get('mchid'));
      return told(order());
    case 'POST */close':
      ofMerchant(body.mchid);
      if (order().trade_state === 'CLOSED') refuse(400, 'ORDER_CLOSED');
      if (order().trade_state !== 'NOTPAY') refuse(400, 'ORDERPAID');
      order().trade_state = 'CLOSED';
      return undefined;
    case 'GET /v3/bill/tradebill': {
      check(searchParams.get('bill_type') === 'ALL', 'bill_type');
      const text = table(searchParams.get('bill_date')) || refuse(400, 'NO_STATEMENT_EXIST');
      const download_url = `http://127.0.0.1:${address.port}/v3/billdownload/file?token=${searchParams.get('bill_date')}`;
      return { hash_type: 'SHA1', hash_value: createHash('sha1').update(text).digest('hex'), download_url };
    }
    case 'GET /v3/billdownload/file':
      return { file: table(searchParams.get('token')) };
    case 'POST /v3/refund/domestic/refunds':
      return refund(body);
    case 'GET /v3/certificates': {
      fetched.certificates += 1;
      if (certificates.length === 0) refuse(404, 'RESOURCE_NOT_EXISTS', 'no certificate');
      const nonce = Formatter.nonce(12);
      const encrypted = (text) => ({ algorithm: 'AEAD_AES_256_GCM', nonce, associated_data: 'certificate', ciphertext: Aes.AesGcm.encrypt(text, V3_KEY, nonce, 'certificate') });
      return { data: certificates.map((name) => ({ serial_no: PLATFORM[name].serial, effective_time: '2026-01-01T00:00:00+08:00', expire_time: '2031-01-01T00:00:00+08:00', encrypt_certificate: encrypted(PLATFORM[name].certificate) })) };
    }
    default:
      faults.push(`${request.method} ${request.url}`);
      return refuse(404, 'NOT_FOUND');
  }
}

/** The headers with which the platform signs a text. `by`: another than the present key, or `merchant`, a wrong one. */
function headers(text, at, by = signer) {
  const nonce = Formatter.nonce();
  const private_key = by === 'merchant' ? key('merchant.key') : PLATFORM[by].key;
  return {
    'wechatpay-timestamp': String(at),
    'wechatpay-nonce': nonce,
    'wechatpay-serial': PLATFORM[by === 'merchant' ? signer : by].serial,
    'wechatpay-signature': Rsa.sign(Formatter.response(String(at), nonce, text), private_key),
    'wechatpay-signature-type': 'WECHATPAY2-SHA256-RSA2048',
  };
}

function write(body, status, { headers: asked, lie }) {
  // Files of bills are not signed.
  if (body?.file) return { headers: { 'content-type': 'text/plain' }, text: lie === 'cut' ? body.file.slice(0, -1) : body.file };
  const text = body === undefined ? '' : JSON.stringify(body);
  const at = Number(/timestamp="(\d+)"/.exec(asked.authorization ?? '')?.[1] ?? 0);
  const signed = lie === 'unsigned' || status === 401 ? {} : headers(text, lie === 'stale' ? at - 301 : at, lie === 'forged' ? 'merchant' : signer);
  return { headers: { 'content-type': 'application/json', ...signed }, text };
}

const event = (event_type, plain) => ({ id: id('EV-'), event_type, plain: structuredClone(plain) });

keep({ orders, refunds });
await serve({
  answer,
  write,
  name: ({ method, url }) => `${method} ${url.split('?')[0]}`,
  commands: {
    /** The payer scans the code and pays. */
    pay({ payment: number, amount }) {
      const order = orders.get(number);
      if (order?.trade_state !== 'NOTPAY') return { refused: order?.trade_state ?? 'unknown' };
      Object.assign(order, { trade_state: 'SUCCESS', paid: amount, transaction_id: id('42') });
      move({ line: order.transaction_id, of: number, amount: amount ?? order.asked.amount.total });
      return { events: [event('TRANSACTION.SUCCESS', told(order))] };
    },
    /** How refunds end from now on. */
    refunds({ status }) {
      refundStatus = status;
      return {};
    },
    /** Ends the newest refund. */
    finish({ status }) {
      const [made] = refunds;
      made.status = status;
      const { refund_id, out_refund_no, transaction_id, out_trade_no, user_received_account, amount } = made;
      const { currency, ...parts } = amount;
      const plain = { mchid: MCHID, refund_id, out_refund_no, transaction_id, out_trade_no, user_received_account, refund_status: status, amount: parts };
      return { events: [event(`REFUND.${status}`, plain)] };
    },
    /** Staff refund on the merchant platform. */
    refund({ payment: number, amount }) {
      const { paid, asked } = orders.get(number);
      refund({ out_trade_no: number, out_refund_no: id('by-hand-'), notify_url: 'https://shop.example', amount: { refund: amount, total: paid ?? asked.amount.total, currency: 'CNY' } });
      return this.finish({ status: 'SUCCESS' });
    },
    /** The platform signs with its second certificate. */
    rotate({ listed = ['a', 'b'] }) {
      [signer, certificates] = ['b', listed];
      return {};
    },
    /** The merchant has no right to payments on phones. */
    without_h5() {
      hasH5 = false;
      return {};
    },
    /** A notice as it is delivered. */
    sign({ event: { id: number, event_type, plain }, at, by, v3_key = V3_KEY }) {
      const nonce = Formatter.nonce(12);
      const original_type = event_type.startsWith('REFUND') ? 'refund' : 'transaction';
      const ciphertext = Aes.AesGcm.encrypt(JSON.stringify(plain), v3_key, nonce, original_type);
      const resource = { original_type, algorithm: 'AEAD_AES_256_GCM', ciphertext, associated_data: original_type, nonce };
      const body = JSON.stringify({ id: number, create_time: '2026-11-29T12:00:00+08:00', resource_type: 'encrypt-resource', event_type, summary: event_type, resource });
      return { headers: { 'content-type': 'application/json', ...headers(body, at, by) }, body };
    },
    state: () => ({ orders: [...orders.values()], refunds: refunds.map((made) => ({ ...made, amount: made.amount.refund })), fetched: fetched.certificates }),
  },
});
