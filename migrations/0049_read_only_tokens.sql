-- Whether a token may only read. Its row decides that, not what the token says of itself.
ALTER TABLE access_tokens ADD COLUMN is_read_only BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE access_tokens SET is_read_only = TRUE WHERE impersonator_id IS NOT NULL;
