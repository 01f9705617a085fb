CREATE TRIGGER ledger_transactions_not_updated BEFORE UPDATE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_transactions_not_deleted BEFORE DELETE ON ledger_transactions
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_splits_not_updated BEFORE UPDATE ON ledger_splits
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_splits_not_deleted BEFORE DELETE ON ledger_splits
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
