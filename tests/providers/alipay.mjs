// A stand-in for Alipay with a state of its own. `alipay-sdk`, the official client for Node, signs every request of the shop
// once more: what the shop sent has to be the same. It also checks each answer and notice before the shop gets it.
import assert from 'node:assert/strict';
import { createSign } from 'node:crypto';
import { X509Certificate } from 'node:crypto';
import { crc32, deflateRawSync } from 'node:zlib';
import { AlipaySdk } from 'alipay-sdk';
import { address, billed, chinaDay, chinaTime, faults, keep, key, move, next, Refused, serve, sums } from './stand_in.mjs';

// The part of the client that signs is not among its exports.
const { sign: signedByClient } = await import(new URL('./node_modules/alipay-sdk/dist/esm/util.js', import.meta.url));
const [APP_ID, SELLER_ID] = process.argv.slice(2);
const PAGES = process.env.STAND_IN_PAGES;
const client = new AlipaySdk({
  appId: APP_ID, keyType: 'PKCS8', privateKey: key('merchant.key'), signType: 'RSA2',
  alipayPublicKey: new X509Certificate(key('platform_a.pem')).publicKey.export({ type: 'spki', format: 'pem' }),
});
const trades = new Map();
const refunds = [];
let lateRefunds = false;
let balance = true;

const id = (prefix) => `${prefix}${String(next()).padStart(12, '0')}`;
const refuse = (sub_code, sub_msg = sub_code, code = '40004') => {
  throw new Refused(200, { code, msg: 'Business Failed', sub_code, sub_msg });
};
const cents = (text) => /^\d+\.\d\d$/.test(text) ? Number(text.replace('.', '')) : refuse('ACQ.INVALID_PARAMETER', text);
const yuan = (amount) => `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, '0')}`;

/** The parameters of a request, if the client would send the same. */
function verified(url, text) {
  const told = Object.fromEntries([...new URL(url, 'http://shop').searchParams, ...new URLSearchParams(text)]);
  const { app_id, method, charset, version, sign_type, sign, biz_content, ...others } = told;
  const camel = Object.fromEntries(Object.entries(others).map(([name, value]) => [name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase()), value]));
  const again = signedByClient(method, { ...camel, bizContent: JSON.parse(biz_content) }, client.config);
  if (app_id !== APP_ID) refuse('isv.invalid-app-id', 'no such app', '40002');
  if (sign !== again.sign) refuse('isv.invalid-signature', 'the signature is wrong', '40002');
  try {
    assert.deepEqual({ ...told }, { ...again });
    assert.match(told.timestamp, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.match(told.notify_url, /\/api\/webhooks\/payments\/alipay$/);
  } catch (error) {
    faults.push(error.message);
  }
  return told;
}

/** A trade, which begins when the payer opens the page or scans the code. */
function open(content, product) {
  const { out_trade_no, total_amount, subject, body, time_expire, product_code } = content;
  if (!/^\w{1,64}$/.test(out_trade_no) || !subject || product_code !== product) refuse('ACQ.INVALID_PARAMETER', JSON.stringify(content));
  if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time_expire)) refuse('ACQ.INVALID_PARAMETER', 'time_expire');
  const trade = trades.get(out_trade_no) ?? { out_trade_no, trade_no: id('2026'), amount: cents(total_amount), body, subject, trade_status: 'WAIT_BUYER_PAY', refunded: 0 };
  trades.set(out_trade_no, trade);
  return trade;
}

const codes = new Map();

