-- The oldest program that can work with this schema: it has to know the migration `version`. A migration that takes away what
-- programs before it use (a table, a column, a value they write) raises it in its own file: UPDATE schema_floor SET version =
-- its number. One that only adds leaves it, so that programs before it go on and can be started again.
CREATE TABLE schema_floor (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
);
INSERT INTO schema_floor (id, version) VALUES (1, 73);
