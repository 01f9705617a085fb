-- Hours of which another switch told calls, so that the most calls at once are to be counted again; and how often it did.
CREATE TABLE peaks_due (
    account_id UUID NOT NULL,
    hour       BIGINT NOT NULL,
    arrivals   BIGINT NOT NULL,
    PRIMARY KEY (hour, account_id)
);

-- All zones together, which have no name. Of the past only the peaks of each are known, and their sum is no less.
INSERT INTO zone_load (account_id, zone, live, hour, hour_peak, changes, before_hour, before_peak, day, day_peak)
    SELECT account_id, '', CAST(SUM(live) AS BIGINT), MAX(hour), CAST(SUM(hour_peak) AS BIGINT), 1, MAX(hour), 0,
           MAX(day), CAST(SUM(day_peak) AS BIGINT)
    FROM zone_load GROUP BY account_id;
INSERT INTO zone_hours (account_id, zone, hour, peak)
    SELECT account_id, '', hour, CAST(SUM(peak) AS BIGINT) FROM zone_hours GROUP BY account_id, hour;
