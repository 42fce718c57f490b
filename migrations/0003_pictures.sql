-- Goods have a gallery of pictures, and can be put away.

-- A picture that somebody uploaded, or a drawing that comes with the program: that one has no size, for it is drawn in
-- any, and so have pictures of the time before sizes were kept.
CREATE TABLE pictures (
    name TEXT PRIMARY KEY,
    width BIGINT NOT NULL,
    height BIGINT NOT NULL,
    -- A few pixels as a data URI, or nothing.
    placeholder TEXT NOT NULL,
    -- When it was uploaded, or when goods last let go of it: what nobody uses is kept for a while longer.
    touched_at_ms BIGINT NOT NULL
);

-- The first place is the cover.
CREATE TABLE goods_pictures (
    goods_id BIGINT NOT NULL REFERENCES goods (id),
    place BIGINT NOT NULL,
    picture TEXT NOT NULL REFERENCES pictures (name),
    PRIMARY KEY (goods_id, place)
);
CREATE UNIQUE INDEX goods_pictures_once ON goods_pictures (picture, goods_id);

INSERT INTO pictures (name, width, height, placeholder, touched_at_ms)
    SELECT DISTINCT image, 0, 0, '', 0 FROM goods WHERE image <> '';
INSERT INTO goods_pictures (goods_id, place, picture) SELECT id, 1, image FROM goods WHERE image <> '';
ALTER TABLE goods DROP COLUMN image;

ALTER TABLE goods ADD COLUMN archived_at_ms BIGINT;
