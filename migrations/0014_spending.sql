-- The account of the member of the staff who gave a packet from the shop's purse: roles may spend only so much in a day.
ALTER TABLE packets ADD COLUMN given_by TEXT;
