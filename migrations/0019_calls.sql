-- Calls that are going on, each with what it was sold at: a deck that changes meanwhile changes nothing for it.
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
    -- Who does carry it, once somebody said so.
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
    UNIQUE (edge_id, call_id, from_tag, trunk_id)
);
CREATE INDEX live_calls_of_account ON live_calls (account_id, started_at, token);
CREATE INDEX live_calls_in_order ON live_calls (started_at, token);
CREATE INDEX live_calls_due ON live_calls (expires_at);

-- How busy a trunk is: its calls, and those that began in the second named last.
CREATE TABLE trunk_load (
    trunk_id  UUID PRIMARY KEY NOT NULL,
    live      BIGINT NOT NULL CONSTRAINT trunk_load_is_a_number CHECK (live >= 0),
    second    BIGINT NOT NULL,
    in_second BIGINT NOT NULL
);

-- How busy an account is in a zone, and the most it was in the hour and on the day named last.
CREATE TABLE zone_load (
    account_id  UUID NOT NULL REFERENCES accounts (id),
    zone        TEXT NOT NULL,
    live        BIGINT NOT NULL CONSTRAINT zone_load_is_a_number CHECK (live >= 0),
    -- Hours and days since 1970.
    hour        BIGINT NOT NULL,
    hour_peak   BIGINT NOT NULL,
    -- How often it has changed in that hour: the first change writes down the hour before.
    changes     BIGINT NOT NULL,
    before_hour BIGINT NOT NULL,
    before_peak BIGINT NOT NULL,
    day         BIGINT NOT NULL,
    day_peak    BIGINT NOT NULL,
    PRIMARY KEY (account_id, zone)
);

-- The most calls at once in each hour that is over.
CREATE TABLE zone_hours (
    account_id UUID NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    hour       BIGINT NOT NULL,
    peak       BIGINT NOT NULL,
    PRIMARY KEY (account_id, hour, zone)
);

-- How many calls at once an account may have in a zone, where the team chose a number.
CREATE TABLE zone_quotas (
    account_id UUID NOT NULL REFERENCES accounts (id),
    zone       TEXT NOT NULL,
    channels   BIGINT NOT NULL CONSTRAINT zone_quota_is_a_number CHECK (channels >= 0),
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (account_id, zone)
);

-- What the calls that began on a day have cost, and what is set aside for those that go on; in nanos.
CREATE TABLE daily_spend (
    account_id UUID NOT NULL REFERENCES accounts (id),
    day        BIGINT NOT NULL,
    charged    BIGINT NOT NULL
        CONSTRAINT daily_charged_in_range CHECK (charged BETWEEN 0 AND 4000000000000000000),
    reserved   BIGINT NOT NULL
        CONSTRAINT daily_reserved_in_range CHECK (reserved BETWEEN 0 AND 4000000000000000000),
    -- Whether the account heard that its cap is reached.
    told       BOOLEAN NOT NULL,
    PRIMARY KEY (account_id, day)
);

