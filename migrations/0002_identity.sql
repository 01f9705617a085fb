-- What this database belongs to: a mark of the master secret, never the secret.
CREATE TABLE installation (
    id          BIGINT PRIMARY KEY NOT NULL CONSTRAINT installation_is_one CHECK (id = 1),
    master_mark BYTEA NOT NULL
);

CREATE TABLE accounts (
    id                UUID PRIMARY KEY NOT NULL,
    company_name      TEXT NOT NULL,
    locale            TEXT NOT NULL,
    postal_address    TEXT,
    invoice_address   TEXT,
    vat_id            TEXT,
    vat_status        TEXT NOT NULL,
    onboarding_status TEXT NOT NULL,
    contact_name      TEXT NOT NULL,
    contact_email     TEXT NOT NULL,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL
);

CREATE TABLE users (
    id            UUID PRIMARY KEY NOT NULL,
    account_id    UUID NOT NULL REFERENCES accounts (id),
    email         TEXT NOT NULL,
    name          TEXT NOT NULL,
    roles         TEXT NOT NULL,
    -- Absent until the user chose one: a magic link is then the only way in.
    password_hash TEXT,
    is_active     BOOLEAN NOT NULL,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL,
    UNIQUE (email)
);
CREATE INDEX users_account ON users (account_id, id);

-- At most one first admin: whoever inserts this row may make it, so the row comes before the user.
CREATE TABLE first_admin (
    id         BIGINT PRIMARY KEY NOT NULL CONSTRAINT first_admin_is_one CHECK (id = 1),
    user_id    UUID NOT NULL,
    created_at BIGINT NOT NULL
);

-- A sign-in on a device, and the family of all refresh tokens that followed from it.
CREATE TABLE sessions (
    id           UUID PRIMARY KEY NOT NULL,
    user_id      UUID NOT NULL REFERENCES users (id),
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    ended_at     BIGINT,
    ip           TEXT NOT NULL,
    user_agent   TEXT
);
CREATE INDEX sessions_user ON sessions (user_id, created_at, id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE refresh_tokens (
    token_hash BYTEA PRIMARY KEY NOT NULL,
    session_id UUID NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    -- The token that was spent for this one.
    parent     BYTEA,
    used_at    BIGINT,
    created_at BIGINT NOT NULL
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent);

-- Every access token that may still be alive: without its row a token is worth nothing.
CREATE TABLE access_tokens (
    jti        UUID PRIMARY KEY NOT NULL,
    user_id    UUID NOT NULL REFERENCES users (id),
    session_id UUID REFERENCES sessions (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT
);
CREATE INDEX access_tokens_user ON access_tokens (user_id);
CREATE INDEX access_tokens_session ON access_tokens (session_id);
CREATE INDEX access_tokens_expiry ON access_tokens (expires_at);

-- Links sent by mail: magic links and password resets.
CREATE TABLE link_tokens (
    token_hash BYTEA PRIMARY KEY NOT NULL,
    purpose    TEXT NOT NULL,
    user_id    UUID NOT NULL REFERENCES users (id),
    expires_at BIGINT NOT NULL,
    used_at    BIGINT
);
CREATE INDEX link_tokens_user ON link_tokens (user_id, purpose);
CREATE INDEX link_tokens_expiry ON link_tokens (expires_at);

-- Failed sign-ins of one email from one address: each doubles the wait before the next counts.
CREATE TABLE sign_in_failures (
    subject      UUID PRIMARY KEY NOT NULL,
    failures     BIGINT NOT NULL,
    locked_until BIGINT NOT NULL,
    failed_at    BIGINT NOT NULL
);
CREATE INDEX sign_in_failures_age ON sign_in_failures (failed_at);

CREATE TABLE two_factor_seeds (
    user_id      UUID PRIMARY KEY NOT NULL REFERENCES users (id),
    -- Sealed with the key for seeds.
    seed         BYTEA NOT NULL,
    confirmed_at BIGINT,
    -- The time step of the last accepted code: no code is accepted twice.
    last_step    BIGINT NOT NULL,
    last_used_at BIGINT,
    created_at   BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
    code_hash BYTEA PRIMARY KEY NOT NULL,
    user_id   UUID NOT NULL REFERENCES users (id),
    used_at   BIGINT
);
CREATE INDEX recovery_codes_user ON recovery_codes (user_id);

-- Sign-ins between password and second factor.
CREATE TABLE two_factor_challenges (
    jti        UUID PRIMARY KEY NOT NULL,
    user_id    UUID NOT NULL REFERENCES users (id),
    tries      BIGINT NOT NULL,
    used_at    BIGINT,
    expires_at BIGINT NOT NULL
);
CREATE INDEX two_factor_challenges_user ON two_factor_challenges (user_id);
CREATE INDEX two_factor_challenges_expiry ON two_factor_challenges (expires_at);
