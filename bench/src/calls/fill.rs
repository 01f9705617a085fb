//! Millions of calls of the last 30 days, made by the database itself, with the sums that would stand beside them.

use trunkline::clock::Clock;

use super::scene::Customer;
use crate::Outcome;
use crate::postgres::Database;

const DAY_MILLIS: i64 = 86_400_000;

/// Makes calls of one customer, the first of them numbered `first`.
pub async fn fill(server: &Database, customer: &Customer, first: i64, calls: i64) -> Outcome<()> {
    let now = Clock::system().now().millis();
    let (account, trunk) = (customer.account.uuid(), customer.trunk);
    let begin = now - 30 * DAY_MILLIS;
    // The steps are odd numbers, so that moments, numbers and lengths are spread without being in order.
    server
        .run(&format!(
            "SET synchronous_commit = off;
             INSERT INTO cdrs (id, account_id, trunk_id, call_id, leg, zone, calling, called, country, destination_name,
                               prefix, started_at, answered_at, ended_at, duration_seconds, billed_seconds, status,
                               currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
                               rate_upstream_id, upstream_id, charge, cost, ledger_id, imported, review, recorded_at)
             SELECT (lpad(to_hex(at), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::UUID,
                    '{account}', '{trunk}', hash, 'termination', 'eu-west', '+31201111111', '+3120' || lpad((n % 9999991)::TEXT, 7, '0'),
                    'NL', 'Destination ' || n % 40, '31', at, CASE WHEN ok THEN at END,
                    at + CASE WHEN ok THEN seconds ELSE 0 END * 1000, CASE WHEN ok THEN seconds ELSE 0 END,
                    CASE WHEN ok THEN seconds ELSE 0 END, CASE WHEN ok THEN 'answered' ELSE 'busy' END,
                    'EUR', 1100000, 0, 1, 1, NULL, NULL, CASE WHEN ok THEN seconds * 18333 ELSE 0 END, 0, NULL, FALSE, FALSE, at
             FROM (SELECT n, md5(n::TEXT) AS hash, n % 3 > 0 AS ok, n % 300 + 1 AS seconds,
                          {begin} + (n * 7919) % {span} AS at
                   FROM generate_series({first}::BIGINT, {last}::BIGINT) AS n) AS calls;
             DELETE FROM cdr_days WHERE account_id = '{account}';
             INSERT INTO cdr_days SELECT account_id, started_at / {DAY_MILLIS}, COALESCE(country, ''), COALESCE(destination_name, ''), COUNT(*),
                    COUNT(answered_at), SUM(duration_seconds), SUM(charge), SUM(cost)
             FROM cdrs WHERE account_id = '{account}' GROUP BY 1, 2, 3, 4;
             DELETE FROM cdr_hours WHERE account_id = '{account}';
             INSERT INTO cdr_hours SELECT account_id, started_at / 3600000, trunk_id, COUNT(*), COUNT(answered_at),
                    SUM(duration_seconds)
             FROM cdrs WHERE account_id = '{account}' GROUP BY 1, 2, 3;",
            span = 30 * DAY_MILLIS,
            last = first + calls - 1,
        ))
        .await?;
    server.run("VACUUM ANALYZE cdrs").await?;
    server.run("VACUUM ANALYZE cdr_days").await?;
    server.run("VACUUM ANALYZE cdr_hours").await
}
