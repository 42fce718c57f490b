-- Events out: what happens to orders and sales, sent to programs of the merchant.
CREATE TABLE event_endpoints (
    id TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    -- Types of events, separated by commas. `order.*` stands for all that begin with `order.`.
    kinds TEXT NOT NULL,
    -- `disabled`: the shop gave it up after days of failure.
    state TEXT NOT NULL CHECK (state IN ('on', 'off', 'disabled')),
    -- What signs events, encrypted with the shop's secret; and the one before it, which signs as well for a while.
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_until_ms BIGINT,
    created_at_ms BIGINT NOT NULL,
    -- The first attempt of those that failed since the last one that did not. NULL: the last attempt did not fail.
    failing_since_ms BIGINT
);

CREATE TABLE events (
    -- A UUID of version 7 of the transaction that wrote the event.
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    -- `order <id>`, `sale <id>` or, for a test, `endpoint <id>`.
    subject TEXT NOT NULL,
    -- Counts the events of the subject from 1.
    sequence BIGINT NOT NULL,
    -- What happened, so that no fact becomes two events.
    fact TEXT NOT NULL,
    -- JSON: what is sent, the same bytes at each attempt.
    body TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_once ON events (subject, fact);

-- An event on its way to an endpoint.
CREATE TABLE event_deliveries (
    endpoint_id TEXT NOT NULL REFERENCES event_endpoints (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    attempts BIGINT NOT NULL DEFAULT 0,
    next_attempt_at_ms BIGINT NOT NULL,
    PRIMARY KEY (endpoint_id, event_id)
);
CREATE INDEX event_deliveries_due ON event_deliveries (endpoint_id, next_attempt_at_ms, event_id) WHERE state = 'waiting';
CREATE INDEX event_deliveries_by_event ON event_deliveries (event_id);

-- What each attempt got. `status` is NULL if there was no answer; then `answer` says why.
CREATE TABLE event_attempts (
    id TEXT PRIMARY KEY,
    endpoint_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    took_ms BIGINT NOT NULL,
    status BIGINT,
    answer TEXT NOT NULL,
    FOREIGN KEY (endpoint_id, event_id) REFERENCES event_deliveries (endpoint_id, event_id) ON DELETE CASCADE
);
CREATE INDEX event_attempts_by_delivery ON event_attempts (endpoint_id, event_id, id);

-- How far events were made: one row, whose lock serializes all that make them.
CREATE TABLE event_cursor (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    -- The place in the feed of changed orders. NULL: there is no endpoint, so no events are made.
    position BIGINT,
    -- What happened earlier becomes no event.
    since_ms BIGINT NOT NULL,
    -- The catalogue's revision up to which sales were compared.
    revision BIGINT NOT NULL
);
INSERT INTO event_cursor (id, position, since_ms, revision) VALUES (1, NULL, 0, 0);

-- The states of sales that events told last, and how many events each sale had.
CREATE TABLE event_sales (
    sale_id BIGINT PRIMARY KEY,
    state TEXT NOT NULL,
    closes_at_ms BIGINT,
    sequence BIGINT NOT NULL
);
