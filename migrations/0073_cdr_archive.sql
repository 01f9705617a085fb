-- CDRs of days that left the database, as Parquet files in the file store. A day has one file, or several of bounded
-- size. Amounts are in nanos.
CREATE TABLE cdr_archive_files (
    -- Days since 1970.
    day          BIGINT NOT NULL,
    part         BIGINT NOT NULL,
    content_hash BYTEA NOT NULL,
    size_bytes   BIGINT NOT NULL,
    calls        BIGINT NOT NULL,
    seconds      BIGINT NOT NULL,
    charge       BIGINT NOT NULL,
    cost         BIGINT NOT NULL,
    -- Whether a number in it is not anonymised yet.
    has_numbers  BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL,
    -- When the file was read back and compared with the rollups; until then the database has its CDRs.
    verified_at  BIGINT,
    PRIMARY KEY (day, part)
);
CREATE INDEX cdr_archive_files_of_file ON cdr_archive_files (content_hash);
CREATE INDEX cdr_archive_files_unverified ON cdr_archive_files (day, part) WHERE verified_at IS NULL;
CREATE INDEX cdr_archive_files_with_numbers ON cdr_archive_files (day, part) WHERE has_numbers;

-- How far the archive is, in Unix milliseconds. Calls before `hot_from` are in verified files; those before `dropped_to`
-- are no longer in `cdrs`.
CREATE TABLE cdr_archive (
    id         BIGINT PRIMARY KEY NOT NULL,
    hot_from   BIGINT NOT NULL,
    dropped_to BIGINT NOT NULL
);
INSERT INTO cdr_archive (id, hot_from, dropped_to) VALUES (1, 0, 0);
