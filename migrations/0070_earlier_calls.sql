-- When the account was called for the place that it had before this one, whose turn it missed.
ALTER TABLE queue_places ADD COLUMN earlier_call_ms BIGINT;
