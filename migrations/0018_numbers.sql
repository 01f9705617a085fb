-- What customers order from: free numbers that do not differ in anything a customer sees. A group is never removed, so
-- that its id keeps its meaning.
CREATE TABLE number_groups (
    id           UUID PRIMARY KEY NOT NULL,
    country      TEXT NOT NULL,
    kind         TEXT NOT NULL,
    -- Empty when the numbers belong to no area.
    area_name    TEXT NOT NULL,
    -- Digits, country code first; and what of them follows the country code.
    prefix       TEXT NOT NULL,
    area_code    TEXT NOT NULL,
    -- Words in one order.
    capabilities TEXT NOT NULL,
    -- In nanos of the house currency.
    monthly      BIGINT NOT NULL CONSTRAINT number_rental_is_a_price CHECK (monthly >= 0),
    setup        BIGINT NOT NULL CONSTRAINT number_setup_is_a_price CHECK (setup >= 0),
    regulatory   TEXT NOT NULL,
    -- How many of its numbers are free, kept with every change of one.
    free         BIGINT NOT NULL CONSTRAINT free_numbers_are_counted CHECK (free >= 0),
    UNIQUE (country, kind, prefix, area_name, capabilities, monthly, setup, regulatory)
);
CREATE INDEX number_groups_listed ON number_groups (id) WHERE free > 0;
CREATE INDEX number_groups_by_area ON number_groups (country, kind, area_code) WHERE free > 0;

-- Every number we may let, whoever has it now.
CREATE TABLE number_stock (
    id                  UUID PRIMARY KEY NOT NULL,
    upstream_id         UUID NOT NULL REFERENCES upstreams (id),
    e164                TEXT NOT NULL,
    group_id            UUID NOT NULL REFERENCES number_groups (id),
    country             TEXT NOT NULL,
    -- What the upstream says, and what the team says instead; the group has what counts.
    regulatory          TEXT NOT NULL,
    regulatory_override TEXT,
    -- Whether it may be let; one that somebody has stays with that customer either way.
    is_active           BOOLEAN NOT NULL,
    -- free, withdrawn (nobody has it, and nobody may) or taken.
    state               TEXT NOT NULL,
    updated_at          BIGINT NOT NULL,
    UNIQUE (e164)
);
CREATE INDEX number_stock_free ON number_stock (group_id, e164) WHERE state = 'free';
CREATE INDEX number_stock_of_upstream ON number_stock (upstream_id, e164);
CREATE INDEX number_stock_of_country ON number_stock (country, e164);

-- Numbers on their way into the stock: filled and emptied within one transaction.
CREATE TABLE number_arrivals (
    e164       TEXT PRIMARY KEY NOT NULL,
    group_id   UUID NOT NULL,
    country    TEXT NOT NULL,
    regulatory TEXT NOT NULL
);

CREATE TABLE number_imports (
    id           UUID PRIMARY KEY NOT NULL,
    upstream_id  UUID NOT NULL REFERENCES upstreams (id),
    status       TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    -- The job that runs it.
    job_id       UUID,
    -- How many of its numbers are in the stock: should the job be interrupted, it goes on from there.
    rows_done    BIGINT NOT NULL,
    rows_total   BIGINT NOT NULL,
    added        BIGINT NOT NULL,
    changed      BIGINT NOT NULL,
    -- Numbers that a customer has, which stay as they are.
    kept         BIGINT NOT NULL,
    error_count  BIGINT NOT NULL,
    -- The first of them, as JSON.
    errors       TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason       TEXT,
    created_at   BIGINT NOT NULL,
    started_at   BIGINT,
    completed_at BIGINT
);
CREATE INDEX number_imports_queued ON number_imports (created_at, id) WHERE status = 'queued';
-- One at a time.
CREATE UNIQUE INDEX number_imports_running ON number_imports (status) WHERE status = 'running';
CREATE INDEX number_imports_file ON number_imports (content_hash) WHERE status IN ('queued', 'running');

CREATE TABLE number_orders (
    id             UUID PRIMARY KEY NOT NULL,
    account_id     UUID NOT NULL REFERENCES accounts (id),
    group_id       UUID NOT NULL REFERENCES number_groups (id),
    stock_id       UUID NOT NULL REFERENCES number_stock (id),
    -- Where its calls will go. No key: an order that is over outlives its trunk.
    trunk_id       UUID NOT NULL,
    e164           TEXT NOT NULL,
    status         TEXT NOT NULL,
    -- What was charged, in nanos of the house currency.
    setup          BIGINT NOT NULL,
    monthly        BIGINT NOT NULL,
    intake_id      UUID,
    failure_reason TEXT,
    -- The request it came from: which endpoint, the caller's key, and what it was sent with.
    asked_by       TEXT NOT NULL,
    request_key    UUID,
    request_digest BYTEA NOT NULL,
    -- When the carrier is asked next; absent unless it is being provisioned.
    try_at         BIGINT,
    tries          BIGINT NOT NULL,
    provisioning_at BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    UNIQUE (account_id, asked_by, request_key)
);
CREATE INDEX number_orders_in_order ON number_orders (account_id, created_at, id);
CREATE INDEX number_orders_to_try ON number_orders (try_at) WHERE try_at IS NOT NULL;
CREATE INDEX number_orders_awaiting_documents ON number_orders (created_at) WHERE status = 'pending_documents';
CREATE UNIQUE INDEX number_orders_of_intake ON number_orders (intake_id) WHERE intake_id IS NOT NULL;
CREATE INDEX number_orders_open ON number_orders (trunk_id) WHERE status IN ('pending_documents', 'provisioning');

CREATE TABLE number_order_steps (
    order_id UUID NOT NULL REFERENCES number_orders (id),
    step     BIGINT NOT NULL,
    status   TEXT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (order_id, step)
);

-- Numbers that customers have or had.
CREATE TABLE numbers (
    id              UUID PRIMARY KEY NOT NULL,
    account_id      UUID NOT NULL REFERENCES accounts (id),
    order_id        UUID NOT NULL REFERENCES number_orders (id),
    stock_id        UUID NOT NULL REFERENCES number_stock (id),
    -- No key: a number that was released outlives its trunk.
    trunk_id        UUID NOT NULL,
    e164            TEXT NOT NULL,
    country         TEXT NOT NULL,
    kind            TEXT NOT NULL,
    capabilities    TEXT NOT NULL,
    regulatory      TEXT NOT NULL,
    -- In nanos of the house currency.
    monthly         BIGINT NOT NULL,
    -- Months are counted from here.
    since           BIGINT NOT NULL,
    -- How many of them are paid for, and when that ends.
    months_paid     BIGINT NOT NULL,
    next_renewal_at BIGINT NOT NULL,
    -- When the renewal is tried next, and how often it has failed in a row.
    try_at          BIGINT NOT NULL,
    failures        BIGINT NOT NULL,
    -- The month whose renewal was said to be in danger.
    warned_of       BIGINT NOT NULL,
    released_at     BIGINT,
    release_reason  TEXT,
    UNIQUE (order_id)
);
-- Nobody has a number that somebody else has.
CREATE UNIQUE INDEX numbers_let ON numbers (e164) WHERE released_at IS NULL;
CREATE INDEX numbers_in_order ON numbers (account_id, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_of_trunk ON numbers (trunk_id, since, id) WHERE released_at IS NULL;
CREATE INDEX numbers_to_renew ON numbers (try_at) WHERE released_at IS NULL;
