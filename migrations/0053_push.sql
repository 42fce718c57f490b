-- Push: the browsers that show messages of the shop, and reminders of the start of sales.
CREATE TABLE push_keys (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    -- The key by which push services know the shop (VAPID), encrypted with the shop's secret. Browsers subscribe to its
    -- public half.
    encrypted TEXT NOT NULL
);

CREATE TABLE push_subscriptions (
    id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL REFERENCES users (id),
    -- The session of that browser. With its end, by a log-out or another way, the browser hears no more.
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (id) ON DELETE CASCADE,
    -- An address at the browser's push service.
    endpoint TEXT NOT NULL UNIQUE,
    -- What the browser decrypts with: its public key and its authentication secret, in base64url.
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL,
    -- The language of messages.
    locale TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX push_subscriptions_by_user ON push_subscriptions (user_id, created_at_ms);

-- The browser that a message goes to; NULL: a message by mail.
ALTER TABLE mails ADD COLUMN subscription_id TEXT REFERENCES push_subscriptions (id) ON DELETE CASCADE;
CREATE INDEX mails_by_subscription ON mails (subscription_id) WHERE subscription_id IS NOT NULL;
CREATE INDEX pushes_due ON mails (next_attempt_at_ms, id) WHERE state = 'waiting' AND subscription_id IS NOT NULL;

-- Accounts that are to be told of the start of a sale.
CREATE TABLE reminders (
    sale_id BIGINT NOT NULL REFERENCES sales (id) ON DELETE CASCADE,
    user_id TEXT NOT NULL REFERENCES users (id),
    created_at_ms BIGINT NOT NULL,
    -- NULL: not told yet.
    told_at_ms BIGINT,
    PRIMARY KEY (sale_id, user_id)
);
CREATE INDEX reminders_by_user ON reminders (user_id);
CREATE INDEX reminders_untold ON reminders (sale_id, user_id) WHERE told_at_ms IS NULL;

-- How many accounts have a reminder of a sale, so that no page counts them.
CREATE TABLE reminder_counts (
    sale_id BIGINT PRIMARY KEY REFERENCES sales (id) ON DELETE CASCADE,
    accounts BIGINT NOT NULL
);

-- Up to which order owners were told that their time to pay ends: one row.
CREATE TABLE payment_notices (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    pay_by_ms BIGINT NOT NULL,
    order_id TEXT NOT NULL
);
