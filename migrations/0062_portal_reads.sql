-- Where a payer goes on with a checkout that it left.
ALTER TABLE payments ADD COLUMN checkout_url TEXT;

-- The lowest price of each country.
CREATE INDEX number_groups_by_price ON number_groups (country, monthly) WHERE free > 0;

-- Processes of the service, as each of them reports itself.
CREATE TABLE nodes (
    id         UUID PRIMARY KEY NOT NULL,
    version    TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

-- When each edge last called any node, a little late.
CREATE TABLE edges (
    edge_id TEXT PRIMARY KEY NOT NULL,
    seen_at BIGINT NOT NULL
);
