-- Calls to customers' numbers go on beside those they place: the two may have the Call-ID and the tag in common when one
-- customer calls another, or itself, and where they go is kept with them.
DROP INDEX live_calls_of_account;
DROP INDEX live_calls_in_order;
DROP INDEX live_calls_due;
ALTER TABLE live_calls RENAME TO live_calls_before;
CREATE TABLE live_calls (
    -- The call's token, and the id that its record will have.
    token             UUID PRIMARY KEY NOT NULL,
    edge_id           TEXT NOT NULL,
    call_id           TEXT NOT NULL,
    -- Empty when the switch sent none.
    from_tag          TEXT NOT NULL,
    account_id        UUID NOT NULL REFERENCES accounts (id),
    trunk_id          UUID NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    currency          TEXT NOT NULL,
    -- What a minute and the connection are sold at, in nanos, and how the seconds are counted.
    rate_per_minute   BIGINT NOT NULL,
    connect_fee       BIGINT NOT NULL,
    increment_seconds BIGINT NOT NULL,
    minimum_seconds   BIGINT NOT NULL,
    -- Whose price it is.
    rate_upstream_id  UUID,
    -- Who may carry it, the cheapest first, each with what it asks; as JSON.
    routes            TEXT NOT NULL,
    -- Where a call to a customer's number goes.
    target_uri        TEXT,
    -- Who does carry it, once that is known.
    upstream_id       UUID,
    -- When it was allowed, by our clock.
    started_at        BIGINT NOT NULL,
    -- When it was answered, by the switch's.
    answered_at       BIGINT,
    -- The last that was heard of it, by the switch's clock.
    seen_at           BIGINT NOT NULL,
    -- The money that is set aside for it, in nanos, and for how many seconds from the answer that is enough.
    reserved          BIGINT NOT NULL,
    reserved_seconds  BIGINT NOT NULL,
    -- When its money is let go of if nobody speaks of it again.
    expires_at        BIGINT NOT NULL,
    -- Somebody of the team wants it to end.
    hang_up           BOOLEAN NOT NULL,
    UNIQUE (edge_id, call_id, from_tag, trunk_id, leg)
);
INSERT INTO live_calls (token, edge_id, call_id, from_tag, account_id, trunk_id, leg, zone, calling, called, country,
        destination_name, prefix, currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
        rate_upstream_id, routes, upstream_id, started_at, answered_at, seen_at, reserved, reserved_seconds, expires_at,
        hang_up)
    SELECT token, edge_id, call_id, from_tag, account_id, trunk_id, leg, zone, calling, called, country,
        destination_name, prefix, currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
        rate_upstream_id, routes, upstream_id, started_at, answered_at, seen_at, reserved, reserved_seconds, expires_at,
        hang_up
    FROM live_calls_before;
DROP TABLE live_calls_before;
CREATE INDEX live_calls_of_account ON live_calls (account_id, started_at, token);
CREATE INDEX live_calls_of_trunk ON live_calls (trunk_id, started_at, token);
CREATE INDEX live_calls_of_leg ON live_calls (leg, started_at, token);
CREATE INDEX live_calls_in_order ON live_calls (started_at, token);
CREATE INDEX live_calls_due ON live_calls (expires_at);
CREATE INDEX live_calls_to_end ON live_calls (edge_id) WHERE hang_up;

-- Whose calls may not go on.
CREATE INDEX onboardings_suspended ON onboardings (account_id) WHERE suspended_from IS NOT NULL;
-- Who had a number when.
CREATE INDEX numbers_by_e164 ON numbers (e164, since);
