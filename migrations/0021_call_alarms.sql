-- What the calls of an hour cost, in nanos.
ALTER TABLE cdr_hours ADD COLUMN charge BIGINT NOT NULL DEFAULT 0;
UPDATE cdr_hours SET charge = (
    SELECT CAST(COALESCE(SUM(cdrs.charge), 0) AS BIGINT) FROM cdrs
    WHERE cdrs.account_id = cdr_hours.account_id AND cdrs.trunk_id = cdr_hours.trunk_id
        AND cdrs.started_at >= cdr_hours.hour * 3600000 AND cdrs.started_at < (cdr_hours.hour + 1) * 3600000);
CREATE INDEX cdr_hours_in_order ON cdr_hours (hour, account_id);
CREATE INDEX cdr_days_in_order ON cdr_days (day, account_id);

-- What an account was told of its calls on a UTC day, so that it is told once; no destination is an empty text.
CREATE TABLE call_alarms (
    day              BIGINT NOT NULL,
    account_id       UUID NOT NULL REFERENCES accounts (id),
    alarm            TEXT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    PRIMARY KEY (day, account_id, alarm, country, destination_name)
);

-- Up to which record, in the order of their beginnings, numbers were taken out.
CREATE TABLE cdr_retention (
    id         BIGINT PRIMARY KEY NOT NULL CONSTRAINT cdr_retention_is_one CHECK (id = 1),
    started_at BIGINT NOT NULL,
    cdr_id     UUID NOT NULL
);
