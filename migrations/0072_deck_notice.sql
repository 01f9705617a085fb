-- What a deck replaced: of the prefixes that it changes, what the deck before would have said since then. Customers whose
-- notice is not over pay it where the new rate is higher.
CREATE TABLE replaced_leaves (
    deck_id      UUID NOT NULL REFERENCES decks (id),
    -- As a number that sorts as the digits do.
    first_prefix BIGINT NOT NULL,
    body         BYTEA NOT NULL,
    PRIMARY KEY (deck_id, first_prefix)
);

-- Why the increases of an import come without notice.
ALTER TABLE deck_imports ADD COLUMN waive_reason TEXT;
ALTER TABLE decks ADD COLUMN waive_reason TEXT;
CREATE INDEX decks_by_time ON decks (in_force_at);

-- The notice of a rate plan from a time on. Never changed: an increase keeps the notice of the time when it was announced.
CREATE TABLE rate_plan_notices (
    rate_plan_id UUID NOT NULL REFERENCES rate_plans (id),
    recorded_at  BIGINT NOT NULL,
    notice_days  BIGINT NOT NULL,
    PRIMARY KEY (rate_plan_id, recorded_at)
);
INSERT INTO rate_plan_notices (rate_plan_id, recorded_at, notice_days)
    SELECT id, created_at, notice_days FROM rate_plans;
