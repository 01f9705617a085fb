-- Calls that customers dispute. A ticket has the conversation; a credit is posted to the ledger under the dispute's id.
CREATE TABLE call_disputes (
    id          UUID PRIMARY KEY NOT NULL,
    account_id  UUID NOT NULL REFERENCES accounts (id),
    cdr_id      UUID NOT NULL CONSTRAINT call_disputes_cdr UNIQUE,
    ticket_id   UUID NOT NULL REFERENCES tickets (id),
    opened_by   UUID NOT NULL REFERENCES users (id),
    reason      TEXT NOT NULL,
    called      TEXT NOT NULL,
    started_at  BIGINT NOT NULL,
    -- What the call was charged, and when: the month of its invoice.
    charge      BIGINT NOT NULL,
    charged_at  BIGINT NOT NULL,
    status      TEXT NOT NULL,
    -- What was credited.
    amount      BIGINT,
    note        TEXT,
    resolved_by UUID REFERENCES users (id),
    resolved_at BIGINT,
    created_at  BIGINT NOT NULL
);
CREATE INDEX call_disputes_account ON call_disputes (account_id, created_at, id);
CREATE INDEX call_disputes_status ON call_disputes (status, created_at, id);
CREATE INDEX call_disputes_created ON call_disputes (created_at, id);
-- Credits of calls of earlier months, for invoices.
CREATE INDEX call_disputes_credited ON call_disputes (account_id, resolved_at) WHERE status = 'credited';
