-- The public rounds of a draw that never came, and what replaced each: JSON as in the proof of the draw; NULL without any.
-- Then the last entry whose owner was told of the latest one: '' before the first, NULL once all were told. It is not
-- told_until, by which older processes would tell entrants that the draw is called off.
ALTER TABLE draws ADD COLUMN round_changes TEXT;
ALTER TABLE draws ADD COLUMN change_told_until TEXT;
