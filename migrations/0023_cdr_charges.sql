-- What calls were charged on a UTC day, by where they went: the day of the ledger's transaction, whenever they began, so
-- that an invoice's lines add up to what the ledger took. No country or destination is an empty text.
CREATE TABLE cdr_charges (
    account_id       UUID NOT NULL,
    day              BIGINT NOT NULL,
    country          TEXT NOT NULL,
    destination_name TEXT NOT NULL,
    calls            BIGINT NOT NULL,
    billed_seconds   BIGINT NOT NULL,
    charge           BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, country, destination_name)
);
INSERT INTO cdr_charges (account_id, day, country, destination_name, calls, billed_seconds, charge)
    SELECT account_id, recorded_at / 86400000, COALESCE(country, ''), COALESCE(destination_name, ''), COUNT(*),
           SUM(billed_seconds), SUM(charge)
    FROM cdrs WHERE charge > 0 GROUP BY 1, 2, 3, 4;