function answer({ url, text, headers, method: verb }) {
  const at = new URL(url, 'http://shop');
  if (at.pathname === '/downloadBillFile.resource') return { file: archive(at.searchParams.get('fileId')) };
  // A payer with a browser.
  if (verb === 'GET' && PAGES) throw new Refused(302, `${PAGES}/alipay${new URL(url, PAGES).search}`);
  if (verb !== 'POST' || !headers['content-type']?.startsWith('application/x-www-form-urlencoded')) faults.push(`${verb} ${headers['content-type']}`);
  const { method, biz_content } = verified(url, text);
  const content = JSON.parse(biz_content);
  const trade = () => trades.get(content.out_trade_no) ?? refuse('ACQ.TRADE_NOT_EXIST', 'no such trade');
  switch (method) {
    case 'alipay.trade.precreate':
      codes.set(content.out_trade_no, content);
      return { out_trade_no: content.out_trade_no, qr_code: `https://qr.alipay.com/${content.out_trade_no}` };
    case 'alipay.trade.query': {
      const { out_trade_no, trade_no, trade_status, amount } = trade();
      return { trade_no, out_trade_no, buyer_logon_id: 'p***@example.com', trade_status, total_amount: yuan(amount) };
    }
    case 'alipay.trade.close':
      if (trade().trade_status !== 'WAIT_BUYER_PAY') refuse('ACQ.TRADE_STATUS_ERROR', 'the trade is not open');
      trade().trade_status = 'TRADE_CLOSED';
      return { trade_no: trade().trade_no, out_trade_no: content.out_trade_no };
    case 'alipay.data.dataservice.bill.downloadurl.query':
      if (content.bill_type !== 'trade' || !/^\d{4}-\d\d-\d\d$/.test(content.bill_date)) refuse('isv.invalid_arguments');
      if (!billed(...chinaDay(content.bill_date)).length) refuse('isp.bill_not_exist');
      return { bill_download_url: `http://127.0.0.1:${address.port}/downloadBillFile.resource?bizType=trade&fileId=${content.bill_date}` };
    case 'alipay.trade.refund':
      return refund(trade(), content.out_request_no, cents(content.refund_amount));
    case 'alipay.trade.fastpay.refund.query': {
      trade();
      const found = refunds.find((made) => made.out_request_no === content.out_request_no);
      if (!found?.done) return {};
      return { trade_no: trade().trade_no, out_trade_no: content.out_trade_no, out_request_no: found.out_request_no, refund_amount: yuan(found.amount), total_amount: yuan(trade().amount), refund_status: 'REFUND_SUCCESS' };
    }
    default:
      faults.push(method);
      return refuse('isv.invalid-method', method, '40002');
  }
}

function refund(trade, out_request_no, amount) {
  const told = (fund_change) => ({ trade_no: trade.trade_no, out_trade_no: trade.out_trade_no, fund_change, refund_fee: yuan(trade.refunded) });
  if (refunds.some((made) => made.out_request_no === out_request_no)) return told('N');
  if (trade.trade_status === 'TRADE_FINISHED') refuse('ACQ.TRADE_HAS_FINISHED', 'the trade has finished');
  if (trade.trade_status !== 'TRADE_SUCCESS') refuse('ACQ.REASON_TRADE_STATUS_INVALID', 'the trade is not paid');
  if (!balance) refuse('ACQ.SELLER_BALANCE_NOT_ENOUGH', 'the balance is too low');
  if (trade.refunded + amount > trade.amount) refuse('ACQ.REFUND_AMT_NOT_EQUAL_TOTAL', 'more than is left');
  trade.refunded += amount;
  if (trade.refunded === trade.amount) trade.trade_status = 'TRADE_CLOSED';
  refunds.unshift({ out_trade_no: trade.out_trade_no, out_request_no, amount, done: !lateRefunds });
  move({ line: trade.trade_no, of: trade.out_trade_no, refund: out_request_no, amount });
  return told(lateRefunds ? 'N' : 'Y');
}

/** Texts in GBK, which Node decodes only. */
const gbk = (() => {
  const codes = new Map();
  const decoder = new TextDecoder('gbk');
  for (let high = 0x81; high < 0xff; high++) {
    for (let low = 0x40; low < 0xff; low++) {
      const bytes = Buffer.from([high, low]);
      const text = decoder.decode(bytes);
      if (text.length === 1 && text !== '\ufffd' && !codes.has(text)) codes.set(text, bytes);
    }
  }
  return (text) => Buffer.concat([...text].map((letter) => codes.get(letter) ?? Buffer.from(letter, 'latin1')));
})();

