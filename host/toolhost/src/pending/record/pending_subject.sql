-- The subject of the turn of each call.
ALTER TABLE pending ADD COLUMN subject TEXT;
