-- What the owners ask of all staff. One row.
CREATE TABLE staff_policy (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    -- 1: only staff with a second factor use the console.
    second_factor_required BIGINT NOT NULL CHECK (second_factor_required IN (0, 1))
);
INSERT INTO staff_policy (id, second_factor_required) VALUES (1, 0);
