-- The last entry whose owner was told that the result of the draw is there: '' before the first, NULL once all were told and for
-- draws that were held before this column existed.
ALTER TABLE draws ADD COLUMN result_told_until TEXT;
