-- The audit log: a chain of rows, and its head.
CREATE TABLE audit_log (
    seq        BIGINT PRIMARY KEY NOT NULL,
    id         UUID NOT NULL,
    ts         BIGINT NOT NULL,
    action     TEXT NOT NULL,
    account_id UUID,
    user_id    UUID,
    actor      TEXT,
    ip         TEXT,
    user_agent TEXT,
    outcome    TEXT NOT NULL,
    reason     TEXT,
    meta       TEXT,
    hash       BYTEA NOT NULL,
    UNIQUE (id)
);
CREATE TABLE audit_head (
    id   BIGINT PRIMARY KEY NOT NULL CONSTRAINT audit_head_is_one CHECK (id = 1),
    seq  BIGINT NOT NULL,
    hash BYTEA NOT NULL
);
INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, CAST('' AS BYTEA));

-- Responses kept for replay, with the effect they told of.
CREATE TABLE idempotency_keys (
    owner       UUID NOT NULL,
    method      TEXT NOT NULL,
    path        TEXT NOT NULL,
    key         UUID NOT NULL,
    body_digest BYTEA NOT NULL,
    created_at  BIGINT NOT NULL,
    status      BIGINT,
    headers     TEXT,
    -- Sealed with the key for stored responses.
    body        BYTEA,
    PRIMARY KEY (owner, method, path, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- How much of a limit was used in a window, where several nodes share it.
CREATE TABLE rate_windows (
    limit_name TEXT NOT NULL,
    subject    UUID NOT NULL,
    started_at BIGINT NOT NULL,
    used       BIGINT NOT NULL,
    PRIMARY KEY (limit_name, subject, started_at)
);
CREATE INDEX rate_windows_age ON rate_windows (started_at);
