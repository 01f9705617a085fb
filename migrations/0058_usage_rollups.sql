-- Calls by when they began, summed for usage and traffic series: for each hour (span 1) and each UTC day (span 24). A
-- slot is named by its first hour, in hours since 1970. They are written with every call.

-- By trunk.
CREATE TABLE usage_trunks (
    account_id UUID NOT NULL,
    span       BIGINT NOT NULL,
    slot       BIGINT NOT NULL,
    trunk_id   UUID NOT NULL,
    attempts   BIGINT NOT NULL,
    answered   BIGINT NOT NULL,
    seconds    BIGINT NOT NULL,
    charge     BIGINT NOT NULL,
    cost       BIGINT NOT NULL,
    PRIMARY KEY (account_id, span, slot, trunk_id)
);
-- For the series of all customers.
CREATE INDEX usage_trunks_in_order ON usage_trunks (span, slot, account_id);

-- By destination; no country or destination is an empty text.
CREATE TABLE usage_destinations (
    account_id       UUID NOT NULL,
    span             BIGINT NOT NULL,
    slot             BIGINT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    attempts         BIGINT NOT NULL,
    answered         BIGINT NOT NULL,
    seconds          BIGINT NOT NULL,
    charge           BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    PRIMARY KEY (account_id, span, slot, country, destination_name)
);

-- Of all customers, by destination and upstream; no upstream is the UUID of zeros.
CREATE TABLE usage_routes (
    span             BIGINT NOT NULL,
    slot             BIGINT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    upstream_id      UUID NOT NULL,
    attempts         BIGINT NOT NULL,
    answered         BIGINT NOT NULL,
    seconds          BIGINT NOT NULL,
    charge           BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    PRIMARY KEY (span, slot, country, destination_name, upstream_id)
);

INSERT INTO usage_trunks (account_id, span, slot, trunk_id, attempts, answered, seconds, charge, cost)
    SELECT account_id, 1, started_at / 3600000, trunk_id, COUNT(*), COUNT(CASE WHEN status = 'answered' THEN 1 END),
           SUM(duration_seconds), SUM(charge), SUM(cost)
    FROM cdrs GROUP BY account_id, started_at / 3600000, trunk_id;
INSERT INTO usage_trunks (account_id, span, slot, trunk_id, attempts, answered, seconds, charge, cost)
    SELECT account_id, 24, slot / 24 * 24, trunk_id, SUM(attempts), SUM(answered), SUM(seconds), SUM(charge), SUM(cost)
    FROM usage_trunks WHERE span = 1 GROUP BY account_id, slot / 24, trunk_id;

INSERT INTO usage_destinations
    (account_id, span, slot, country, destination_name, attempts, answered, seconds, charge, cost)
    SELECT account_id, 1, started_at / 3600000, COALESCE(country, ''), COALESCE(destination_name, ''), COUNT(*),
           COUNT(CASE WHEN status = 'answered' THEN 1 END), SUM(duration_seconds), SUM(charge), SUM(cost)
    FROM cdrs GROUP BY account_id, started_at / 3600000, COALESCE(country, ''), COALESCE(destination_name, '');
INSERT INTO usage_destinations
    (account_id, span, slot, country, destination_name, attempts, answered, seconds, charge, cost)
    SELECT account_id, 24, slot / 24 * 24, country, destination_name, SUM(attempts), SUM(answered), SUM(seconds),
           SUM(charge), SUM(cost)
    FROM usage_destinations WHERE span = 1 GROUP BY account_id, slot / 24, country, destination_name;
