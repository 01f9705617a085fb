
-- What was posted stays as it is. That postings sum to zero cannot be asked of SQLite at commit: `ledger verify` does.
CREATE TRIGGER ledger_transactions_not_updated BEFORE UPDATE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_transactions_not_deleted BEFORE DELETE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_postings_not_updated BEFORE UPDATE ON ledger_postings
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_postings_not_deleted BEFORE DELETE ON ledger_postings
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
