
-- A transaction is summed once, when it commits, not again for each of its postings. That is enough because afterwards
-- its book is closed: a posting comes in the same database transaction as what it belongs to, or not at all. Which is
-- more than its foreign key asked, so that goes.
DROP TRIGGER ledger_sum_is_zero ON ledger_postings;
DROP FUNCTION ledger_check_posting();
ALTER TABLE ledger_postings DROP CONSTRAINT ledger_postings_transaction_id_fkey;

CREATE FUNCTION ledger_check_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM added WHERE NOT EXISTS (
                   SELECT 1 FROM ledger_transactions posted
                   WHERE posted.id = added.transaction_id AND posted.xmin = pg_current_xact_id()::xid)) THEN
        RAISE EXCEPTION 'a ledger transaction takes no postings once it is committed'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_sum_is_zero';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_closed AFTER INSERT ON ledger_postings
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_check_postings();

CREATE OR REPLACE FUNCTION ledger_check_transaction() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    postings BIGINT;
    total NUMERIC;
BEGIN
    SELECT count(*), COALESCE(sum(amount), 0) INTO postings, total FROM ledger_postings WHERE transaction_id = NEW.id;
    IF postings < 2 OR total <> 0 THEN
        RAISE EXCEPTION 'ledger transaction % has % postings that sum to %', NEW.id, postings, total
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_sum_is_zero';
    END IF;
    RETURN NULL;
END $$;
DROP FUNCTION ledger_require_sum_zero(UUID);
