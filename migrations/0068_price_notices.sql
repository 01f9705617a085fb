-- What a price change does to customers with the same rate plans: compared once for all of them.
CREATE TABLE price_comparisons (
    id           UUID PRIMARY KEY NOT NULL,
    change_id    UUID NOT NULL,
    -- The version of the plan before and after; the UUID of zeros is the list price.
    from_version UUID NOT NULL,
    to_version   UUID NOT NULL,
    -- No new price counts earlier for these customers.
    since        BIGINT NOT NULL,
    -- Prefixes whose price changes.
    added        BIGINT NOT NULL,
    removed      BIGINT NOT NULL,
    increased    BIGINT NOT NULL,
    decreased    BIGINT NOT NULL,
    -- The changes as files; absent if there are none or too many.
    csv_hash     BYTEA,
    csv_bytes    BIGINT,
    xlsx_hash    BYTEA,
    xlsx_bytes   BIGINT,
    -- The rates of destinations at both times, as JSON.
    destinations TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    CONSTRAINT price_comparisons_key UNIQUE (change_id, from_version, to_version, since)
);
CREATE INDEX price_comparisons_created ON price_comparisons (created_at);
CREATE INDEX price_comparisons_csv ON price_comparisons (csv_hash) WHERE csv_hash IS NOT NULL;
CREATE INDEX price_comparisons_xlsx ON price_comparisons (xlsx_hash) WHERE xlsx_hash IS NOT NULL;

-- What customers were notified of: one notice for each customer and change.
CREATE TABLE price_notices (
    id            UUID PRIMARY KEY NOT NULL,
    account_id    UUID NOT NULL REFERENCES accounts (id),
    change_id     UUID NOT NULL,
    comparison_id UUID NOT NULL REFERENCES price_comparisons (id),
    cause         TEXT NOT NULL,
    -- The last moment of the old prices, and when all new ones are in force.
    from_at       BIGINT NOT NULL,
    to_at         BIGINT NOT NULL,
    -- From the comparison.
    added         BIGINT NOT NULL,
    removed       BIGINT NOT NULL,
    increased     BIGINT NOT NULL,
    decreased     BIGINT NOT NULL,
    csv_hash      BYTEA,
    xlsx_hash     BYTEA,
    -- What it means for the customer's calls of 30 days, as JSON.
    impact        TEXT NOT NULL,
    -- The addresses that it was mailed to, as a JSON list.
    mailed_to     TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    CONSTRAINT price_notices_once UNIQUE (account_id, change_id)
);
CREATE INDEX price_notices_account ON price_notices (account_id, created_at, id);
CREATE INDEX price_notices_created ON price_notices (created_at, id);
CREATE INDEX price_notices_comparison ON price_notices (comparison_id);
