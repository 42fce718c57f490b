-- Mail: addresses of accounts, messages on their way, and the devices that an account was used from.
CREATE TABLE mail_addresses (
    user_id TEXT PRIMARY KEY REFERENCES users (id),
    -- Verified by its owner; NULL: none.
    address TEXT,
    -- The address in lower case: one account per address.
    address_key TEXT UNIQUE,
    verified_at_ms BIGINT,
    -- Entered, and not verified yet.
    pending TEXT,
    -- Rises with every link and every use of one, so that only the latest link is valid, and once.
    verification BIGINT NOT NULL DEFAULT 0,
    recovery BIGINT NOT NULL DEFAULT 0,
    -- The language of messages.
    locale TEXT NOT NULL
);

CREATE TABLE mails (
    -- Its Message-ID as well, which stays the same when it is sent again.
    id TEXT PRIMARY KEY,
    -- The account that it speaks of.
    user_id TEXT NOT NULL REFERENCES users (id),
    recipient TEXT NOT NULL,
    locale TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- What the text names, as JSON. Links are made from it when the message is sent: the database has none.
    facts TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    -- From then on it is not sent any more.
    expires_at_ms BIGINT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts BIGINT NOT NULL DEFAULT 0,
    next_attempt_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    -- Of the last attempt.
    error TEXT
);
CREATE INDEX mails_due ON mails (next_attempt_at_ms, id) WHERE state = 'waiting';
CREATE INDEX mails_by_user ON mails (user_id);
CREATE INDEX mails_by_time ON mails (created_at_ms);

-- Of accounts with a verified address, which is told of others.
CREATE TABLE known_devices (
    user_id TEXT NOT NULL REFERENCES users (id),
    agent TEXT NOT NULL,
    -- A /24 of IPv4 or a /48 of IPv6.
    network TEXT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, agent, network)
);
CREATE INDEX known_devices_by_time ON known_devices (seen_at_ms);
