-- How the routes of calls are ordered: one document, as JSON.
CREATE TABLE routing_policies (
    id         BIGINT PRIMARY KEY NOT NULL CONSTRAINT routing_policies_are_one CHECK (id = 1),
    policies   TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);
INSERT INTO versions (name, version, changed_at) VALUES ('routing_policies', 0, 0);

-- How the calls of each upstream to each destination went, per minute, summed over all nodes. Only the last minutes are
-- kept: nodes count in memory and share their counts here.
CREATE TABLE route_stats (
    minute           BIGINT NOT NULL,
    destination_name TEXT NOT NULL,
    upstream_id      UUID NOT NULL,
    attempts         BIGINT NOT NULL,
    answered         BIGINT NOT NULL,
    ended            BIGINT NOT NULL,
    seconds          BIGINT NOT NULL,
    delays           BIGINT NOT NULL,
    delay_millis     BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL,
    PRIMARY KEY (minute, destination_name, upstream_id)
);
CREATE INDEX route_stats_updated ON route_stats (updated_at);

-- Circuit breakers that are open, or were a short time ago.
CREATE TABLE route_breakers (
    destination_name TEXT NOT NULL,
    upstream_id      UUID NOT NULL,
    is_open          BOOLEAN NOT NULL,
    -- The SIP response of the last failure; none for a timeout.
    sip_code         BIGINT,
    opened_at        BIGINT NOT NULL,
    -- When it last opened, failed again or closed.
    changed_at       BIGINT NOT NULL,
    -- When the team was last told that it opened, and whether it has to be told that it closed.
    announced_at     BIGINT,
    is_announced     BOOLEAN NOT NULL,
    PRIMARY KEY (destination_name, upstream_id)
);
CREATE INDEX route_breakers_changed ON route_breakers (changed_at);
