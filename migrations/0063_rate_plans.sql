-- Price lists of customers: rules over the tariff.
CREATE TABLE rate_plans (
    id          UUID PRIMARY KEY NOT NULL,
    name        TEXT NOT NULL,
    -- How long before an increase customers hear of it.
    notice_days BIGINT NOT NULL CONSTRAINT rate_plan_notice_is_within CHECK (notice_days BETWEEN 0 AND 365),
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX rate_plans_in_order ON rate_plans (created_at, id);
CREATE UNIQUE INDEX rate_plans_by_name ON rate_plans (name);

-- What a plan says from a time on. Never changed: of the versions that have begun, the one with the highest number counts.
CREATE TABLE rate_plan_versions (
    id               UUID PRIMARY KEY NOT NULL,
    rate_plan_id     UUID NOT NULL REFERENCES rate_plans (id),
    number           BIGINT NOT NULL,
    base             TEXT NOT NULL,
    -- In parts per million; less than zero is a discount.
    markup           BIGINT NOT NULL CONSTRAINT rate_plan_markup_is_within CHECK (markup BETWEEN -1000000 AND 10000000),
    allow_below_cost BOOLEAN NOT NULL,
    -- A list, as JSON.
    rules            TEXT NOT NULL,
    rule_count       BIGINT NOT NULL,
    effective_at     BIGINT NOT NULL,
    recorded_at      BIGINT NOT NULL,
    UNIQUE (rate_plan_id, number)
);

-- Which plan a customer has from a time on; no plan is the list price. Never changed: of the assignments that have begun,
-- the one with the highest number counts.
CREATE TABLE rate_plan_assignments (
    account_id    UUID NOT NULL REFERENCES accounts (id),
    number        BIGINT NOT NULL,
    rate_plan_id  UUID REFERENCES rate_plans (id),
    effective_at  BIGINT NOT NULL,
    recorded_at   BIGINT NOT NULL,
    -- The notice that the customer was promised; that of the plan counts if it is longer.
    notice_days   BIGINT CONSTRAINT assignment_notice_is_within CHECK (notice_days BETWEEN 0 AND 365),
    -- Why an increase came without notice.
    waive_reason  TEXT,
    PRIMARY KEY (account_id, number)
);
CREATE INDEX rate_plan_assignments_of_plan ON rate_plan_assignments (rate_plan_id, account_id);

INSERT INTO versions (name, version, changed_at) VALUES ('rate_plans', 0, 0);

-- The version of the plan that priced a call; none is the list price.
ALTER TABLE live_calls ADD COLUMN rate_plan_version_id UUID;
ALTER TABLE cdrs ADD COLUMN rate_plan_version_id UUID;
ALTER TABLE cdr_arrivals ADD COLUMN rate_plan_version_id UUID;
