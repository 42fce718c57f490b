-- A verified mail address pays for a registration. Messages to it are of no account yet.
CREATE TABLE registration_contacts (
    -- The challenge that the address pays for, by its number and as it was issued.
    id TEXT PRIMARY KEY,
    challenge TEXT NOT NULL,
    -- The one that was entered last. A link of an earlier one verifies nothing.
    address TEXT NOT NULL,
    -- The language of messages.
    locale TEXT NOT NULL,
    -- When its owner pressed the button behind the link; NULL: not yet.
    verified_at_ms BIGINT,
    -- From then on the challenge is refused in any case.
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX registration_contacts_by_time ON registration_contacts (expires_at_ms);

CREATE TABLE mails_2 (
    id TEXT PRIMARY KEY,
    -- The account that it speaks of; NULL: of a registration.
    user_id TEXT REFERENCES users (id),
    recipient TEXT NOT NULL,
    locale TEXT NOT NULL,
    kind TEXT NOT NULL,
    facts TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    attempts BIGINT NOT NULL DEFAULT 0,
    next_attempt_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT,
    error TEXT,
    subscription_id TEXT REFERENCES push_subscriptions (id) ON DELETE CASCADE
);
INSERT INTO mails_2 (id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state, attempts,
        next_attempt_at_ms, ended_at_ms, error, subscription_id)
    SELECT id, user_id, recipient, locale, kind, facts, created_at_ms, expires_at_ms, state, attempts,
        next_attempt_at_ms, ended_at_ms, error, subscription_id FROM mails;
DROP TABLE mails;
ALTER TABLE mails_2 RENAME TO mails;
CREATE INDEX mails_due ON mails (next_attempt_at_ms, id) WHERE state = 'waiting';
CREATE INDEX mails_by_user ON mails (user_id);
CREATE INDEX mails_by_time ON mails (created_at_ms);
CREATE INDEX mails_by_subscription ON mails (subscription_id) WHERE subscription_id IS NOT NULL;
CREATE INDEX pushes_due ON mails (next_attempt_at_ms, id) WHERE state = 'waiting' AND subscription_id IS NOT NULL;
CREATE INDEX mails_of_registrations ON mails (expires_at_ms) WHERE user_id IS NULL;
