-- Events that the service has not heard yet, a batch to a row, and those it will never take.
CREATE TABLE outbox (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    batch   VARCHAR NOT NULL,
    refused INTEGER NOT NULL
);
-- What waits in memory when Kamailio stops in order.
CREATE TABLE events (
    id  INTEGER PRIMARY KEY AUTOINCREMENT,
    key VARCHAR(64) NOT NULL DEFAULT '',
    val VARCHAR(4096) NOT NULL DEFAULT ''
);
