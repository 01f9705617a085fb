-- How often each thing has changed that nodes keep in memory, and when it did last.
CREATE TABLE versions (
    name       TEXT PRIMARY KEY NOT NULL,
    version    BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
INSERT INTO versions (name, version, changed_at) VALUES ('tariff', 0, 0);

-- Carriers that take our calls.
CREATE TABLE upstreams (
    id                   UUID PRIMARY KEY NOT NULL,
    name                 TEXT NOT NULL,
    status               TEXT NOT NULL,
    health               TEXT NOT NULL,
    dispatcher_group_id  BIGINT NOT NULL,
    base_currency        TEXT NOT NULL,
    -- In parts per million.
    markup               BIGINT NOT NULL CONSTRAINT upstream_markup_is_within CHECK (markup BETWEEN 0 AND 10000000),
    rate_import_url      TEXT,
    rate_import_schedule TEXT,
    -- When the schedule ticks next.
    next_import_at       BIGINT,
    -- What the deck in force was pulled as, if it was: neither is imported a second time in a row.
    pulled_hash          BYTEA,
    pulled_etag          TEXT,
    -- Lists, as JSON.
    gateways             TEXT NOT NULL,
    signaling_ips        TEXT NOT NULL,
    -- The deck in force.
    deck_id              UUID,
    last_import_at       BIGINT,
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT NOT NULL,
    UNIQUE (dispatcher_group_id)
);
CREATE INDEX upstreams_in_order ON upstreams (created_at, id);
CREATE INDEX upstreams_due ON upstreams (next_import_at) WHERE next_import_at IS NOT NULL;

-- What an upstream charges, whole: made once by an import and never changed.
CREATE TABLE decks (
    id           UUID PRIMARY KEY NOT NULL,
    upstream_id  UUID NOT NULL REFERENCES upstreams (id),
    -- Absent until it has come into force.
    in_force_at  BIGINT,
    prefixes     BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX decks_of_upstream ON decks (upstream_id, created_at);
CREATE INDEX decks_unfinished ON decks (created_at) WHERE in_force_at IS NULL;

-- A deck's rates in the order of their prefixes, some thousand to a leaf.
CREATE TABLE deck_leaves (
    deck_id      UUID NOT NULL REFERENCES decks (id),
    -- As a number that sorts as the digits do.
    first_prefix BIGINT NOT NULL,
    body         BYTEA NOT NULL,
    PRIMARY KEY (deck_id, first_prefix)
);

CREATE TABLE deck_imports (
    id           UUID PRIMARY KEY NOT NULL,
    upstream_id  UUID NOT NULL REFERENCES upstreams (id),
    status       TEXT NOT NULL,
    mode         TEXT NOT NULL,
    dry_run      BOOLEAN NOT NULL,
    -- The file; absent until it was pulled.
    content_hash BYTEA,
    etag         TEXT,
    -- The job that runs it, and the deck it makes.
    job_id       UUID,
    deck_id      UUID,
    rows_done    BIGINT NOT NULL,
    rows_total   BIGINT,
    added        BIGINT NOT NULL,
    removed      BIGINT NOT NULL,
    increased    BIGINT NOT NULL,
    decreased    BIGINT NOT NULL,
    -- Whether what was pulled is what is in force already.
    unchanged    BOOLEAN NOT NULL,
    error_count  BIGINT NOT NULL,
    -- The first of them, as JSON.
    errors       TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason       TEXT,
    created_at   BIGINT NOT NULL,
    started_at   BIGINT,
    completed_at BIGINT
);
CREATE INDEX deck_imports_of_upstream ON deck_imports (upstream_id, created_at, id);
CREATE INDEX deck_imports_queued ON deck_imports (upstream_id, created_at, id) WHERE status = 'queued';
-- One at a time.
CREATE UNIQUE INDEX deck_imports_running ON deck_imports (upstream_id) WHERE status = 'running';
CREATE INDEX deck_imports_file ON deck_imports (content_hash) WHERE status IN ('queued', 'running');

-- What sold when: a row at every change of an upstream's deck, status or markup. Rows are only ever added.
CREATE TABLE tariff_terms (
    upstream_id UUID NOT NULL REFERENCES upstreams (id),
    since       BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    deck_id     UUID,
    status      TEXT NOT NULL,
    markup      BIGINT NOT NULL,
    currency    TEXT NOT NULL,
    PRIMARY KEY (upstream_id, since)
);

-- By which exchange rates: rows at every change of those in force. Rows are only ever added.
CREATE TABLE tariff_fx (
    since    BIGINT NOT NULL,
    version  BIGINT NOT NULL,
    date     TEXT NOT NULL,
    currency TEXT NOT NULL,
    rate     BIGINT NOT NULL,
    PRIMARY KEY (since, currency)
);
INSERT INTO tariff_fx (since, version, date, currency, rate)
    SELECT 0, 0, date, currency, rate FROM fx_rates WHERE date = (SELECT MAX(date) FROM fx_rates);
