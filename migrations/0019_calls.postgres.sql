
-- What lies in no month that was made goes here: a month that comes unawares, and lines of long ago.
CREATE TABLE cdrs_other PARTITION OF cdrs DEFAULT;

-- Makes the month of a moment (Unix milliseconds) and those around it, and answers how many there were to make.
CREATE FUNCTION make_cdr_months(moment BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    first TIMESTAMP;
    name TEXT;
    made BIGINT := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(7310589422);
    FOR step IN -1..2 LOOP
        first := date_trunc('month', to_timestamp(moment / 1000) AT TIME ZONE 'UTC') + step * INTERVAL '1 month';
        name := 'cdrs_' || to_char(first, 'YYYY_MM');
        IF to_regclass(name) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF cdrs FOR VALUES FROM (%s) TO (%s)', name,
                    (extract(epoch FROM first) * 1000)::BIGINT,
                    (extract(epoch FROM first + INTERVAL '1 month') * 1000)::BIGINT);
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                -- Calls of that month came before it was made; they are as well where they are.
                NULL;
            END;
        END IF;
    END LOOP;
    RETURN made;
END $$;

SELECT make_cdr_months((extract(epoch FROM now()) * 1000)::BIGINT);

-- Nothing in it outlives its transaction.
ALTER TABLE cdr_arrivals SET UNLOGGED;
-- Room on the page for the next version of rows that change with every call.
ALTER TABLE trunk_load SET (fillfactor = 50);
ALTER TABLE zone_load SET (fillfactor = 50);
ALTER TABLE daily_spend SET (fillfactor = 50);
ALTER TABLE live_calls SET (fillfactor = 70);
