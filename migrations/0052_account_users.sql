-- What a customer's user may do in its account. So far everyone could do everything.
ALTER TABLE users ADD COLUMN account_role TEXT NOT NULL DEFAULT 'owner';
-- An owner of the account invited the user, who does not count as an owner before it has proved its mailbox.
ALTER TABLE users ADD COLUMN is_invited BOOLEAN NOT NULL DEFAULT FALSE;
-- The address that an invitation named, if it was another user's: the account must not learn that it is.
ALTER TABLE users ADD COLUMN invited_email TEXT;
ALTER TABLE users ADD COLUMN last_sign_in_at BIGINT;
-- A deleted user keeps its row for what it did, and gives up its address.
ALTER TABLE users ADD COLUMN deleted_at BIGINT;

UPDATE users SET last_sign_in_at = (SELECT MAX(created_at) FROM sessions WHERE user_id = users.id);
