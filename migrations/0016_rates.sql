-- How often each thing has changed that nodes keep in memory, and when it did last.
CREATE TABLE versions (
    name       TEXT PRIMARY KEY NOT NULL,
    version    BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
