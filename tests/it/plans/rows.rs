//! Many rows in every table that grows, by SQL for both databases.

/// Tables that grow. [`statements`] fills them.
pub const GROWING: &[&str] = &[
    "account_signals",
    "addresses",
    "deposits",
    "draw_entries",
    "event_attempts",
    "event_deliveries",
    "events",
    "hold_appeals",
    "queue_places",
    "questions",
    "audit_log",
    "guesses",
    "idempotency_keys",
    "invitations",
    "sale_groups",
    "order_changes",
    "known_devices",
    "mail_addresses",
    "mails",
    "order_events",
    "order_holds",
    "orders",
    "packet_claims",
    "packet_rejections",
    "packet_shares",
    "packets",
    "partial_refunds",
    "passes",
    "passkeys",
    "payment_cases",
    "payments",
    "recovery_codes",
    "push_subscriptions",
    "reminders",
    "reservations",
    "revocations",
    "sandbox_payments",
    "sandbox_refunds",
    "security_event_hours",
    "security_events",
    "shop_decisions",
    "sessions",
    "waiters",
    "users",
    "wallet_balances",
    "wallet_entries",
    "wallet_transfers",
    "webhook_events",
];

const SALES: i64 = 100;

/// A path with ids of rows that exist.
pub fn fill_in(path: &str) -> String {
    let id = "01980000-0050-7000-8000-000000000050";
    let parts = [
        ("{sale}", "50"),
        ("{order}", id),
        ("{entry}", "01980000005070008000000000000050"),
        ("{user}", id),
        ("{packet}", "100000000050"),
        ("{goods}", "1"),
        ("{category}", "1"),
        ("{address}", id),
        ("{session}", id),
        ("{payment}", id),
        ("{case}", id),
        ("{passkey}", id),
        ("{question}", id),
        ("{name}", "x"),
        ("{*name}", "x"),
    ];
    parts.iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value))
}

/// Readable rules, but of no sale here.
pub const DRAW_RULES: &str = "seckill-draw/1
sale 1
units 1
tickets 1
opens_at 2026-01-01T00:00:00Z
closes_at 2026-01-02T00:00:00Z
window_s 60
randomness none
commitment 0000000000000000000000000000000000000000000000000000000000000000
";

/// A UUID that grows with the number `i`, as ids do with time.
const ID: &str =
    "'0198' || substr(CAST(1000000000000 + i AS TEXT), 6, 4) || '-' || substr(CAST(1000000000000 + i AS TEXT), 10)
     || '-7000-8000-' || substr(CAST(1000000000000 + i AS TEXT), 2)";
/// Every hundredth row belongs to the shopper who looks at the pages.
const USER: &str = "CASE WHEN i % 100 = 0 THEN (SELECT id FROM users WHERE username = 'mei') ELSE {id} END";
const STATUS: &str = "CASE WHEN i % 10 = 0 THEN 'cancelled' WHEN i % 10 < 7 THEN 'paid' WHEN i % 100 = 8 THEN 'unpaid'
     WHEN i % 10 = 7 THEN 'refunded' ELSE 'cancelled' END";

