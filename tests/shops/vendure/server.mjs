// A Vendure shop with one product of 50 units, on SQLite: node server.mjs FOLDER make, then node server.mjs FOLDER. Settings
// are PORT, LINE, SALE, TOKEN, SECRET and FAIL; GUARD is off for a sale without a line, SHADOW on for one in shadow mode.
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { bootstrap, DefaultLogger, GlobalSettingsService, LogLevel, RequestContext } from '@vendure/core';
import { populate } from '@vendure/core/cli/index.js';
import { seckill } from 'seckill-connector';
import { sellThroughSeckill } from './reservations.mjs';

const folder = resolve(process.argv[2]);
const isNew = process.argv[3] === 'make';
const { PORT, LINE: line, SALE: sale, TOKEN: token, SECRET: secret, FAIL: fail, GUARD, SHADOW } = process.env;
const SKU = 'SHOE';
const PRODUCTS = fileURLToPath(new URL('products.csv', import.meta.url));

const initialData = {
  defaultLanguage: 'en',
  defaultZone: 'Everywhere',
  countries: [{ code: 'CN', name: 'China', zone: 'Everywhere' }],
  taxRates: [{ name: 'Standard', percentage: 0 }],
  shippingMethods: [{ name: 'Parcel', price: 0 }],
  paymentMethods: [{ name: 'reserved', handler: { code: 'reserved', arguments: [] } }],
  collections: [],
};

// On SQLite all requests share one connection, and TypeORM takes a transaction that begins within another request's for a part
// of it: nothing would be committed while requests overlap, and one that fails would take others along.
let last = Promise.resolve();
function oneAtATime(req, res, next) {
  last = last.then(() => new Promise((resolve) => {
    if (res.closed) return resolve();
    res.on('close', resolve);
    return next();
  }));
}

// Passes that were used, in a file, so that a shop that is killed remembers them.
function usedPasses() {
  const file = new Database(join(folder, 'passes.sqlite'));
  file.exec('CREATE TABLE IF NOT EXISTS passes (jti TEXT PRIMARY KEY, until INTEGER)');
  const add = file.prepare('INSERT OR IGNORE INTO passes VALUES (?, ?)');
  return { add: (jti, until) => add.run(jti, until).changes === 1 };
}

function config() {
  const guard = seckill({ sale, line, secret, fail, secure: false, refresh: 1, store: usedPasses() });
  return {
    apiOptions: {
      port: Number(PORT),
      hostname: '127.0.0.1',
      adminApiPath: 'admin-api',
      shopApiPath: 'shop-api',
      cors: false,
      middleware: [
        ...(GUARD === 'off' ? [] : [{ route: 'shop-api', handler: guard }]),
        { route: 'shop-api', handler: oneAtATime },
        { route: 'admin-api', handler: oneAtATime },
      ],
    },
    authOptions: {
      tokenMethod: ['cookie', 'bearer'],
      superadminCredentials: { identifier: 'admin', password: 'admin' },
      cookieOptions: { secret },
      requireVerification: false,
    },
    dbConnectionOptions: { type: 'better-sqlite3', synchronize: isNew, database: join(folder, 'shop.sqlite'), enableWAL: true },
    importExportOptions: { importAssetsDir: folder },
    logger: new DefaultLogger({ level: LogLevel.Warn, timestamp: false }),
    plugins: [sellThroughSeckill({ line, sale, token, sku: SKU, shadow: SHADOW === 'on' })],
  };
}

if (isNew) {
  mkdirSync(folder, { recursive: true });
  const app = await populate(() => bootstrap(config()), initialData, PRODUCTS);
  // Vendure sells beyond its stock, so only reservations keep it from doing so.
  await app.get(GlobalSettingsService).updateSettings(RequestContext.empty(), { outOfStockThreshold: -1000 });
  await app.close();
} else {
  await bootstrap(config());
}
