-- When the last transaction of a book was: the next one is not before it. First, because it stops all postings.
ALTER TABLE ledger_balances ADD COLUMN posted_at BIGINT;
UPDATE ledger_balances SET posted_at =
    (SELECT MAX(created_at) FROM ledger_transactions posted
     WHERE posted.account_id = ledger_balances.account_id AND posted.currency = ledger_balances.currency);

-- A transaction keeps its customer's amount and the book on the other side in its own row. Only a transaction with
-- several books on that side has rows beside it. What a transaction moves sums to zero because there is no way to write
-- another sum: its own book gets what the customer pays and the splits leave.
CREATE TABLE posted_transactions (
    id            UUID NOT NULL CONSTRAINT ledger_transaction_key PRIMARY KEY,
    account_id    UUID NOT NULL,
    currency      TEXT NOT NULL,
    -- Its place in the customer's book: 1, 2, 3 … in the order of the commits. The lock on the balance row keeps it
    -- unique.
    number        BIGINT NOT NULL,
    kind          TEXT NOT NULL,
    -- What happened outside the ledger, once.
    reference     TEXT NOT NULL,
    -- The customer's posting; negative for a charge.
    amount        BIGINT NOT NULL CONSTRAINT ledger_amount_in_range
        CHECK (amount <> 0 AND amount BETWEEN -2000000000000000000 AND 2000000000000000000),
    book          TEXT NOT NULL,
    balance_after BIGINT NOT NULL,
    note          TEXT,
    actor_id      UUID,
    created_at    BIGINT NOT NULL,
    CONSTRAINT ledger_posted_once UNIQUE (kind, reference)
);
INSERT INTO posted_transactions (id, account_id, currency, number, kind, reference, amount, book, balance_after, note,
                                 actor_id, created_at)
    SELECT id, account_id, currency, number, kind, reference,
           (SELECT amount FROM ledger_postings WHERE transaction_id = id AND book = 'customer'),
           (SELECT MIN(book) FROM ledger_postings WHERE transaction_id = id AND book <> 'customer'),
           balance_after, note, actor_id, created_at
    FROM ledger_transactions ORDER BY id;

-- What further books get from a transaction. Its own book gets the rest.
CREATE TABLE ledger_splits (
    transaction_id UUID NOT NULL REFERENCES posted_transactions (id),
    book           TEXT NOT NULL,
    amount         BIGINT NOT NULL CONSTRAINT ledger_split_in_range
        CHECK (amount <> 0 AND amount BETWEEN -2000000000000000000 AND 2000000000000000000),
    PRIMARY KEY (transaction_id, book)
);
INSERT INTO ledger_splits (transaction_id, book, amount)
    SELECT transaction_id, posting.book, posting.amount
    FROM ledger_postings posting JOIN posted_transactions posted ON posted.id = transaction_id
    WHERE posting.book <> 'customer' AND posting.book <> posted.book;

DROP TABLE ledger_postings;
DROP TABLE ledger_transactions;
ALTER TABLE posted_transactions RENAME TO ledger_transactions;

-- Lists of a book, and of one kind. Nearly all lines of a book are calls, so a list of calls reads the first index.
CREATE UNIQUE INDEX ledger_transactions_by_time ON ledger_transactions (account_id, currency, created_at, number);
CREATE INDEX ledger_transactions_by_kind ON ledger_transactions (account_id, currency, kind, created_at, number)
    WHERE kind <> 'call';
