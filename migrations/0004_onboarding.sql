-- How an account becomes a customer: its two sets of states, and its place on the waitlist.
CREATE TABLE onboardings (
    account_id         UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    -- The carrier's own account is nobody's customer.
    is_carrier         BOOLEAN NOT NULL,
    beta_status        TEXT NOT NULL,
    onboarding_status  TEXT NOT NULL,
    -- The status to return to; present exactly while suspended.
    suspended_from     TEXT,
    beta_decided_at    BIGINT,
    reviewer_note      TEXT,
    expected_volume    TEXT,
    topped_up_at       BIGINT,
    waitlist_ticket    BIGINT,
    waitlist_joined_at BIGINT,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL,
    UNIQUE (waitlist_ticket)
);
CREATE INDEX onboardings_in_order ON onboardings (created_at, account_id) WHERE NOT is_carrier;
CREATE INDEX onboardings_by_status ON onboardings (beta_status, created_at, account_id) WHERE NOT is_carrier;
CREATE INDEX onboardings_decided ON onboardings (beta_status, beta_decided_at) WHERE beta_decided_at IS NOT NULL;
INSERT INTO onboardings (account_id, is_carrier, beta_status, onboarding_status, created_at, updated_at)
    SELECT id, TRUE, 'live', onboarding_status, created_at, updated_at FROM accounts;
ALTER TABLE accounts DROP COLUMN onboarding_status;

ALTER TABLE accounts ADD COLUMN trading_name TEXT;
ALTER TABLE accounts ADD COLUMN country TEXT NOT NULL DEFAULT 'ZZ';
ALTER TABLE accounts ADD COLUMN contact_phone TEXT;

-- How many prospects are in each state, so that nobody has to count them.
CREATE TABLE prospect_counts (
    beta_status TEXT PRIMARY KEY NOT NULL,
    accounts    BIGINT NOT NULL
);

-- The next place at the tail.
CREATE TABLE waitlist_tail (
    id     BIGINT PRIMARY KEY NOT NULL CONSTRAINT waitlist_tail_is_one CHECK (id = 1),
    ticket BIGINT NOT NULL
);
INSERT INTO waitlist_tail (id, ticket) VALUES (1, 0);

-- How many wait in each block of 256 tickets (level 1) and of 65,536 (level 2): a position is a sum over few rows.
CREATE TABLE waitlist_counts (
    level   BIGINT NOT NULL,
    block   BIGINT NOT NULL,
    waiting BIGINT NOT NULL,
    PRIMARY KEY (level, block)
);

CREATE TABLE traffic_profiles (
    account_id                  UUID PRIMARY KEY NOT NULL REFERENCES accounts (id),
    estimated_minutes_per_month BIGINT NOT NULL,
    target_countries            TEXT NOT NULL,
    traffic_types               TEXT NOT NULL,
    notes                       TEXT,
    created_at                  BIGINT NOT NULL,
    updated_at                  BIGINT NOT NULL
);
