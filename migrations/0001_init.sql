-- Work to be done later, once, by whichever node is free. A finished job is deleted; one that failed too often stays,
-- with dead_at set, until someone reruns it.
CREATE TABLE jobs (
    id           UUID PRIMARY KEY NOT NULL,
    kind         TEXT NOT NULL,
    payload      TEXT NOT NULL,
    run_at       BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    max_attempts BIGINT NOT NULL,
    lease_until  BIGINT NOT NULL,
    lease_token  UUID,
    last_error   TEXT,
    dead_at      BIGINT,
    created_at   BIGINT NOT NULL
);
CREATE INDEX jobs_due ON jobs (run_at, id) WHERE dead_at IS NULL;
CREATE INDEX jobs_dead ON jobs (dead_at, id) WHERE dead_at IS NOT NULL;

-- When each cron schedule ticks next.
CREATE TABLE schedules (
    name        TEXT PRIMARY KEY NOT NULL,
    next_run_at BIGINT NOT NULL
);
