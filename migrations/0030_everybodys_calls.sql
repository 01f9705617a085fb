-- The index of everybody's calls is in the order of an expression, so that only whoever asks for everybody's uses it: for
-- the calls of one account, which it could give in order too, it would go through those of all others.
DROP INDEX cdrs_in_order;
CREATE INDEX cdrs_in_order ON cdrs ((started_at + 0), id);
