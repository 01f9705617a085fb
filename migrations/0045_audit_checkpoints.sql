-- The audit log up to each of these rows is in a file, verified before it left the table.
CREATE TABLE audit_checkpoints (
    last_seq      BIGINT PRIMARY KEY NOT NULL,
    first_seq     BIGINT NOT NULL CONSTRAINT audit_checkpoints_first_seq_key UNIQUE,
    row_count     BIGINT NOT NULL,
    -- The hashes of the row before the first one and of the last one.
    previous_hash BYTEA NOT NULL,
    last_hash     BYTEA NOT NULL,
    content_hash  BYTEA NOT NULL,
    created_at    BIGINT NOT NULL,
    -- HMAC over all of the above.
    mac           BYTEA NOT NULL,
    CONSTRAINT audit_checkpoints_count CHECK (row_count = last_seq - first_seq + 1 AND first_seq > 0)
);
CREATE INDEX audit_checkpoints_of_file ON audit_checkpoints (content_hash);

-- Master secrets that were replaced: their fingerprints, and their audit keys, sealed, which verify the rows up to
-- until_seq.
CREATE TABLE retired_master_secrets (
    mark             BYTEA PRIMARY KEY NOT NULL,
    sealed_audit_key BYTEA NOT NULL,
    until_seq        BIGINT NOT NULL,
    retired_at       BIGINT NOT NULL
);

-- The fingerprint of the master secret that is being replaced, while both are in use.
ALTER TABLE installation ADD COLUMN previous_mark BYTEA;
