-- The ledger. No amount, balance or hold exceeds two billion units (2 * 10^18 nanos), so no sum of three leaves 64 bits.

-- What each customer has with us, kept beside the postings that prove it and in the same transaction.
CREATE TABLE ledger_balances (
    account_id    UUID NOT NULL REFERENCES accounts (id),
    currency      TEXT NOT NULL,
    balance       BIGINT NOT NULL
        CONSTRAINT ledger_balance_in_range CHECK (balance BETWEEN -2000000000000000000 AND 2000000000000000000),
    -- The sum of the open holds.
    held          BIGINT NOT NULL CONSTRAINT ledger_held_in_range CHECK (held BETWEEN 0 AND 2000000000000000000),
    -- Guarded debits and holds leave this much; negative where the customer has credit.
    minimum       BIGINT NOT NULL
        CONSTRAINT ledger_minimum_in_range CHECK (minimum BETWEEN -2000000000000000000 AND 2000000000000000000),
    -- How many transactions there were: the number of the last one.
    entries       BIGINT NOT NULL,
    last_debit_at BIGINT,
    PRIMARY KEY (account_id, currency)
);

-- One movement of money of one customer, in one currency. Rows are added, never changed.
CREATE TABLE ledger_transactions (
    id            UUID PRIMARY KEY NOT NULL,
    account_id    UUID NOT NULL,
    currency      TEXT NOT NULL,
    -- Its place in the customer's book: 1, 2, 3 … in the order of the commits.
    number        BIGINT NOT NULL,
    kind          TEXT NOT NULL,
    -- What happened outside the ledger, once.
    reference     TEXT NOT NULL,
    balance_after BIGINT NOT NULL,
    note          TEXT,
    actor_id      UUID,
    created_at    BIGINT NOT NULL,
    UNIQUE (kind, reference),
    UNIQUE (account_id, currency, number),
    FOREIGN KEY (account_id, currency) REFERENCES ledger_balances (account_id, currency)
);

-- What a transaction adds to each book. Its postings sum to zero.
CREATE TABLE ledger_postings (
    transaction_id UUID NOT NULL REFERENCES ledger_transactions (id),
    book           TEXT NOT NULL,
    amount         BIGINT NOT NULL CONSTRAINT ledger_posting_in_range
        CHECK (amount <> 0 AND amount BETWEEN -2000000000000000000 AND 2000000000000000000),
    PRIMARY KEY (transaction_id, book)
);

-- The postings of a customer's transactions, summed for each UTC day: what invoices, spend and the books' totals read.
CREATE TABLE ledger_days (
    account_id UUID NOT NULL,
    currency   TEXT NOT NULL,
    -- Days since 1970.
    day        BIGINT NOT NULL,
    kind       TEXT NOT NULL,
    book       TEXT NOT NULL,
    amount     BIGINT NOT NULL
        CONSTRAINT ledger_day_in_range CHECK (amount BETWEEN -4000000000000000000 AND 4000000000000000000),
    entries    BIGINT NOT NULL,
    PRIMARY KEY (account_id, currency, day, kind, book),
    FOREIGN KEY (account_id, currency) REFERENCES ledger_balances (account_id, currency)
);
CREATE INDEX ledger_days_book ON ledger_days (book, currency, day);

-- Money set aside for something that is going on. Ended holds stay for a while, so that a late word finds them.
CREATE TABLE ledger_holds (
    kind       TEXT NOT NULL,
    reference  TEXT NOT NULL,
    account_id UUID NOT NULL,
    currency   TEXT NOT NULL,
    -- What it was placed with, and what it is now.
    placed     BIGINT NOT NULL,
    amount     BIGINT NOT NULL CONSTRAINT ledger_hold_in_range CHECK (amount BETWEEN 0 AND 2000000000000000000),
    state      TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (kind, reference),
    FOREIGN KEY (account_id, currency) REFERENCES ledger_balances (account_id, currency)
);
CREATE INDEX ledger_holds_open ON ledger_holds (account_id, currency, expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_due ON ledger_holds (expires_at) WHERE state = 'open';
CREATE INDEX ledger_holds_ended ON ledger_holds (ended_at) WHERE ended_at IS NOT NULL;
