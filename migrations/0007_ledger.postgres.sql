
-- What was posted stays as it is.
CREATE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % of % is refused', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER ledger_transactions_append_only BEFORE UPDATE OR DELETE ON ledger_transactions
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_transactions_not_emptied BEFORE TRUNCATE ON ledger_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_postings_append_only BEFORE UPDATE OR DELETE ON ledger_postings
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_postings_not_emptied BEFORE TRUNCATE ON ledger_postings
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- A transaction's postings sum to zero by the time it commits.
CREATE FUNCTION ledger_require_sum_zero(checked UUID) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    postings BIGINT;
    total NUMERIC;
BEGIN
    SELECT count(*), COALESCE(sum(amount), 0) INTO postings, total FROM ledger_postings WHERE transaction_id = checked;
    IF postings < 2 OR total <> 0 THEN
        RAISE EXCEPTION 'ledger transaction % has % postings that sum to %', checked, postings, total
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_sum_is_zero';
    END IF;
END $$;

CREATE FUNCTION ledger_check_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM ledger_require_sum_zero(NEW.id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_sum_is_zero AFTER INSERT ON ledger_transactions
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_transaction();

CREATE FUNCTION ledger_check_posting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM ledger_require_sum_zero(NEW.transaction_id);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_sum_is_zero AFTER INSERT ON ledger_postings
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_check_posting();

-- Room on the page for the next version of a row that changes with every call.
ALTER TABLE ledger_balances SET (fillfactor = 50);
ALTER TABLE ledger_days SET (fillfactor = 80);
