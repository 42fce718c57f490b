// The stand-ins of all providers, for a person who clicks through the cashier (`scripts/stack up --providers`) and for a browser.
//
// It prints the settings of a shop that is paid there, and serves the providers' pages and one with all payments that wait to be
// made. There the payer pays, the provider tells the shop, and leads back to it. Its arguments are the addresses of the shop and
// of these pages, and the folder where the stand-ins keep what they know; without it they forget it when they end.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

const [SHOP, PAGES, FOLDER] = process.argv.slice(2);
const V3_KEY = '0123456789abcdef0123456789abcdef';
const keys = new URL('./keys/', import.meta.url).pathname;

async function start(script, ...rest) {
  const state = FOLDER && { STAND_IN_STATE: `${FOLDER}/${script.slice(2, -4)}.state` };
  const env = { ...process.env, STAND_IN_PAGES: PAGES, ...state };
  const child = spawn('node', [new URL(script, import.meta.url).pathname, ...rest], { stdio: ['pipe', 'pipe', 'inherit'], env });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  let last = Promise.resolve();
  const ask = (command) => (last = last.then(async () => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    return JSON.parse((await lines.next()).value);
  }));
  return { api: `http://127.0.0.1:${port}`, ask };
}

const stripe = await start('./stripe.mjs', 'sk_test_0123456789', 'whsec_0123456789');
const wechatpay = await start('./wechatpay.mjs', '1900000001', 'wx0123456789abcdef', '1DDE55AD98ED71D6', V3_KEY);
const alipay = await start('./alipay.mjs', '2021000000000001', '2088000000000001');
const providers = { stripe, wechatpay, alipay };

/** The payments that wait, as `{ provider, payment, amount }`. */
async function open() {
  const [cards, orders, trades] = await Promise.all([stripe, wechatpay, alipay].map(({ ask }) => ask({ do: 'state' })));
  return [
    ...cards.sessions.filter(({ status }) => status === 'open').map(({ id, amount_total }) => ({ provider: 'stripe', payment: id, amount: amount_total })),
    ...orders.orders.filter(({ trade_state }) => trade_state === 'NOTPAY').map(({ asked }) => ({ provider: 'wechatpay', payment: asked.out_trade_no, amount: asked.amount.total })),
    ...trades.trades.filter(({ trade_status }) => trade_status === 'WAIT_BUYER_PAY').map(({ out_trade_no, amount }) => ({ provider: 'alipay', payment: out_trade_no, amount })),
    ...trades.codes.map((payment) => ({ provider: 'alipay', payment, amount: NaN, scan: true })),
  ];
}

/** What a code stands for. */
const codeOf = ({ provider, payment }) => (provider === 'wechatpay' ? `weixin://wxpay/bizpayurl?pr=${payment}` : `https://qr.alipay.com/${payment}`);

/** The payment of a provider's page, and where it leads from there; `undefined` for a payer whom the provider turns away. */
async function opened({ pathname, search, searchParams }, referrer = '') {
  if (pathname === '/alipay') {
    // The payer opens the address with all that the shop signed.
    const { out_trade_no, return_url } = await alipay.ask({ do: 'open', url: `${alipay.api}/gateway.do${search}` });
    return [out_trade_no, return_url];
  }
  // WeChat Pay compares the page that a payer comes from with the domain that the merchant has registered.
  if (searchParams.has('prepay_id') && !referrer.startsWith(`${SHOP}/`)) return undefined;
  if (searchParams.has('prepay_id')) return [searchParams.get('prepay_id'), searchParams.get('redirect_url')];
  const { sessions } = await stripe.ask({ do: 'state' });
  const session = sessions.find(({ id }) => pathname === `/c/pay/${id}`);
  return [session?.id, session?.success_url];
}

