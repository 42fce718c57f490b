-- Fills an empty, migrated database with a shop of ten million orders (docs/benchmarks.md, "Ten million orders"):
--     psql -d "$URL" -v orders=10000000 -f benches/growth.sql
-- A tenth as many shoppers, sales of 10,000 orders and one with a tenth of all; of ten orders six are paid, three
-- cancelled, one refunded.

\set ON_ERROR_STOP on
\set shoppers :orders / 10
SET statement_timeout = 0;
SET synchronous_commit = off;
SET maintenance_work_mem = '512MB';
-- The rows fit together, so foreign keys are not checked.
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

-- What else grows: a waiting room and a draw that every shopper joined, a waitlist, codes, what links accounts (ten at
-- an address, three in a network), addresses, mails and security events.
INSERT INTO sales (id, goods_id, price, currency, total, sold, granted, per_user_limit, opens_at_ms, closes_at_ms, state,
        version, created_at_ms, mode, queue_prequeue_s, queue_gather_s, queue_seat_s, draw_window_s, draw_review_s)
    SELECT last_sale_id + n, 1, 19900, 'CNY', 1000, 0, 0, 1, 4102444800000, 4102531200000, 'scheduled', 1, 1, mode,
        1800, 0, 300, 86400, 3600
    FROM catalogue, (VALUES (1, 'queue'), (2, 'draw')) modes (n, mode);
UPDATE catalogue SET revision = revision + 1, last_sale_id = last_sale_id + 2;
UPDATE sales SET one_per_address = 1 WHERE id = 1;
INSERT INTO queues (sale_id, seed, joined) SELECT id, repeat('00', 32), :shoppers FROM sales WHERE mode = 'queue';
INSERT INTO queue_places (sale_id, user_id, entry, segment, number, joined_at_ms)
    SELECT q.sale_id, u.id, md5(u.id), 0,
        ('x' || left(encode(sha256(decode(q.seed || md5(u.id), 'hex')), 'hex'), 12))::bit(48)::bigint, u.created_at_ms
    FROM queues q, users u;
INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms)
    SELECT id, 'announced', repeat('00', 32), E'seckill-draw/1\nsale ' || id || E'\nunits 1000\ntickets 1\n'
        'opens_at 2100-01-01T00:00:00Z\ncloses_at 2100-01-02T00:00:00Z\nwindow_s 86400\nrandomness none\ncommitment '
        || encode(sha256(decode(repeat('00', 32), 'hex')), 'hex') || E'\n', 4102534800000 FROM sales WHERE mode = 'draw';
INSERT INTO draw_entries (sale_id, user_id, entry, entered_at_ms, state)
    SELECT d.sale_id, u.id, md5(u.id), u.created_at_ms, 'in' FROM draws d, users u;
INSERT INTO waitlists (sale_id, seed) VALUES (1, repeat('00', 32));
INSERT INTO waiters (sale_id, user_id, quantity, joined_at_ms, since_ms, place, state)
    SELECT 1, id, 1, created_at_ms, created_at_ms, created_at_ms - 1735689600000, 'waiting' FROM users;
INSERT INTO invitation_batches (sale_id, batch, made_by, made_at_ms) VALUES (1, 1, 'owner', 1);
INSERT INTO invitations (sale_id, hash, batch, user_id, redeemed_at_ms)
    SELECT 1, encode(sha256(id::bytea), 'hex'), 1, id, created_at_ms FROM users ORDER BY id LIMIT 100000;
INSERT INTO account_signals (user_id, sale_id, kind, digest, at_ms)
    SELECT id, 1, kind, kind || (created_at_ms - 1735689600000) / size, created_at_ms
    FROM users, (VALUES ('address', 10), ('host', 3)) kinds (kind, size);
INSERT INTO mail_addresses (user_id, address, address_key, verified_at_ms, locale)
    SELECT id, username || '@shop.test', username || '@shop.test', created_at_ms, 'en' FROM users;
INSERT INTO mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state, next_attempt_at_ms)
    SELECT id, id, username || '@shop.test', 'en', 'password_changed', '{}', created_at_ms, created_at_ms, 'sent', 0
    FROM users;
INSERT INTO security_events (id, class, account, network, detail, at_ms, events)
    SELECT id, CASE WHEN created_at_ms % 100 = 0 THEN 'log_in' ELSE 'log_in_failed' END, id, '10.0.0.0/24', 'password',
        created_at_ms, 1
    FROM users;

SELECT indexdef FROM kept_indexes \gexec
VACUUM ANALYZE;
