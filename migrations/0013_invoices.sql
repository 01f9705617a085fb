-- The last number given out in each series and year. Whoever issues takes the next in the issuing transaction and holds
-- the row until it commits, so numbers have no gaps.
CREATE TABLE invoice_numbers (
    series TEXT NOT NULL,
    year   BIGINT NOT NULL,
    last   BIGINT NOT NULL,
    PRIMARY KEY (series, year)
);

-- Months whose customers all have been told to be invoiced, as 2026-01.
CREATE TABLE invoice_months (
    month     TEXT PRIMARY KEY NOT NULL,
    closed_at BIGINT NOT NULL
);

CREATE TABLE invoices (
    id              UUID PRIMARY KEY NOT NULL,
    account_id      UUID NOT NULL REFERENCES accounts (id),
    currency        TEXT NOT NULL,
    month           TEXT NOT NULL,
    number          TEXT NOT NULL,
    status          TEXT NOT NULL,
    issue_date      TEXT NOT NULL,
    supply_date     TEXT NOT NULL,
    due_date        TEXT NOT NULL,
    -- In nanos; the total is the sum of the two.
    subtotal        BIGINT NOT NULL,
    vat             BIGINT NOT NULL,
    -- What was lacking on the balance at the issue, and what had been paid in that day already.
    owed            BIGINT NOT NULL,
    paid_in_before  BIGINT NOT NULL,
    paid_at         BIGINT,
    -- Why it was voided or credited.
    reason          TEXT,
    -- All that the document says, so that it can be made again to the byte.
    facts           TEXT NOT NULL,
    -- The document, once it is made.
    content_hash    BYTEA,
    created_at      BIGINT NOT NULL,
    UNIQUE (account_id, currency, month),
    UNIQUE (number)
);
CREATE INDEX invoices_of_account ON invoices (account_id, created_at, id);
CREATE INDEX invoices_in_order ON invoices (created_at, id);
CREATE INDEX invoices_by_status ON invoices (status, created_at, id);
CREATE INDEX invoices_open ON invoices (id) WHERE status = 'issued';
CREATE INDEX invoices_content ON invoices (content_hash) WHERE content_hash IS NOT NULL;

CREATE TABLE credit_notes (
    invoice_id   UUID PRIMARY KEY NOT NULL REFERENCES invoices (id),
    number       TEXT NOT NULL,
    issue_date   TEXT NOT NULL,
    facts        TEXT NOT NULL,
    content_hash BYTEA,
    created_at   BIGINT NOT NULL,
    UNIQUE (number)
);
CREATE INDEX credit_notes_content ON credit_notes (content_hash) WHERE content_hash IS NOT NULL;
