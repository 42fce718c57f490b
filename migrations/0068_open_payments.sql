-- How many payments into a wallet are open, and unpaid payments, which are deleted after a while.
CREATE INDEX payments_open_top_ups ON payments (user_id) WHERE user_id IS NOT NULL AND close_at_ms IS NOT NULL;
CREATE INDEX payments_never_made ON payments (id) WHERE status = 'created' AND closed_at_ms IS NOT NULL;
