-- Drops the months that end at a moment (Unix milliseconds) or before: the archive has their calls. A query that runs for
-- long is not waited for; the next night tries again.
CREATE FUNCTION drop_cdr_months(moment BIGINT) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    name TEXT;
    dropped BIGINT := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(7310589422);
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR name IN
        SELECT child.relname FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
        WHERE inhparent = 'cdrs'::regclass AND child.relname ~ '^cdrs_[0-9]{4}_[0-9]{2}$' ORDER BY 1
    LOOP
        IF (extract(epoch FROM to_date(right(name, 7), 'YYYY_MM') + INTERVAL '1 month') * 1000)::BIGINT <= moment THEN
            BEGIN
                EXECUTE format('DROP TABLE %I', name);
                dropped := dropped + 1;
            EXCEPTION WHEN lock_not_available THEN
                RETURN dropped;
            END;
        END IF;
    END LOOP;
    RETURN dropped;
END $$;
