
-- The open holds of live calls move into their calls. A reference is the token as a hyphenated UUID.
UPDATE live_calls SET held = hold.amount
    FROM (SELECT unhex(reference, '-') AS token, amount FROM ledger_holds
          WHERE kind = 'call' AND state = 'open') AS hold
    WHERE live_calls.token = hold.token;
DELETE FROM ledger_holds
    WHERE kind = 'call' AND state = 'open' AND unhex(reference, '-') IN (SELECT token FROM live_calls);
