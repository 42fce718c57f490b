-- When the alarms of a sale rose and ended.
CREATE TABLE sale_alarms (
    sale_id BIGINT NOT NULL,
    rose_at_ms BIGINT NOT NULL,
    alarm TEXT NOT NULL,
    -- NULL: it stands.
    ended_at_ms BIGINT,
    PRIMARY KEY (sale_id, rose_at_ms, alarm)
);
-- An alarm stands once, however many processes see it.
CREATE UNIQUE INDEX sale_alarms_standing ON sale_alarms (sale_id, alarm) WHERE ended_at_ms IS NULL;
