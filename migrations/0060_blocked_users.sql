-- The team deactivated the user: only the team lets it sign in again. Who deactivated whom before is not known.
ALTER TABLE users ADD COLUMN is_blocked BOOLEAN NOT NULL DEFAULT FALSE;