/** The payer pays; with a slow method, the bank refuses afterwards. */
async function pay({ provider, payment, scan, refused }) {
  const { ask } = providers[provider];
  if (scan) await ask({ do: 'scan', payment });
  const { events = [] } = await ask({ do: 'pay', payment, slow: Boolean(refused) });
  if (refused) events.push(...(await ask({ do: 'settle', payment, good: false })).events);
  for (const event of events) {
    const { headers, body } = await ask({ do: 'sign', event, at: Math.floor(Date.now() / 1000) });
    const answer = await fetch(`${SHOP}/api/webhooks/payments/${provider}`, { method: 'POST', headers, body });
    console.error(`${provider}: the shop answered ${answer.status} to ${event.type ?? event.event_type ?? event.trade_status}`);
  }
}

const page = (content) => `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Stand-ins</title>
<body style="font: 1.1rem sans-serif; max-width: 40rem; margin: 2rem auto"><h1>Payments that wait</h1>${content}<p><a href="/">Look again</a> · <a href="${SHOP}/en/orders">Back to the shop</a>`;

const server = createServer(async (request, response) => {
  const url = new URL(request.url, PAGES);
  if (request.method === 'POST') {
    const { code, back, ...asked } = { ...Object.fromEntries(url.searchParams), ...Object.fromEntries(new URLSearchParams(await text(request))) };
    const payment = code ? (await open()).find((one) => codeOf(one) === code) : asked;
    if (!payment) return response.writeHead(404).end();
    await pay(payment);
    return response.writeHead(303, { location: back || '/' }).end();
  }
  const found = await opened(url, request.headers.referer);
  if (!found) return response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' }).end('商家参数格式有误，请联系商家解决');
  const [only, back = ''] = found;
  const shown = (await open()).filter(({ payment }) => !only || payment === only);
  const yuan = (amount) => (amount / 100).toFixed(2);
  const balances = await Promise.all(Object.entries(providers).map(async ([name, { ask }]) => {
    const { captured, refunded, fees, balance } = (await ask({ do: 'state' })).sums;
    return `<li>${name}: ${yuan(balance)} = captured ${yuan(captured)} − refunded ${yuan(refunded)} − fees ${yuan(fees)}`;
  }));
  const rows = shown.map(({ provider, payment, amount, scan = '' }) => `<form method="post" action="/?${new URLSearchParams({ provider, payment, scan, back })}">
<p>${provider} ${Number.isNaN(amount) ? 'QR code' : yuan(amount)} <button>Pay</button>${provider === 'stripe' ? ' <button name="refused" value="yes">Pay by a bank that refuses</button>' : ''} <small>${payment}</small></form>`);
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(`${rows.join('') || '<p>None.'}<h2>What the shop has</h2><ul>${balances.join('')}</ul>`));
});
server.listen(new URL(PAGES).port, '127.0.0.1', () => {
  console.log(`export SECKILL_PUBLIC_URL=${SHOP}
export SECKILL_PAYMENTS=wechatpay,alipay,stripe
export SECKILL_STRIPE_SECRET_KEY=sk_test_0123456789
export SECKILL_STRIPE_WEBHOOK_SECRET=whsec_0123456789
export SECKILL_STRIPE_API=${stripe.api}
export SECKILL_WECHATPAY_MCHID=1900000001
export SECKILL_WECHATPAY_APPID=wx0123456789abcdef
export SECKILL_WECHATPAY_SERIAL=1DDE55AD98ED71D6
export SECKILL_WECHATPAY_KEY_FILE=${keys}merchant.key
export SECKILL_WECHATPAY_V3_KEY=${V3_KEY}
export SECKILL_WECHATPAY_API=${wechatpay.api}
export SECKILL_ALIPAY_APP_ID=2021000000000001
export SECKILL_ALIPAY_SELLER_ID=2088000000000001
export SECKILL_ALIPAY_API=${alipay.api}
export SECKILL_ALIPAY_KEY_FILE=${keys}merchant.key
export SECKILL_ALIPAY_PUBLIC_KEY_FILE=${keys}platform_a.pem
# ready`);
});
