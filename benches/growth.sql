-- Fills an empty, migrated database with a shop of ten million orders (docs/benchmarks.md, "Ten million orders"):
--     psql -d "$URL" -v orders=10000000 -f benches/growth.sql
-- A tenth as many shoppers, sales of 10,000 orders and one with a tenth of all; of ten orders six are paid, three
-- cancelled, one refunded.

\set ON_ERROR_STOP on
\set shoppers :orders / 10
SET statement_timeout = 0;
SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';
-- Without foreign keys: what is written here fits.
SET session_replication_role = replica;

-- Indexes are made once the rows are there.
CREATE TEMP TABLE kept_indexes AS SELECT indexdef FROM pg_indexes
    WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey' AND indexname NOT LIKE '%\_key'
      AND tablename IN ('orders', 'payments', 'sandbox_payments', 'wallet_entries', 'packets');
DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT indexname FROM pg_indexes
        WHERE schemaname = 'public' AND indexname NOT LIKE '%\_pkey' AND indexname NOT LIKE '%\_key'
          AND tablename IN ('orders', 'payments', 'sandbox_payments', 'wallet_entries', 'packets')
    LOOP EXECUTE 'DROP INDEX ' || name; END LOOP;
END $$;

-- Ids of version 7, a hundred in each second of 2025.
CREATE FUNCTION pg_temp.id(i bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT substr(t, 1, 8) || '-' || substr(t, 9) || '-7000-8000-' || lpad(to_hex(i), 12, '0')
    FROM (SELECT lpad(to_hex(1735689600000 + i * 10), 12, '0') AS t) times $$;

INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, updated_at_ms) VALUES (1, '手机', 'Phone', '', '', 1);
INSERT INTO users (id, username, username_key, password_hash, role, created_at_ms)
    SELECT pg_temp.id(i), 'user' || i, 'user' || i, '', 'user', 1735689600000 + i FROM generate_series(1, :shoppers) i;
-- Sale 1 has every tenth order; the others ten thousand each.
INSERT INTO orders (id, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms, created_at_ms, pay_by_ms)
    SELECT pg_temp.id(i), CASE WHEN i % 10 = 0 THEN 1 ELSE 2 + i / 10000 END,
        pg_temp.id(CASE WHEN i % 10 = 0 THEN i / 10 ELSE 1 + i % (:shoppers) END), 1, 19900, 'CNY',
        CASE WHEN i / 10 % 10 < 6 THEN 'paid' WHEN i / 10 % 10 < 9 THEN 'cancelled' ELSE 'refunded' END,
        1735689600000 + i * 10, 1735689600000 + i * 10, 1735691400000 + i * 10
    FROM generate_series(1, :orders) i;
INSERT INTO sales (id, goods_id, price, currency, total, sold, granted, per_user_limit, opens_at_ms, closes_at_ms, state,
        version, created_at_ms, retired_at_ms)
    SELECT sale_id, 1, 19900, 'CNY', COUNT(*), COUNT(*) FILTER (WHERE status = 'paid'), COUNT(*), 1, 1735689600000 + sale_id,
        1735689600000 + sale_id * 100000, 'ended', 1, 1, 1 FROM orders GROUP BY sale_id;
UPDATE catalogue SET revision = revision + 1, last_goods_id = 1, last_sale_id = (SELECT MAX(id) FROM sales);
INSERT INTO order_totals (sale_id, status, shard, orders, units)
    SELECT sale_id, status, 0, COUNT(*), SUM(quantity) FROM orders GROUP BY sale_id, status;
INSERT INTO order_events (order_id, status, at_ms)
    SELECT id, CASE WHEN status = 'cancelled' THEN status ELSE 'paid' END, created_at_ms + 60000 FROM orders;
INSERT INTO payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
    SELECT id, id, 'sandbox', amount, currency, CASE WHEN status = 'paid' THEN 'captured' ELSE status END,
        created_at_ms, created_at_ms + 60000 FROM orders WHERE status <> 'cancelled';
INSERT INTO sandbox_payments (id, amount, currency, return_path, status)
    SELECT id, amount, currency, '/', status FROM payments;
-- Wallets: each shopper topped up 100 yuan.
INSERT INTO payments (id, user_id, provider, amount, currency, status, created_at_ms, captured_at_ms)
    SELECT 'f' || substr(id, 2), id, 'sandbox', 10000, 'CNY', 'captured', created_at_ms, created_at_ms FROM users;
INSERT INTO wallet_transfers (id, kind, reference, at_ms)
    SELECT 'topup:' || id, 'topup', id, created_at_ms FROM payments WHERE user_id IS NOT NULL;
INSERT INTO wallet_entries (transfer_id, account, amount, at_ms)
    SELECT 'topup:' || id, 'user:' || user_id, 10000, created_at_ms FROM payments WHERE user_id IS NOT NULL
    UNION ALL SELECT 'topup:' || id, 'provider', -10000, created_at_ms FROM payments WHERE user_id IS NOT NULL;
INSERT INTO wallet_balances (account, balance) SELECT 'user:' || id, 10000 FROM users;
INSERT INTO wallet_balances (account, balance) SELECT 'provider', SUM(amount) FROM wallet_entries WHERE account = 'provider';
-- Settled packets without a claim, given by the shop.
INSERT INTO packets (id, giver, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets, state,
        created_at_ms, settled_at_ms)
    SELECT 100000000000 + i, NULL, 100, 2, 1, 99, 'equal', 'x', 1, 1735689600000 + i, 1735689600000 + i, 1, 'settled',
        1735689600000 + i, 1735689600000 + i FROM generate_series(1, :shoppers / 10) i;
INSERT INTO wallet_transfers (id, kind, reference, at_ms)
    SELECT kind || ':' || id, kind, id, created_at_ms FROM packets, (VALUES ('fund'), ('return')) kinds (kind);
INSERT INTO wallet_entries (transfer_id, account, amount, at_ms)
    SELECT kind || ':' || id, CASE WHEN (kind = 'fund') = (side = 1) THEN 'packet:' || id ELSE 'shop' END, side * 100,
        created_at_ms
    FROM packets, (VALUES ('fund'), ('return')) kinds (kind), (VALUES (1), (-1)) sides (side);
INSERT INTO wallet_balances (account, balance) SELECT 'packet:' || id, 0 FROM packets;
INSERT INTO wallet_balances (account, balance) VALUES ('shop', 0);
INSERT INTO audit_log (id, at_ms, actor, action, subject, before, after)
    SELECT id, created_at_ms, 'owner', 'refund', 'order ' || id, '', '' FROM orders WHERE status = 'refunded';

SELECT indexdef FROM kept_indexes \gexec
VACUUM ANALYZE;
