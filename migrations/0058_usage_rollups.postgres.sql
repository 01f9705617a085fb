-- Room on the page for the next version of a row that changes with every call.
ALTER TABLE usage_trunks SET (fillfactor = 70);
ALTER TABLE usage_destinations SET (fillfactor = 70);
ALTER TABLE usage_routes SET (fillfactor = 70);

INSERT INTO usage_routes
    (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
    SELECT 1, started_at / 3600000, COALESCE(country, ''), COALESCE(destination_name, ''),
           COALESCE(upstream_id, '00000000-0000-0000-0000-000000000000'), COUNT(*),
           COUNT(CASE WHEN status = 'answered' THEN 1 END), SUM(duration_seconds), SUM(charge), SUM(cost)
    FROM cdrs GROUP BY 2, 3, 4, 5;
INSERT INTO usage_routes
    (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
    SELECT 24, slot / 24 * 24, country, destination_name, upstream_id, SUM(attempts), SUM(answered), SUM(seconds),
           SUM(charge), SUM(cost)
    FROM usage_routes WHERE span = 1 GROUP BY slot / 24, country, destination_name, upstream_id;
