-- The admin behind a token that reads as a customer: what ends for the admin ends for the token.
ALTER TABLE access_tokens ADD COLUMN impersonator_id UUID REFERENCES users (id);
CREATE INDEX access_tokens_impersonator ON access_tokens (impersonator_id) WHERE impersonator_id IS NOT NULL;

-- The carrier's team among all users.
CREATE INDEX users_of_team ON users (id) WHERE roles <> 'customer';
