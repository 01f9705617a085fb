
-- The open holds of live calls move into their calls.
UPDATE live_calls SET held = hold.amount FROM ledger_holds hold
    WHERE hold.kind = 'call' AND hold.reference = CAST(live_calls.token AS TEXT) AND hold.state = 'open';
DELETE FROM ledger_holds USING live_calls
    WHERE ledger_holds.kind = 'call' AND ledger_holds.reference = CAST(live_calls.token AS TEXT)
        AND ledger_holds.state = 'open';