pub fn statements(count: i64) -> Vec<String> {
    let rows = |into: &str, values: &str| {
        let values = values.replace("{user}", USER).replace("{status}", STATUS).replace("{id}", ID);
        let sale = format!("(1 + i % {SALES})");
        let values = values.replace("{sale}", &sale);
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
             INSERT INTO {into} SELECT {values} FROM n"
        )
    };
    vec![
        "INSERT INTO categories (id, name_zh, name_en, place, updated_at_ms) VALUES (1, '数码', 'Electronics', 1, 1)"
            .to_owned(),
        "INSERT INTO goods (id, name_zh, name_en, description_zh, description_en, category_id, updated_at_ms)
         VALUES (1, '手机', 'Phone', '', '', 1, 1)"
            .to_owned(),
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SALES})
             INSERT INTO sales (id, goods_id, price, currency, total, sold, per_user_limit, opens_at_ms, closes_at_ms, state,
               version, created_at_ms, retired_at_ms)
             SELECT i, 1, 100, 'CNY', 1000000, 0, 1, 1767225600000 + i, 1767225600000 + 1000 * i,
               CASE WHEN i <= 50 THEN 'ended' ELSE 'live' END, 1, 1, CASE WHEN i <= 49 THEN i END FROM n"
        ),
        "UPDATE sales SET closes_at_ms = 4102444800000 WHERE state = 'live'".to_owned(),
        format!("UPDATE catalogue SET revision = revision + 1, last_goods_id = 1, last_sale_id = {SALES}"),
        rows(
            "users (id, username, username_key, password_hash, role, created_at_ms, deleted_at_ms)",
            "{id}, 'user' || CAST(i AS TEXT), 'user' || CAST(i AS TEXT), '', 'user', i, CASE WHEN i % 10 = 1 THEN i END",
        ),
        rows(
            "sessions (id, user_id, created_at_ms, seen_at_ms, expires_at_ms, address, agent)",
            "{id}, CASE WHEN i % 10000 = 0 THEN {user} ELSE {id} END, 1767225600000, 1767225600000, 4102444800000,
             '127.0.0.1', 'x'",
        ),
        rows("revocations (subject, dead_until_ms, number)", "{id}, i, i"),
        rows("recovery_codes (user_id, hash)", "{id}, 'x'"),
        rows(
            "passkeys (id, user_id, credential_id, public_key, sign_count, name, created_at_ms)",
            "{id}, CASE WHEN i % 10000 = 0 THEN {user} ELSE {id} END, {id}, 'x', 0, 'x', 1",
        ),
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SALES})
             INSERT INTO draws (sale_id, state, secret, rules, lock_at_ms, locked_at_ms, entries)
             SELECT i, 'locked', '{secret}', '{rules}', 1, 1, 1 FROM n",
            secret = "00".repeat(32),
            rules = DRAW_RULES,
        ),
        rows(
            "draw_entries (sale_id, user_id, entry, entered_at_ms, state, reason, rank)",
            "{sale}, {id}, replace({id}, '-', ''), i, CASE WHEN i % 200 = 50 THEN 'excluded' ELSE 'in' END,
             CASE WHEN i % 200 = 50 THEN 'other' END, i",
        ),
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SALES})
             INSERT INTO queues (sale_id, seed, locked_at_ms, joined, called, closed_segment)
             SELECT i, '{secret}', 1, 1, 1, 0 FROM n",
            secret = "00".repeat(32),
        ),
        rows(
            "queue_places (sale_id, user_id, entry, segment, number, joined_at_ms, called_at_ms)",
            "{sale}, {id}, replace({id}, '-', ''), 0, i, i, CASE WHEN i % 200 = 50 THEN 1 END",
        ),
        rows(
            "reservations (order_id, reference, token_id, confirmed_at_ms)",
            "CASE WHEN i % 3 = 0 THEN {id} ELSE 'x' || i END, 'outside ' || i, {id}, i",
        ),
        rows(
            "passes (sale_id, place, made, expires_at_ms, used_at_ms)",
            "{sale}, replace({id}, '-', ''), 1, 4102444800000 + i, CASE WHEN i % 2 = 0 THEN i END",
        ),
        rows(
            "shop_decisions (sale_id, id, shopper, quantity, decided, at_ms, received_at_ms)",
            "{sale}, {id}, {id}, 1, CASE WHEN i % 2 = 0 THEN 'sold' ELSE 'refused' END, i, i",
        ),
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SALES})
             INSERT INTO waitlists (sale_id, seed) SELECT i, '{}' FROM n",
            "00".repeat(32),
        ),
        rows(
            "waiters (sale_id, user_id, quantity, joined_at_ms, since_ms, place, state, called_at_ms, order_id)",
            "{sale}, {id}, 1, i, i, i, CASE WHEN i % 20 = 7 THEN 'offered' ELSE 'waiting' END,
             CASE WHEN i % 20 = 7 THEN i END, CASE WHEN i % 20 = 7 THEN {id} END",
        ),
        "UPDATE sales SET one_per_contact = 1, one_per_address = 1, invitation = 1, deposit = 1000 WHERE id = 50".to_owned(),
        rows(
            "deposits (user_id, sale_id, number, amount, held_at_ms, returned_at_ms)",
            "{id}, {sale}, 1, 1000, i, CASE WHEN i % 10 > 0 THEN i END",
        ),
        rows("sale_groups (sale_id, kind, digest, user_id, claimed_at_ms)", "{sale}, 'address', {id}, {user}, i"),
        format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {SALES})
             INSERT INTO invitation_batches (sale_id, batch, made_by, made_at_ms) SELECT i, 1, 'admin', 1 FROM n"
        ),
        rows("invitations (sale_id, hash, batch, user_id, redeemed_at_ms)", "{sale}, {id}, 1, {id}, i"),
        rows(
            "questions (id, goods_id, sale_id, user_id, locale, text, asked_at_ms, status, answer, answered_at_ms)",
            "{id}, 1, {sale}, {user}, CASE WHEN i % 2 = 0 THEN 'zh' ELSE 'en' END, 'x', i,
             CASE WHEN i % 100 = 0 THEN 'open' WHEN i % 100 = 1 THEN 'hidden' ELSE 'answered' END,
             CASE WHEN i % 100 > 0 THEN 'x' END, CASE WHEN i % 100 > 0 THEN i END",
        ),
        rows("guesses (key, restored_at_ms)", "{id}, i"),
        rows(
            "addresses (id, user_id, recipient, phone, country, region, city, line1, line2, postal_code, is_default,
             created_at_ms)",
            "{id}, {id}, 'x', '1', 'CN', 'x', 'x', 'x', '', '1', 1, 1",
        ),
        rows(
            "orders (id, day_number, sale_id, user_id, quantity, amount, currency, status, reserved_at_ms, created_at_ms, pay_by_ms, parcel,
             return_state, shipped_at_ms)",
            "{id}, 20260101000000000 + i, {sale}, {user}, 1, 100, 'CNY', {status}, i, i, 4102444800000,
             CASE WHEN i % 100 = 1 THEN 'packed' WHEN i % 100 = 4 THEN 'shipped' WHEN i % 10 BETWEEN 1 AND 6 AND i % 100 <> 2 THEN 'delivered' END,
             CASE WHEN i % 100 = 3 THEN 'asked' ELSE 'withdrawn' END, CASE WHEN i % 10 BETWEEN 2 AND 6 THEN i END",
        ),
        rows(
            "invoices (order_id, title, asked_at_ms, issued_at_ms, issued_by)",
            "{id}, 'x', i, CASE WHEN i % 100 <> 0 THEN i END, CASE WHEN i % 100 <> 0 THEN 'admin' END",
        ),
        rows("goods_returns (order_id, reason, note, asked_at_ms)", "{id}, 'damaged', 'x', i"),
        "INSERT INTO settlements (provider, day) VALUES ('wechatpay', '2026-11-28')".to_owned(),
        rows(
            "bill_lines (run, line, provider, payment_id, refund_id, amount, currency, fee, fee_currency, at_ms)",
            "'run', {id}, 'wechatpay', {id}, '', 100, 'CNY', 1, 'CNY', i",
        ),
        // A few differences on each of many days.
        rows(
            "bill_differences (provider, day, problem, line, payment_id, refund_id, there, there_currency, case_id)",
            "'wechatpay', CASE WHEN i < 10 THEN '2026-11-28' ELSE CAST(i / 10 AS TEXT) END, 'missing_here', 'line ' || i, {id}, '', 100,
             'CNY', ''",
        ),
        rows("parcel_steps (order_id, step, state, at_ms, actor)", "{id}, 1, 'packed', i, 'admin'"),
        // Groups of ten accounts share an address. All accounts of a sale share a network, which links none of them.
        rows(
            "account_signals (user_id, sale_id, kind, digest, at_ms)",
            "{id}, {sale}, CASE WHEN i % 2 = 0 THEN 'address' ELSE 'site' END,
             CASE WHEN i % 2 = 0 THEN 'd' || CAST(i / 1000 AS TEXT) ELSE 'site' END, i",
        ),
        rows(
            "order_holds (id, order_id, sale_id, reason, held_by, held_at_ms, outcome, ended_by, ended_at_ms)",
            "{id}, {id}, {sale}, 'x', 'admin', i, CASE WHEN i % 100 <> 0 THEN 'released' END,
             CASE WHEN i % 100 <> 0 THEN 'admin' END, CASE WHEN i % 100 <> 0 THEN i END",
        ),
        rows("hold_appeals (id, hold_id, text, sent_at_ms)", "{id}, {id}, 'x', i"),
        "INSERT INTO order_totals SELECT sale_id, status, 0, COUNT(*), COUNT(*) FROM orders GROUP BY sale_id, status"
            .to_owned(),
        rows(
            "order_changes (id, position, orders)",
            "{id}, CASE WHEN i <= 4 * COUNTED / 5 THEN i END, {id}",
        )
        .replace("COUNTED", &count.to_string()),
        format!("UPDATE order_feed SET numbered = 4 * {count} / 5"),
        rows("order_events (order_id, status, at_ms)", "{id}, CASE WHEN i % 10 < 7 THEN 'paid' ELSE 'cancelled' END, i"),
        rows(
            "payments (id, order_id, provider, amount, currency, status, created_at_ms, captured_at_ms)",
            "{id}, {id}, 'sandbox', 100, 'CNY', CASE WHEN i % 10 < 7 THEN 'captured' ELSE 'created' END, i, i",
        ),
        rows(
            "partial_refunds (id, payment_id, order_id, via, amount, currency, requested_at_ms, actor, note, refunded_at_ms)",
            "{id}, {id}, {id}, 'sandbox', 1, 'CNY', i, 'admin', 'x', i",
        ),
        rows(
            "staff_refunds (id, kind, subject, order_id, amount, currency, target, requested_by, actor, note, requested_at_ms,
             approval, expires_at_ms)",
            "{id}, 'order', 'order ' || {id}, {id}, 1, 'CNY', 'payer', {user}, 'admin', 'x', i,
             CASE WHEN i % 4 = 0 THEN 'declined' WHEN i % 100 = 1 THEN 'pending' ELSE 'not_needed' END, 4102444800000",
        ),
        rows(
            "sandbox_payments (id, amount, currency, return_path, status)",
            "{id}, 100, 'CNY', '/', CASE WHEN i % 10 < 7 THEN 'captured' ELSE 'open' END",
        ),
        rows("sandbox_refunds (id, payment_id, amount)", "{id}, {id}, 1"),
        rows(
            "payment_cases (id, kind, payment_id, amount, currency, details, opened_at_ms, settled_at_ms)",
            "{id}, 'disputed', {id}, 100, 'CNY', 'x', i, CASE WHEN i % 100 <> 0 THEN i END",
        ),
        rows("webhook_events (webhook_id, received_at_ms, payment_id)", "{id}, i, {id}"),
        rows("wallet_transfers (id, kind, reference, at_ms)", "'topup:' || {id}, 'topup', {id}, i"),
        rows(
            "wallet_entries (transfer_id, account, amount, at_ms)",
            "'topup:' || {id}, 'user:' || {user}, 100, i",
        ),
        rows("wallet_balances (account, balance)", "'user:' || {id}, 100"),
        rows(
            "packets (id, giver, total, count, least, most, split, greeting, own, opens_at_ms, expires_at_ms, buckets, state,
             claimed, claimed_amount, created_at_ms, settled_at_ms)",
            "100000000000 + i, {user}, 100, 2, 1, 99, 'bounded', 'x', 1, i, CASE WHEN i % 2 = 0 THEN i ELSE 4102444800000 END,
             1, CASE WHEN i % 2 = 0 THEN 'settled' ELSE 'open' END, 1, 50, i, CASE WHEN i % 2 = 0 THEN i END",
        ),
        rows("packet_shares (packet_id, part, amounts)", "100000000000 + i, 0, '50 50'"),
        rows(
            "packet_claims (packet_id, share, user_id, amount, claimed_at_ms)",
            "100000000000 + i, 0, {user}, 50, i",
        ),
        rows("packet_rejections (packet_id, share, user_id, amount, at_ms)", "100000000000 + i, 1, {user}, 50, i"),
        rows(
            "audit_log (id, at_ms, actor, action, subject, before, after)",
            "{id}, i, 'admin', 'cancel', 'order ' || {id}, 'null', 'null'",
        ),
        rows(
            "security_events (id, class, account, network, detail, at_ms, events)",
            "{id}, CASE WHEN i % 100 = 0 THEN 'log_in' ELSE 'log_in_failed' END,
             CASE WHEN i % 2 = 0 THEN '' ELSE {user} END, '10.0.' || CAST(i % 250 AS TEXT) || '.0/24', 'password', i, 1",
        ),
        rows(
            "mail_addresses (user_id, address, address_key, verified_at_ms, locale)",
            "{id}, 'm' || CAST(i AS TEXT) || '@shop.test', 'm' || CAST(i AS TEXT) || '@shop.test', i, 'en'",
        ),
        rows(
            "mails (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state, next_attempt_at_ms)",
            "{id}, {user}, 'm@shop.test', 'en', 'password_changed', '{}', i, i,
             CASE WHEN i % 100 = 0 THEN 'waiting' ELSE 'sent' END, i",
        ),
        rows(
            "push_subscriptions (id, user_id, session_id, endpoint, p256dh, auth, locale, created_at_ms)",
            "{id}, {user}, {id}, {id}, 'x', 'x', 'en', i",
        ),
        "INSERT INTO event_endpoints (id, url, kinds, state, secret, created_at_ms)
         VALUES ('0198c0de-0000-7000-8000-000000000001', 'https://erp.example/', 'order.*', 'on', 'x', 1)"
            .to_owned(),
        rows(
            "events (id, kind, subject, sequence, fact, body, created_at_ms)",
            "{id}, 'order.paid', 'order ' || {id}, 1, 'paid', '{}', i",
        ),
        rows(
            "event_deliveries (endpoint_id, event_id, state, next_attempt_at_ms)",
            "'0198c0de-0000-7000-8000-000000000001', {id}, 'delivered', i",
        ),
        rows(
            "event_attempts (id, endpoint_id, event_id, at_ms, took_ms, status, answer)",
            "{id}, '0198c0de-0000-7000-8000-000000000001', {id}, i, 1, 200, ''",
        ),
        rows("reminders (sale_id, user_id, created_at_ms)", "{sale}, {id}, i"),
        rows("known_devices (user_id, agent, network, seen_at_ms)", "{id}, 'Firefox', '10.0.0.0/24', i"),
        rows("security_event_hours (hour_ms, class, process, events)", "CAST(i AS BIGINT) * 3600000, 'log_in', 'x', 1"),
        rows(
            "idempotency_keys (id, user_id, request, idempotency_key, body, running_until_ms, created_at_ms)",
            "{id}, {id}, 'POST /', 'x', 'x', i, i",
        ),
    ]
}