/** A ZIP archive of files, the first one stored and the others deflated. */
function zip(files) {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, text] of files) {
    const [title, plain] = [gbk(name), gbk(text)];
    const packed = parts.length ? deflateRawSync(plain) : plain;
    const head = Buffer.alloc(26);
    [20, 0, parts.length ? 8 : 0].forEach((value, at) => head.writeUInt16LE(value, 2 * at));
    [crc32(plain), packed.length, plain.length].forEach((value, at) => head.writeUInt32LE(value, 10 + 4 * at));
    head.writeUInt16LE(title.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const part = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), head, title, packed]);
    parts.push(part);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), head, place, title]));
    offset += part.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  [0, 0, files.length, files.length].forEach((value, at) => end.writeUInt16LE(value, 2 * at));
  [listed.length, offset].forEach((value, at) => end.writeUInt32LE(value, 8 + 4 * at));
  return Buffer.concat([...parts, listed, Buffer.from('PK\x05\x06', 'latin1'), end]);
}

const COLUMNS = '支付宝交易号,商户订单号,业务类型,商品名称,创建时间,完成时间,门店编号,门店名称,操作员,终端号,对方账户,订单金额（元）,商家实收（元）,支付宝红包（元）,集分宝（元）,支付宝优惠（元）,商家优惠（元）,券核销金额（元）,券名称,商家红包消费金额（元）,卡消费金额（元）,退款批次号/请求号,服务费（元）,分润（元）,备注';

/** The bill of a day. */
function archive(day) {
  const signed = (amount) => `${amount < 0 ? '-' : ''}${yuan(Math.abs(amount))}`;
  const row = ({ line, of, refund, amount, fee, at }) => {
    const money = signed(refund ? -amount : amount);
    const title = `${trades.get(of)?.subject ?? '手机'}, 128 GB`;
    return [
      `${line}\t`, `${of}\t`, refund ? '退款' : '交易', title, chinaTime(at), chinaTime(at), '', '', '', '', 'p***@example.com\t', money, money, '0.00', '0.00', '0.00',
      '0.00', '0.00', '', '0.00', '0.00', refund ? `${refund}\t` : '', signed(-fee), '0.00', '',
    ].join(',');
  };
  const rule = (text) => `#-----------------------------------------${text}----------------------------------------`;
  const lines = billed(...chinaDay(day));
  const { captured, refunded, fees, balance } = sums(lines);
  const detail = ['#支付宝业务明细查询', `#账号：[${SELLER_ID}0156]`, rule('业务明细列表'), COLUMNS, ...lines.map(row), rule('业务明细列表结束')];
  const back = lines.filter(({ refund }) => refund).length;
  const total = ['合计', '', lines.length - back, back, signed(captured - refunded), signed(-fees), signed(balance)].join(',');
  const summary = ['#支付宝业务汇总查询', '门店编号,门店名称,交易订单总笔数,退款订单总笔数,订单金额（元）,服务费（元）,实收净额（元）', total];
  return zip([[`${SELLER_ID}_业务明细(汇总).csv`, summary.join('\r\n')], [`${SELLER_ID}_业务明细.csv`, `${detail.join('\r\n')}\r\n`]]);
}

const signature = (text, by) => createSign('RSA-SHA256').update(text, 'utf8').sign(key(by), 'base64');

/** The object with the answer and the signature over its raw text, in which slashes are escaped, as Alipay does it. */
function write(body, status, { url, lie }) {
  if (body?.file) {
    // One byte of the packed table is another.
    if (lie === 'cut') body.file[Math.floor(body.file.length / 2)] ^= 1;
    return { headers: { 'content-type': 'application/zip' }, text: body.file };
  }
  if (status === 302) return { headers: { location: body }, text: '' };
  if (status !== 200) return { headers: {}, text: '' };
  const name = `${new URL(url, 'http://shop').searchParams.get('method')?.replaceAll('.', '_')}_response`;
  const text = JSON.stringify({ code: '10000', msg: 'Success', ...body }).replaceAll('/', '\\/').replaceAll('中', '\\u4e2d');
  const sign = signature(text, lie === 'forged' ? 'platform_b.key' : 'platform_a.key');
  const isSigned = lie !== 'unsigned' && body.code !== '40002';
  const whole = isSigned ? `{"${name}":${text},"sign":"${sign}"}` : `{"${name}":${text}}`;
  if (isSigned && !lie) client.checkResponseSign(whole, name, sign, '');
  return { headers: { 'content-type': 'text/html;charset=utf-8' }, text: whole };
}

