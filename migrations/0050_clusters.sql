-- What the accounts of a sale have in common, as keyed digests: who looks at a sale finds accounts that belong together.
CREATE TABLE account_signals (
    user_id TEXT NOT NULL,
    -- 0: noted with the registration, and copied to the sales that follow. No reference, because rehearsals are deleted.
    sale_id BIGINT NOT NULL,
    -- `address`, `street`, `contact`, `host` or `site`.
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    -- Of a network: when the account was registered. Otherwise when the order got its address.
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (user_id, sale_id, kind, digest)
);
CREATE INDEX account_signals_shared ON account_signals (sale_id, kind, digest, user_id);
CREATE INDEX account_signals_of_registrations ON account_signals (at_ms) WHERE sale_id = 0;

-- Orders that staff keep from being delivered until a question is answered.
CREATE TABLE order_holds (
    id TEXT PRIMARY KEY,
    -- No references, because orders of rehearsals are deleted.
    order_id TEXT NOT NULL,
    sale_id BIGINT NOT NULL,
    -- Shown verbatim to the owner of the order.
    reason TEXT NOT NULL CHECK (reason <> ''),
    -- The member of the staff.
    held_by TEXT NOT NULL CHECK (held_by <> ''),
    held_at_ms BIGINT NOT NULL,
    -- `released`, or `refunded` or `cancelled` by staff. NULL while the hold lasts; an order that ended by other means ends it, too.
    outcome TEXT CHECK (outcome IN ('released', 'refunded', 'cancelled')),
    ended_by TEXT,
    ended_at_ms BIGINT,
    -- Shown verbatim to the owner of the order.
    end_reason TEXT,
    CHECK ((outcome IS NULL) = (ended_by IS NULL) AND (outcome IS NULL) = (ended_at_ms IS NULL))
);
CREATE UNIQUE INDEX order_holds_lasting ON order_holds (order_id) WHERE ended_at_ms IS NULL;
CREATE INDEX order_holds_by_order ON order_holds (order_id, id);

-- What owners of held orders answer.
CREATE TABLE hold_appeals (
    id TEXT PRIMARY KEY,
    hold_id TEXT NOT NULL REFERENCES order_holds (id),
    text TEXT NOT NULL,
    sent_at_ms BIGINT NOT NULL,
    -- How the hold went on: `released`, `refunded`, `cancelled`, or `upheld`: it lasts. NULL: nothing was answered yet.
    answer TEXT CHECK (answer IN ('released', 'refunded', 'cancelled', 'upheld')),
    answered_by TEXT,
    answered_at_ms BIGINT,
    answer_reason TEXT,
    CHECK ((answer IS NULL) = (answered_by IS NULL) AND (answer IS NULL) = (answered_at_ms IS NULL))
);
CREATE UNIQUE INDEX hold_appeals_open ON hold_appeals (hold_id) WHERE answered_at_ms IS NULL;
CREATE INDEX hold_appeals_by_hold ON hold_appeals (hold_id, id);
