-- Keys with which programs call the API. Only the hash of a key is stored.
CREATE TABLE api_keys (
    id            UUID PRIMARY KEY NOT NULL,
    account_id    UUID NOT NULL REFERENCES accounts (id),
    -- A key of the operator's team, not of the account's customer.
    is_team       BOOLEAN NOT NULL,
    created_by    UUID NOT NULL REFERENCES users (id),
    name          TEXT NOT NULL,
    -- Its first characters, by which people tell keys apart.
    prefix        TEXT NOT NULL,
    secret_hash   BYTEA NOT NULL,
    scopes        TEXT NOT NULL,
    -- The networks it may be used from, as a JSON array; all if empty.
    allowed_cidrs TEXT NOT NULL,
    expires_at    BIGINT,
    created_at    BIGINT NOT NULL,
    -- At most a minute old while the key is in use.
    last_used_at  BIGINT,
    last_used_ip  TEXT,
    revoked_at    BIGINT,
    UNIQUE (secret_hash)
);
CREATE INDEX api_keys_account ON api_keys (account_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_team ON api_keys (created_at, id) WHERE is_team AND revoked_at IS NULL;
CREATE INDEX api_keys_creator ON api_keys (created_by) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_revoked ON api_keys (revoked_at) WHERE revoked_at IS NOT NULL;
