-- Credits to customers' balances. One admin may credit up to a limit; more is requested, and another admin decides.
CREATE TABLE credits (
    id           UUID PRIMARY KEY NOT NULL,
    account_id   UUID NOT NULL REFERENCES accounts (id),
    amount       BIGINT NOT NULL CONSTRAINT credits_are_positive CHECK (amount > 0),
    reason       TEXT NOT NULL,
    status       TEXT NOT NULL,
    requested_by UUID NOT NULL REFERENCES users (id),
    created_at   BIGINT NOT NULL,
    decided_by   UUID REFERENCES users (id),
    decided_at   BIGINT,
    CONSTRAINT credits_are_approved_by_another CHECK (status <> 'approved' OR decided_by <> requested_by)
);
CREATE INDEX credits_by_account ON credits (account_id, created_at);
CREATE INDEX credits_by_time ON credits (created_at, id) WHERE status <> 'posted';
CREATE INDEX credits_pending ON credits (created_at) WHERE status = 'pending';
