-- Questions of shoppers about goods, and the answers of the shop.
CREATE TABLE questions (
    -- A UUID of version 7. Rows sort by it.
    id TEXT PRIMARY KEY,
    goods_id BIGINT NOT NULL REFERENCES goods (id),
    -- On whose page it was asked. A sale that is deleted as a draft leaves its questions.
    sale_id BIGINT NOT NULL,
    -- NULL: the account was deleted, or the shop asked itself.
    user_id TEXT REFERENCES users (id),
    -- The language of question and answer.
    locale TEXT NOT NULL,
    text TEXT NOT NULL,
    asked_at_ms BIGINT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'answered', 'hidden')),
    answer TEXT,
    -- Of the first answer; editing it keeps its place on the page.
    answered_at_ms BIGINT,
    -- Every change makes the next one.
    version BIGINT NOT NULL DEFAULT 1
);
-- What staff list.
CREATE INDEX questions_by_status ON questions (status, id);
-- What an account asked.
CREATE INDEX questions_by_user ON questions (user_id, id);
-- What pages show.
CREATE INDEX questions_shown ON questions (goods_id, locale, answered_at_ms) WHERE status = 'answered';
