-- 1 while Redis gives the places of a list that is open, and the database may lack some. Redis may lose them all, and the shop must know that there
-- was something to lose.
ALTER TABLE queues ADD COLUMN gathers BIGINT NOT NULL DEFAULT 0;
