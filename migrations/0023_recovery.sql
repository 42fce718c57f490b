-- Packets that grant nothing until every server has replayed its grants. Servers learn from here which they are.
ALTER TABLE packets ADD COLUMN recovering BIGINT NOT NULL DEFAULT 0 CHECK (recovering IN (0, 1));
CREATE INDEX packets_recovering ON packets (id) WHERE recovering = 1;