function event(trade, others = {}) {
  const { out_trade_no, trade_no, trade_status, amount, body, subject } = trade;
  return {
    notify_time: '2026-11-29 12:00:00', notify_type: 'trade_status_sync', notify_id: id('notify'), app_id: APP_ID, charset: 'utf-8', version: '1.0',
    trade_no, out_trade_no, buyer_id: '2088102122524333', seller_id: SELLER_ID, trade_status, total_amount: yuan(amount), receipt_amount: yuan(amount),
    subject, body, gmt_create: '2026-11-29 11:59:00', gmt_payment: '2026-11-29 12:00:00', fund_bill_list: '[{"amount":"1%+2","fundChannel":"ALIPAYACCOUNT"}]',
    passback_params: '', ...others,
  };
}
const refunded = (trade, { out_request_no }) => event(trade, { refund_fee: yuan(trade.refunded), gmt_refund: '2026-11-29 12:10:00.000', out_biz_no: out_request_no });

keep({ trades, codes, refunds });
await serve({
  answer,
  write,
  name: ({ url }) => new URL(url, 'http://shop').searchParams.get('method'),
  commands: {
    /** The payer opens the address of a page. */
    open({ url }) {
      const { method, biz_content, return_url } = verified(url, '');
      const content = JSON.parse(biz_content);
      const product = { 'alipay.trade.page.pay': 'FAST_INSTANT_TRADE_PAY', 'alipay.trade.wap.pay': 'QUICK_WAP_WAY' }[method];
      const trade = open(content, product);
      return { ...trade, method, return_url, content };
    },
    /** The payer scans a code. */
    scan: ({ payment: number }) => open(codes.get(number), undefined),
    pay({ payment: number, amount }) {
      const trade = trades.get(number);
      if (trade?.trade_status !== 'WAIT_BUYER_PAY') return { refused: trade?.trade_status ?? 'unknown' };
      Object.assign(trade, { trade_status: 'TRADE_SUCCESS', amount: amount ?? trade.amount });
      move({ line: trade.trade_no, of: number, amount: trade.amount });
      return { events: [event(trade)] };
    },
    /** The time for refunds is over. */
    end({ payment: number }) {
      trades.get(number).trade_status = 'TRADE_FINISHED';
      return { events: [event(trades.get(number))] };
    },
    /** Staff refund on Alipay's page for merchants. */
    refund({ payment: number, amount }) {
      refund(trades.get(number), id('by-hand-'), amount);
      return { events: [refunded(trades.get(number), refunds[0])] };
    },
    /** The notice of the newest refund. */
    finish() {
      refunds[0].done = true;
      return { events: [refunded(trades.get(refunds[0].out_trade_no), refunds[0])] };
    },
    /** How refunds go from now on. */
    refunds({ late = false, enough = true }) {
      [lateRefunds, balance] = [late, enough];
      return {};
    },
    /** A notice as it is delivered. */
    sign({ event: form, by = 'platform_a.key' }) {
      const text = Object.keys(form).sort().map((name) => `${name}=${form[name]}`).join('&');
      const sent = { ...form, sign_type: 'RSA2', sign: signature(text, by) };
      assert.equal(client.checkNotifySignV2(sent), by === 'platform_a.key');
      return { headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }, body: new URLSearchParams(sent).toString() };
    },
    state: () => ({ trades: [...trades.values()], refunds, codes: [...codes.keys()].filter((number) => !trades.has(number)) }),
  },
});
