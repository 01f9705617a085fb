-- The host outside the trunk's allow-list to which the team lets inbound calls go.
ALTER TABLE trunks ADD COLUMN allowed_inbound_host TEXT;
CREATE INDEX trunks_newest ON trunks (created_at, id);

-- The address that an inbound call is sent to, which was checked when it was allowed.
ALTER TABLE live_calls ADD COLUMN next_hop TEXT;

-- Inbound calls of a trunk to a target outside its allow-list that began in a second.
CREATE TABLE foreign_load (
    trunk_id  UUID PRIMARY KEY NOT NULL,
    second    BIGINT NOT NULL,
    in_second BIGINT NOT NULL
);
