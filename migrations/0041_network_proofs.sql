-- Networks that a trunk's calls come from. Customers may list the same network; no two verified ones overlap.
CREATE TABLE listed_networks (
    id            UUID PRIMARY KEY NOT NULL,
    trunk_id      UUID NOT NULL REFERENCES trunks (id),
    account_id    UUID NOT NULL REFERENCES accounts (id),
    cidr          TEXT NOT NULL,
    note          TEXT,
    -- Sixteen bytes each, IPv4 as ::ffff:a.b.c.d, so that all networks stand in one order.
    first_address BYTEA NOT NULL,
    last_address  BYTEA NOT NULL,
    -- The password that a SIP request from the network proves it with.
    code          TEXT NOT NULL,
    -- When it was proved, or the team vouched for it.
    verified_at   BIGINT,
    created_at    BIGINT NOT NULL,
    CONSTRAINT listed_network_is_one CHECK (first_address <= last_address)
);
-- Networks that counted so far still do.
INSERT INTO listed_networks (id, trunk_id, account_id, cidr, note, first_address, last_address, code, verified_at, created_at)
    SELECT id, trunk_id, account_id, cidr, note, first_address, last_address, '', created_at, created_at
    FROM ip_allow_entries;
DROP TABLE ip_allow_entries;
ALTER TABLE listed_networks RENAME TO ip_allow_entries;
CREATE INDEX ip_allow_entries_in_order ON ip_allow_entries (trunk_id, created_at, id);
CREATE INDEX ip_allow_entries_by_address ON ip_allow_entries (first_address);
