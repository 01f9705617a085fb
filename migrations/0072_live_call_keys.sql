-- A decision writes a live call once for every index, so only those stay that a decision, an event or a list cannot do
-- without: the token (events, and the order of calls, since the time in a token is that of its call), the identity
-- (repeated requests), the account (its list, its hang-ups, imports of its calls), the expiry (calls without events) and
-- the few calls to be hung up.
DROP INDEX live_calls_in_order;
DROP INDEX live_calls_of_leg;
DROP INDEX live_calls_of_trunk;
DROP INDEX live_calls_of_upstream;
