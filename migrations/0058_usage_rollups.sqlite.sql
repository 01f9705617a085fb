INSERT INTO usage_routes
    (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
    SELECT 1, started_at / 3600000, COALESCE(country, ''), COALESCE(destination_name, ''),
           COALESCE(upstream_id, X'00000000000000000000000000000000'), COUNT(*),
           COUNT(CASE WHEN status = 'answered' THEN 1 END), SUM(duration_seconds), SUM(charge), SUM(cost)
    FROM cdrs GROUP BY 2, 3, 4, 5;
INSERT INTO usage_routes
    (span, slot, country, destination_name, upstream_id, attempts, answered, seconds, charge, cost)
    SELECT 24, slot / 24 * 24, country, destination_name, upstream_id, SUM(attempts), SUM(answered), SUM(seconds),
           SUM(charge), SUM(cost)
    FROM usage_routes WHERE span = 1 GROUP BY slot / 24, country, destination_name, upstream_id;
