-- A decision writes a live call once for every index, so only those stay that a decision, an event or a list cannot do
-- without: the token (events, and the order of calls, since the time in a token is that of its call), the identity
-- (repeated requests), the account (its list, its hang-ups, imports of its calls), the expiry (calls without events)
-- and the few calls to be hung up.
DROP INDEX live_calls_in_order;
DROP INDEX live_calls_of_leg;
DROP INDEX live_calls_of_trunk;
DROP INDEX live_calls_of_upstream;

-- What the ledger holds for the call, in nanos: the same as `reserved` until the hold expires, then nothing. A call
-- needs no row in `ledger_holds`, which would repeat its account, amount and expiry under three more keys.
ALTER TABLE live_calls ADD COLUMN held BIGINT NOT NULL DEFAULT 0
    CONSTRAINT live_call_held_in_range CHECK (held BETWEEN 0 AND 2000000000000000000);

-- A node of the release before would end calls without releasing that. It reads this column of every call, so now it
-- fails instead.
ALTER TABLE live_calls RENAME COLUMN next_hop TO sent_to;
