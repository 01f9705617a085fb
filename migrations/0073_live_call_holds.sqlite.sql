
-- The open holds of live calls move into their calls. A reference is the token as a hyphenated UUID.
CREATE TEMP TABLE moved_holds AS
    SELECT live_calls.token AS token, ledger_holds.reference AS reference, ledger_holds.amount AS amount
    FROM live_calls JOIN ledger_holds ON ledger_holds.kind = 'call' AND ledger_holds.state = 'open'
        AND ledger_holds.reference = lower(substr(hex(live_calls.token), 1, 8) || '-' || substr(hex(live_calls.token), 9, 4)
            || '-' || substr(hex(live_calls.token), 13, 4) || '-' || substr(hex(live_calls.token), 17, 4)
            || '-' || substr(hex(live_calls.token), 21));
UPDATE live_calls SET held = (SELECT amount FROM moved_holds WHERE moved_holds.token = live_calls.token)
    WHERE token IN (SELECT token FROM moved_holds);
DELETE FROM ledger_holds WHERE kind = 'call' AND reference IN (SELECT reference FROM moved_holds);
DROP TABLE moved_holds;
