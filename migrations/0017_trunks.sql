-- Where a customer's calls come in and go out.
CREATE TABLE trunks (
    id          UUID PRIMARY KEY NOT NULL,
    account_id  UUID NOT NULL REFERENCES accounts (id),
    name        TEXT NOT NULL,
    zone        TEXT NOT NULL,
    channel_cap BIGINT NOT NULL CONSTRAINT trunk_carries_calls CHECK (channel_cap >= 1),
    -- New calls in a second; absent means any number.
    cps_limit   BIGINT CONSTRAINT trunk_takes_calls CHECK (cps_limit >= 1),
    -- Where calls to its numbers go.
    inbound_uri TEXT,
    is_default  BOOLEAN NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX trunks_in_order ON trunks (account_id, created_at, id);
CREATE UNIQUE INDEX trunks_default ON trunks (account_id) WHERE is_default;

-- Networks that a trunk's calls come from. No two overlap, whoever they belong to.
CREATE TABLE ip_allow_entries (
    id            UUID PRIMARY KEY NOT NULL,
    trunk_id      UUID NOT NULL REFERENCES trunks (id),
    account_id    UUID NOT NULL REFERENCES accounts (id),
    cidr          TEXT NOT NULL,
    note          TEXT,
    -- Sixteen bytes each, IPv4 as ::ffff:a.b.c.d, so that all networks stand in one order.
    first_address BYTEA NOT NULL,
    last_address  BYTEA NOT NULL,
    created_at    BIGINT NOT NULL,
    CONSTRAINT allowed_network_is_one CHECK (first_address <= last_address),
    UNIQUE (first_address)
);
CREATE INDEX ip_allow_entries_in_order ON ip_allow_entries (trunk_id, created_at, id);

-- What an account may lose to a fraud, once it chose so; in nanos of its currency.
CREATE TABLE fraud_caps (
    account_id          UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    max_spend_per_day   BIGINT NOT NULL CONSTRAINT daily_cap_is_positive CHECK (max_spend_per_day > 0),
    max_rate_per_minute BIGINT NOT NULL CONSTRAINT rate_cap_is_positive CHECK (max_rate_per_minute > 0),
    updated_at          BIGINT NOT NULL
);

INSERT INTO versions (name, version, changed_at) VALUES ('addresses', 0, 0);
