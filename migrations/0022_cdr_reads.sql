-- A number's calls are looked for by its first digits, so these two are in the order of the bytes. What is rarely asked
-- for alone (status, country) is found by looking through a bounded stretch of time: every index is written with every
-- call.
DROP INDEX cdrs_by_called;
DROP INDEX cdrs_by_calling;
DROP INDEX cdrs_by_status;
DROP INDEX cdrs_by_country;
CREATE INDEX cdrs_by_called ON cdrs (account_id, called /*pg COLLATE "C" */, started_at, id);
CREATE INDEX cdrs_by_calling ON cdrs (account_id, calling /*pg COLLATE "C" */, started_at, id);

-- Records of calls that a customer asked for as a file.
CREATE TABLE cdr_exports (
    id           UUID PRIMARY KEY NOT NULL,
    account_id   UUID NOT NULL REFERENCES accounts (id),
    status       TEXT NOT NULL,
    format       TEXT NOT NULL,
    compression  TEXT NOT NULL,
    -- Calls that began from here on, and before there.
    range_from   BIGINT NOT NULL,
    range_to     BIGINT NOT NULL,
    -- How many are in the file, or were so far.
    rows_count   BIGINT NOT NULL,
    size_bytes   BIGINT,
    -- Absent before the file is there, and after it has expired.
    content_hash BYTEA,
    -- Why there is none.
    reason       TEXT,
    requested_at BIGINT NOT NULL,
    completed_at BIGINT,
    expires_at   BIGINT
);
CREATE INDEX cdr_exports_of_account ON cdr_exports (account_id, requested_at, id);
CREATE INDEX cdr_exports_by_age ON cdr_exports (requested_at);
CREATE INDEX cdr_exports_unfinished ON cdr_exports (requested_at) WHERE status IN ('queued', 'running');
CREATE INDEX cdr_exports_to_expire ON cdr_exports (expires_at) WHERE status = 'ready';
CREATE INDEX cdr_exports_of_file ON cdr_exports (content_hash) WHERE content_hash IS NOT NULL;
