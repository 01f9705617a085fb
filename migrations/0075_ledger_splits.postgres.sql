DROP FUNCTION ledger_check_transaction();
DROP FUNCTION ledger_check_posting();
CREATE TRIGGER ledger_transactions_append_only BEFORE UPDATE OR DELETE ON ledger_transactions
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_transactions_not_emptied BEFORE TRUNCATE ON ledger_transactions
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_splits_append_only BEFORE UPDATE OR DELETE ON ledger_splits
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
CREATE TRIGGER ledger_splits_not_emptied BEFORE TRUNCATE ON ledger_splits
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();

-- A split comes in the same database transaction as what it splits.
CREATE FUNCTION ledger_check_split() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM ledger_transactions posted
                   WHERE posted.id = NEW.transaction_id AND posted.xmin = pg_current_xact_id()::xid) THEN
        RAISE EXCEPTION 'a ledger transaction takes no splits once it is committed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_is_closed';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_is_closed AFTER INSERT ON ledger_splits FOR EACH ROW EXECUTE FUNCTION ledger_check_split();
