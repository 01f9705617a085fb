-- Public keys of authenticators (WebAuthn): a second factor, or a sign-in without a password.
CREATE TABLE passkeys (
    id            UUID PRIMARY KEY NOT NULL,
    user_id       UUID NOT NULL REFERENCES users (id),
    credential_id BYTEA NOT NULL,
    -- COSE.
    public_key    BYTEA NOT NULL,
    -- Rises with every use, unless the authenticator has no counter.
    sign_count    BIGINT NOT NULL,
    name          TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    last_used_at  BIGINT
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id, created_at, id);

-- Challenges that were answered, until they expire: none is answered twice.
CREATE TABLE passkey_challenges (
    challenge_hash BYTEA PRIMARY KEY NOT NULL,
    expires_at     BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
