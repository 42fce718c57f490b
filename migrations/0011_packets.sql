-- Red packets: money that is split into shares when it is given, and claimed by people, one share each.
CREATE TABLE packets (
    -- A random number: whoever was not shown the address does not guess it.
    id BIGINT PRIMARY KEY,
    -- Who gave it; NULL: the shop.
    giver TEXT,
    -- What one wish to give carries: sent twice, it gives once.
    wish_key TEXT,
    total BIGINT NOT NULL CHECK (total >= 1),
    count BIGINT NOT NULL CHECK (count BETWEEN 1 AND 1000000),
    least BIGINT NOT NULL CHECK (least >= 1),
    most BIGINT NOT NULL,
    split TEXT NOT NULL CHECK (split IN ('bounded', 'equal', 'double_average')),
    greeting TEXT NOT NULL,
    -- 1: the giver may claim a share too.
    own BIGINT NOT NULL CHECK (own IN (0, 1)),
    opens_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    buckets BIGINT NOT NULL CHECK (buckets >= 1),
    state TEXT NOT NULL CHECK (state IN ('open', 'settled')),
    -- The last line of defence: no statement takes these beyond what there is.
    claimed BIGINT NOT NULL DEFAULT 0 CHECK (claimed >= 0),
    claimed_amount BIGINT NOT NULL DEFAULT 0 CHECK (claimed_amount >= 0),
    -- Where the database, when it decides alone, looks for the next share: all before it are claimed.
    next_share BIGINT NOT NULL DEFAULT 0,
    epoch BIGINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    settled_at_ms BIGINT,
    -- The luckiest, once it is settled.
    best_user TEXT,
    best_amount BIGINT,
    CHECK (least <= most),
    CHECK (least * count <= total),
    CHECK (claimed <= count),
    CHECK (claimed_amount <= total)
);
CREATE INDEX packets_open ON packets (expires_at_ms) WHERE state = 'open';
CREATE INDEX packets_settled ON packets (settled_at_ms) WHERE settled_at_ms IS NOT NULL;
CREATE INDEX packets_by_giver ON packets (giver, created_at_ms, id);
CREATE UNIQUE INDEX packets_by_wish ON packets (giver, wish_key) WHERE wish_key IS NOT NULL;
CREATE UNIQUE INDEX packets_by_wish_of_the_shop ON packets (wish_key) WHERE giver IS NULL AND wish_key IS NOT NULL;

-- What the packet was split into, a thousand amounts with spaces between them in each part; a share's index counts
-- through all parts. Who knows the claims knows what is left, also when Redis has forgotten it.
CREATE TABLE packet_shares (
    packet_id BIGINT NOT NULL REFERENCES packets (id),
    part BIGINT NOT NULL,
    amounts TEXT NOT NULL,
    PRIMARY KEY (packet_id, part)
);

CREATE TABLE packet_claims (
    packet_id BIGINT NOT NULL REFERENCES packets (id),
    share BIGINT NOT NULL CHECK (share >= 0),
    user_id TEXT NOT NULL,
    amount BIGINT NOT NULL CHECK (amount >= 1),
    claimed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (packet_id, share)
);
-- One share per user.
CREATE UNIQUE INDEX packet_claims_one ON packet_claims (packet_id, user_id);
CREATE INDEX packet_claims_by_user ON packet_claims (user_id, claimed_at_ms, packet_id);

-- Claims that came when their share, or their user's, was there already. Nothing was credited.
CREATE TABLE packet_rejections (
    packet_id BIGINT NOT NULL,
    share BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    amount BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (packet_id, share, user_id)
);
