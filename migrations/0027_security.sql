-- What attacks leave behind: log-ins that failed, requests that were refused, changes of accounts. A row stands for all
-- events of one minute that have the same class, account, network and detail; one process writes it, over and over while
-- the minute lasts. Rows are deleted after 90 days.
CREATE TABLE security_events (
    -- A UUID of version 7 from the time of the first event.
    id TEXT PRIMARY KEY,
    class TEXT NOT NULL,
    -- The account's id; empty where none is known, and for events beyond the rows that a class may have.
    account TEXT NOT NULL,
    -- A /24 of IPv4 or a /48 of IPv6; empty likewise.
    network TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- The first event.
    at_ms BIGINT NOT NULL,
    events BIGINT NOT NULL CHECK (events > 0)
);
CREATE INDEX security_events_by_class ON security_events (class, id);
CREATE INDEX security_events_by_account ON security_events (account, id);
CREATE INDEX security_events_by_network ON security_events (network, id);

-- How many events of each class a process has seen in each hour, all of them.
CREATE TABLE security_event_hours (
    hour_ms BIGINT NOT NULL,
    class TEXT NOT NULL,
    process TEXT NOT NULL,
    events BIGINT NOT NULL,
    PRIMARY KEY (hour_ms, class, process)
);