-- Calls that are over. The time in an id is `started_at`, so ids stand in the order of the calls.
CREATE TABLE cdrs (
    id                UUID NOT NULL,
    account_id        UUID NOT NULL,
    trunk_id          UUID NOT NULL,
    call_id           TEXT NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    started_at        BIGINT NOT NULL,
    answered_at       BIGINT,
    ended_at          BIGINT,
    -- From answer to end, and what of it was paid for.
    duration_seconds  BIGINT NOT NULL,
    billed_seconds    BIGINT NOT NULL,
    status            TEXT NOT NULL,
    currency          TEXT NOT NULL,
    rate_per_minute   BIGINT NOT NULL,
    connect_fee       BIGINT NOT NULL,
    increment_seconds BIGINT NOT NULL,
    minimum_seconds   BIGINT NOT NULL,
    -- Whose price it is, and who carried it.
    rate_upstream_id  UUID,
    upstream_id       UUID,
    -- What the customer paid and what it cost us, in nanos.
    charge            BIGINT NOT NULL CONSTRAINT cdr_charge_is_no_gift CHECK (charge >= 0),
    cost              BIGINT NOT NULL CONSTRAINT cdr_cost_is_no_gift CHECK (cost >= 0),
    -- The ledger's transaction that charged for it, with others; absent when nothing was charged.
    ledger_id         UUID,
    -- Whether it came as a line of another switch, which nobody had asked us about.
    imported          BOOLEAN NOT NULL,
    -- Whether a person should look at it: it was cut off from us, or went on for longer than was paid for.
    review            BOOLEAN NOT NULL,
    recorded_at       BIGINT NOT NULL,
    PRIMARY KEY (id, started_at)
) /*pg PARTITION BY RANGE (started_at) */;
CREATE UNIQUE INDEX cdrs_line ON cdrs (trunk_id, call_id, leg, started_at) WHERE imported;
CREATE INDEX cdrs_of_account ON cdrs (account_id, started_at, id);
CREATE INDEX cdrs_of_trunk ON cdrs (account_id, trunk_id, started_at, id);
CREATE INDEX cdrs_by_called ON cdrs (account_id, called, started_at);
CREATE INDEX cdrs_by_calling ON cdrs (account_id, calling, started_at);
CREATE INDEX cdrs_by_status ON cdrs (account_id, status, started_at);
CREATE INDEX cdrs_by_country ON cdrs (account_id, country, started_at);
CREATE INDEX cdrs_in_order ON cdrs (started_at, id);
CREATE INDEX cdrs_of_ledger ON cdrs (ledger_id) WHERE ledger_id IS NOT NULL;

-- Lines on their way into `cdrs`: those that are there already stay behind. Empty between transactions.
CREATE TABLE cdr_arrivals (
    batch             UUID NOT NULL,
    id                UUID NOT NULL,
    account_id        UUID NOT NULL,
    trunk_id          UUID NOT NULL,
    call_id           TEXT NOT NULL,
    leg               TEXT NOT NULL,
    zone              TEXT NOT NULL,
    calling           TEXT NOT NULL,
    called            TEXT NOT NULL,
    country           TEXT,
    destination_name  TEXT,
    prefix            TEXT,
    started_at        BIGINT NOT NULL,
    answered_at       BIGINT,
    ended_at          BIGINT,
    duration_seconds  BIGINT NOT NULL,
    billed_seconds    BIGINT NOT NULL,
    status            TEXT NOT NULL,
    currency          TEXT NOT NULL,
    rate_per_minute   BIGINT NOT NULL,
    connect_fee       BIGINT NOT NULL,
    increment_seconds BIGINT NOT NULL,
    minimum_seconds   BIGINT NOT NULL,
    rate_upstream_id  UUID,
    upstream_id       UUID,
    charge            BIGINT NOT NULL,
    cost              BIGINT NOT NULL,
    ledger_id         UUID,
    imported          BOOLEAN NOT NULL,
    review            BOOLEAN NOT NULL,
    recorded_at       BIGINT NOT NULL,
    PRIMARY KEY (batch, id)
);

-- The calls of a UTC day by where they went; no country or destination is an empty text. Amounts are in nanos.
CREATE TABLE cdr_days (
    account_id       UUID NOT NULL,
    day              BIGINT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    attempts         BIGINT NOT NULL,
    answered         BIGINT NOT NULL,
    seconds          BIGINT NOT NULL,
    charge           BIGINT NOT NULL,
    cost             BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, country, destination_name)
);

-- The calls of an hour by trunk.
CREATE TABLE cdr_hours (
    account_id UUID NOT NULL,
    hour       BIGINT NOT NULL,
    trunk_id   UUID NOT NULL,
    attempts   BIGINT NOT NULL,
    answered   BIGINT NOT NULL,
    seconds    BIGINT NOT NULL,
    PRIMARY KEY (account_id, hour, trunk_id)
);

-- When a switch last said how an upstream does: an older word that comes late changes nothing.
ALTER TABLE upstreams ADD COLUMN health_at BIGINT;
INSERT INTO versions (name, version, changed_at) VALUES ('gateways', 0, 0);
