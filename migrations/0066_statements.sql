-- How the statements of an upstream are laid out, as JSON.
CREATE TABLE statement_mappings (
    upstream_id UUID PRIMARY KEY NOT NULL REFERENCES upstreams (id),
    mapping     TEXT NOT NULL,
    updated_at  BIGINT NOT NULL
);

-- Statements of upstreams: the calls that they charge for, compared with our CDRs.
CREATE TABLE upstream_statements (
    id                         UUID PRIMARY KEY NOT NULL,
    upstream_id                UUID NOT NULL REFERENCES upstreams (id),
    status                     TEXT NOT NULL,
    currency                   TEXT NOT NULL,
    content_hash               BYTEA NOT NULL,
    -- The mapping that was given or saved, as JSON, and the one by which the file was read.
    mapping                    TEXT,
    used_mapping               TEXT,
    -- Absent until the file was read, unless they were given.
    period_from                BIGINT,
    period_to                  BIGINT,
    start_tolerance_seconds    BIGINT NOT NULL,
    duration_tolerance_seconds BIGINT NOT NULL,
    -- Counts the times that it was begun: what an earlier run still writes is refused.
    run                        BIGINT NOT NULL,
    rows_done                  BIGINT NOT NULL,
    rows_total                 BIGINT,
    lines_done                 BIGINT NOT NULL,
    unanswered_rows            BIGINT NOT NULL,
    outside_rows               BIGINT NOT NULL,
    -- Counts and sums of each kind of line, as JSON.
    totals                     TEXT,
    error_count                BIGINT NOT NULL,
    -- The first of them, as JSON.
    errors                     TEXT NOT NULL,
    -- Why it failed, if not for what the file says.
    reason                     TEXT,
    created_at                 BIGINT NOT NULL,
    started_at                 BIGINT,
    completed_at               BIGINT,
    lines_purged_at            BIGINT
);
CREATE INDEX upstream_statements_of_upstream ON upstream_statements (upstream_id, created_at, id);
CREATE INDEX upstream_statements_pending ON upstream_statements (upstream_id) WHERE status IN ('queued', 'running');
CREATE INDEX upstream_statements_file ON upstream_statements (content_hash) WHERE status IN ('queued', 'running');
CREATE INDEX upstream_statements_with_lines ON upstream_statements (period_to)
    WHERE status = 'completed' AND lines_purged_at IS NULL;

-- What became of each line of a statement and of each call of ours in its period. Amounts are in the upstream's currency.
CREATE TABLE statement_lines (
    statement_id     UUID NOT NULL,
    -- 1 only ours, 2 only theirs, 3 the duration differs, 4 the rate differs, 5 matched.
    kind             BIGINT NOT NULL,
    -- Their start, or ours if they do not have the call.
    started_at       BIGINT NOT NULL,
    number           BIGINT NOT NULL,
    called           TEXT NOT NULL,
    -- Theirs.
    line             BIGINT,
    their_seconds    BIGINT,
    their_cost       BIGINT,
    their_rate       BIGINT,
    their_call_id    TEXT,
    -- Ours.
    cdr_id           UUID,
    our_started_at   BIGINT,
    our_seconds      BIGINT,
    our_cost         BIGINT,
    our_rate         BIGINT,
    PRIMARY KEY (statement_id, kind, started_at, number)
);
