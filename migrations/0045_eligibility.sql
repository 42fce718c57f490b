-- Who may take part in a sale: its rules, groups of which one account takes part, and invitation codes.
-- Accounts that were registered later may not take part; NULL: any age will do.
ALTER TABLE sales ADD COLUMN accounts_before_ms BIGINT;
ALTER TABLE sales ADD COLUMN verified_contact BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sales ADD COLUMN one_per_contact BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sales ADD COLUMN one_per_address BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sales ADD COLUMN invitation BIGINT NOT NULL DEFAULT 0;

-- The groups that accounts belong to in a sale: the first account of a group takes part.
CREATE TABLE sale_groups (
    sale_id BIGINT NOT NULL REFERENCES sales (id),
    kind TEXT NOT NULL,
    -- HMAC with a key of the shop, in URL-safe base64. While the shop's secret is replaced, one row for each.
    digest TEXT NOT NULL,
    user_id TEXT NOT NULL,
    claimed_at_ms BIGINT NOT NULL,
    PRIMARY KEY (sale_id, kind, digest)
);
CREATE INDEX sale_groups_by_user ON sale_groups (user_id, sale_id);

-- Codes that were made together.
CREATE TABLE invitation_batches (
    sale_id BIGINT NOT NULL REFERENCES sales (id),
    batch BIGINT NOT NULL,
    made_by TEXT NOT NULL,
    made_at_ms BIGINT NOT NULL,
    PRIMARY KEY (sale_id, batch)
);

CREATE TABLE invitations (
    sale_id BIGINT NOT NULL REFERENCES sales (id),
    -- SHA-256 of sale and code, in hexadecimal digits. The code itself is not stored.
    hash TEXT NOT NULL,
    batch BIGINT NOT NULL,
    -- The account that redeemed it; NULL again once that account is deleted.
    user_id TEXT,
    redeemed_at_ms BIGINT,
    revoked_at_ms BIGINT,
    PRIMARY KEY (sale_id, hash)
);
-- An account redeems one code of a sale.
CREATE UNIQUE INDEX invitations_of_user ON invitations (user_id, sale_id)
    WHERE user_id IS NOT NULL AND revoked_at_ms IS NULL;
CREATE INDEX invitations_by_user ON invitations (user_id) WHERE user_id IS NOT NULL;
