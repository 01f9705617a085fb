-- Every index is written with every call; docs/calls.md says which query needs which.

-- Ids begin with the time of their call, so the primary key has everybody's calls in order.
DROP INDEX cdrs_in_order;
-- Only the verification asked for it, which reads all CDRs anyway.
DROP INDEX cdrs_of_ledger;

-- Calls by Call-ID: each is in one of two indexes. That of imported calls also keeps one from being stored twice.
DROP INDEX cdrs_line;
DROP INDEX cdrs_by_call_id;
CREATE UNIQUE INDEX cdrs_imported_call ON cdrs (call_id, started_at, trunk_id, leg) WHERE imported;
CREATE INDEX cdrs_switched_call ON cdrs (call_id, started_at, id) WHERE NOT imported;
