
-- The open holds of live calls move into their calls.
UPDATE live_calls SET held = hold.amount FROM ledger_holds hold
    WHERE hold.kind = 'call' AND hold.reference = CAST(live_calls.token AS TEXT) AND hold.state = 'open';
DELETE FROM ledger_holds USING live_calls
    WHERE ledger_holds.kind = 'call' AND ledger_holds.reference = CAST(live_calls.token AS TEXT)
        AND ledger_holds.state = 'open';

-- A live call has the account of its trunk, which the same transaction has read; checking it again costs a third of the
-- insert.
ALTER TABLE live_calls DROP CONSTRAINT IF EXISTS live_calls_account_id_fkey;
ALTER TABLE live_calls DROP CONSTRAINT IF EXISTS live_calls_account_id_fkey1;
