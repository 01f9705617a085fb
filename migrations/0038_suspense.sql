-- Deleted trunks and allow-list entries. A call that is imported later belongs to whoever had them when it began.
CREATE TABLE deleted_trunks (
    id         UUID PRIMARY KEY NOT NULL,
    account_id UUID NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    deleted_at BIGINT NOT NULL
);

CREATE TABLE deleted_allow_entries (
    id            UUID PRIMARY KEY NOT NULL,
    trunk_id      UUID NOT NULL,
    account_id    UUID NOT NULL REFERENCES accounts (id),
    first_address BYTEA NOT NULL,
    last_address  BYTEA NOT NULL,
    created_at    BIGINT NOT NULL,
    deleted_at    BIGINT NOT NULL
);
CREATE INDEX deleted_allow_entries_by_address ON deleted_allow_entries (first_address);

-- Imported lines that could not be rated yet.
CREATE TABLE suspended_cdrs (
    id           UUID PRIMARY KEY NOT NULL,
    reason       TEXT NOT NULL,
    call_id      TEXT NOT NULL,
    leg          TEXT NOT NULL,
    trunk_id     UUID,
    source_ip    TEXT,
    upstream_id  UUID,
    calling      TEXT,
    called       TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    answered_at  BIGINT,
    ended_at     BIGINT NOT NULL,
    status       TEXT NOT NULL,
    -- The trunk, or else the address, that the line names.
    origin       TEXT NOT NULL,
    suspended_at BIGINT NOT NULL,
    UNIQUE (call_id, leg, started_at, origin)
);
CREATE INDEX suspended_cdrs_in_order ON suspended_cdrs (suspended_at, id);
CREATE INDEX suspended_cdrs_by_reason ON suspended_cdrs (reason, suspended_at, id);

-- How many lines are suspended for each reason.
CREATE TABLE suspense_counts (
    reason TEXT PRIMARY KEY NOT NULL,
    lines  BIGINT NOT NULL CONSTRAINT suspense_count_is_a_number CHECK (lines >= 0)
);
