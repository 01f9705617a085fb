-- Event batches not delivered yet (refused = 0) and batches the service refused for good (refused = 1).
CREATE TABLE outbox (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    batch   VARCHAR NOT NULL,
    refused INTEGER NOT NULL
);
-- The in-memory event queue, saved by mqueue when Kamailio shuts down.
CREATE TABLE events (
    id  INTEGER PRIMARY KEY AUTOINCREMENT,
    key VARCHAR(64) NOT NULL DEFAULT '',
    val VARCHAR(4096) NOT NULL DEFAULT ''
);
