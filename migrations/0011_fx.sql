-- What one unit of the base currency was worth on a day, in nano-units of another.
CREATE TABLE fx_rates (
    date     TEXT NOT NULL,
    currency TEXT NOT NULL,
    rate     BIGINT NOT NULL CONSTRAINT fx_rate_is_positive CHECK (rate > 0),
    PRIMARY KEY (date, currency)
);
