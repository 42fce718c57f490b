-- Texts of the whole shop in Markdown: terms, privacy, returns, contact, licences. A page without a row is not written yet.
CREATE TABLE shop_pages (
    name TEXT PRIMARY KEY,
    text_zh TEXT NOT NULL,
    text_en TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);
