-- The whole shop. One set of statements for SQLite and PostgreSQL: BIGINT and TEXT only, times in milliseconds since 1970.

-- One row. Its revision rises with every change of goods or sales, so that every process notices; its counters give the
-- next small number to whoever holds the row's lock.
CREATE TABLE catalogue (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    revision BIGINT NOT NULL,
    last_goods_id BIGINT NOT NULL,
    last_sale_id BIGINT NOT NULL
);
INSERT INTO catalogue (id, revision, last_goods_id, last_sale_id) VALUES (1, 1, 0, 0);

CREATE TABLE users (
    id TEXT PRIMARY KEY,
    username TEXT NOT NULL,
    -- The name folded to lower case: names that differ only in case are one name.
    username_key TEXT NOT NULL UNIQUE,
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'admin')),
    created_at_ms BIGINT NOT NULL
);

CREATE TABLE goods (
    id BIGINT PRIMARY KEY,
    name_zh TEXT NOT NULL,
    name_en TEXT NOT NULL,
    description_zh TEXT NOT NULL,
    description_en TEXT NOT NULL,
    image TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

CREATE TABLE sales (
    id BIGINT PRIMARY KEY,
    goods_id BIGINT NOT NULL REFERENCES goods (id),
    price BIGINT NOT NULL CHECK (price >= 0),
    list_price BIGINT CHECK (list_price >= 0),
    currency TEXT NOT NULL,
    total BIGINT NOT NULL CHECK (total >= 0),
    -- Units in live orders. The last line of defence: no statement can take it beyond the total.
    sold BIGINT NOT NULL DEFAULT 0 CHECK (sold >= 0),
    -- Units ever sold, cancelled ones included.
    granted BIGINT NOT NULL DEFAULT 0,
    per_user_limit BIGINT NOT NULL CHECK (per_user_limit >= 1),
    opens_at_ms BIGINT,
    closes_at_ms BIGINT,
    state TEXT NOT NULL CHECK (state IN ('draft', 'scheduled', 'live', 'paused', 'ended')),
    version BIGINT NOT NULL,
    epoch BIGINT NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    -- Once nothing of an ended sale is under way any more its keys leave Redis.
    retired_at_ms BIGINT,
    CHECK (sold <= total)
);
CREATE INDEX sales_active ON sales (id) WHERE retired_at_ms IS NULL;

CREATE TABLE orders (
    id TEXT PRIMARY KEY,
    sale_id BIGINT NOT NULL REFERENCES sales (id),
    user_id TEXT NOT NULL,
    quantity BIGINT NOT NULL CHECK (quantity >= 1),
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('unpaid', 'paid', 'cancelled', 'rejected', 'refund_pending', 'refunded')),
    reason TEXT,
    reserved_at_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    pay_by_ms BIGINT NOT NULL
);
-- At most one live order per user and sale.
CREATE UNIQUE INDEX orders_one_live ON orders (sale_id, user_id) WHERE status IN ('unpaid', 'paid');
CREATE INDEX orders_overdue ON orders (pay_by_ms) WHERE status = 'unpaid';
CREATE INDEX orders_by_user ON orders (user_id, id);
CREATE INDEX orders_refunds ON orders (id) WHERE status = 'refund_pending';

-- What happened to an order after it was created; its reservation and creation stand in the order itself.
CREATE TABLE order_events (
    order_id TEXT NOT NULL REFERENCES orders (id),
    status TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (order_id, status)
);

-- Units that cancelled or rejected orders still hold in Redis. A row goes once Redis has let go of them.
CREATE TABLE releases (
    order_id TEXT PRIMARY KEY,
    sale_id BIGINT NOT NULL,
    user_id TEXT NOT NULL,
    quantity BIGINT NOT NULL
);

-- One attempt to pay one order; what the shop believes about it.
CREATE TABLE payments (
    id TEXT PRIMARY KEY,
    order_id TEXT NOT NULL REFERENCES orders (id),
    provider TEXT NOT NULL,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('created', 'captured', 'refund_pending', 'refunded')),
    created_at_ms BIGINT NOT NULL
);
CREATE INDEX payments_by_order ON payments (order_id);
CREATE INDEX payments_refunds ON payments (id) WHERE status = 'refund_pending';

-- Webhooks that were applied; each is applied once.
CREATE TABLE webhook_events (
    webhook_id TEXT PRIMARY KEY,
    received_at_ms BIGINT NOT NULL
);

-- The sandbox provider's own books: what it was asked to charge, and the webhooks that it still has to deliver.
CREATE TABLE sandbox_payments (
    id TEXT PRIMARY KEY,
    amount BIGINT NOT NULL,
    currency TEXT NOT NULL,
    return_path TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'captured', 'declined', 'refunded'))
);
CREATE TABLE sandbox_webhooks (
    id TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    attempts BIGINT NOT NULL DEFAULT 0,
    next_at_ms BIGINT NOT NULL
);

CREATE TABLE audit_log (
    id TEXT PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    before TEXT NOT NULL,
    after TEXT NOT NULL
);

-- Who may do a job of which there should be one at a time. The token rises with every new holder.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    token BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
