-- Where events are sent. An endpoint of the team gets the events of all customers.
CREATE TABLE webhook_endpoints (
    id              UUID PRIMARY KEY NOT NULL,
    account_id      UUID NOT NULL REFERENCES accounts (id),
    is_team         BOOLEAN NOT NULL,
    url             TEXT NOT NULL,
    description     TEXT,
    -- Words; * stands for all listed kinds.
    event_types     TEXT NOT NULL,
    wants_calls     BOOLEAN NOT NULL,
    is_enabled      BOOLEAN NOT NULL,
    disabled_reason TEXT,
    -- Sealed with the key for webhook secrets.
    secret          BYTEA NOT NULL,
    previous_secret BYTEA,
    previous_until  BIGINT,
    -- When the first delivery since the last success failed.
    failing_since   BIGINT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL,
    deleted_at      BIGINT
);
CREATE INDEX webhook_endpoints_account ON webhook_endpoints (account_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX webhook_endpoints_team ON webhook_endpoints (created_at, id) WHERE is_team AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_calls ON webhook_endpoints (account_id) WHERE wants_calls AND deleted_at IS NULL;
CREATE INDEX webhook_endpoints_deleted ON webhook_endpoints (deleted_at) WHERE deleted_at IS NOT NULL;

-- An event on its way to an endpoint.
CREATE TABLE webhook_deliveries (
    id              UUID PRIMARY KEY NOT NULL,
    endpoint_id     UUID NOT NULL REFERENCES webhook_endpoints (id),
    event_id        UUID NOT NULL,
    event_type      TEXT NOT NULL,
    status          TEXT NOT NULL,
    -- Attempts since it was created, retried or replayed.
    tries           BIGINT NOT NULL,
    -- JSON; the latest attempts.
    attempts        TEXT NOT NULL,
    next_attempt_at BIGINT,
    created_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX webhook_deliveries_event ON webhook_deliveries (endpoint_id, event_id);
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (endpoint_id, status, created_at, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, next_attempt_at, id)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);
