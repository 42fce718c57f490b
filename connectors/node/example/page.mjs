// A shop of one page, guarded by the line of a sale: node page.mjs
import { createServer } from 'node:http';
import { seckill } from 'seckill-connector';

const { PORT = 3000, LINE = 'http://127.0.0.1:8080', SALE = 1, SECRET, FAIL, REFRESH } = process.env;
const guard = seckill({
  sale: SALE,
  line: LINE,
  secret: SECRET,
  protect: ['/buy'],
  fail: FAIL,
  refresh: REFRESH && Number(REFRESH),
  // Behind https leave this out.
  secure: false,
});

createServer((req, res) => {
  guard(req, res, () => {
    res.setHeader('content-type', 'text/plain; charset=utf-8');
    if (!req.url.startsWith('/buy')) return res.end('The shop. Go to /buy\n');
    res.setHeader('cache-control', 'private, no-store');
    res.end(req.seckillPass ? `Hello ${req.seckillPass.sub}, buy now!\n` : 'Nobody guards this page now.\n');
  });
}).listen(PORT, '127.0.0.1', () => console.log(`http://127.0.0.1:${PORT}/buy`));
