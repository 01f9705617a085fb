//! Generates millions of CDRs of some weeks inside the database, with their rollups.
use rusqlite::Connection;
use uuid::Uuid;

use super::fixture::Customer;
use crate::Outcome;
use crate::postgres::Database;
use db::Clock;

const DAY_MILLIS: i64 = 86_400_000;

/// The days that calls are spread over.
#[derive(Clone, Copy)]
pub struct Period {
    pub days: i64,
    /// How many days ago the last one ended.
    pub ended_days_ago: i64,
}

impl Period {
    pub const LAST_MONTH: Period = Period { days: 30, ended_days_ago: 0 };

    /// When it begins, and its length, in milliseconds.
    fn millis(self) -> (i64, i64) {
        let Period { days, ended_days_ago } = self;
        (Clock::system().now().millis() - (ended_days_ago + days) * DAY_MILLIS, days * DAY_MILLIS)
    }
}

/// Drops the indexes of the partitioned table, which drops those of its partitions, and remembers how to recreate them.
const DROP_INDEXES: &str = "
    SET synchronous_commit = off;
    SET maintenance_work_mem = '1GB';
    CREATE TEMPORARY TABLE indexes AS
        SELECT indexrelid::REGCLASS::TEXT AS name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS text
        FROM pg_index WHERE indrelid = 'cdrs'::REGCLASS AND NOT indisprimary;
    DO $$ DECLARE it RECORD; BEGIN FOR it IN SELECT * FROM indexes LOOP EXECUTE 'DROP INDEX ' || it.name; END LOOP; END $$;";
const CREATE_INDEXES: &str = "
    DO $$ DECLARE it RECORD; BEGIN FOR it IN SELECT * FROM indexes LOOP EXECUTE it.text; END LOOP; END $$;";

/// Inserts CDRs of a customer without indexes, which are created afterwards.
pub fn sqlite(connection: &Connection, customer: &Customer, period: Period, first: i64, calls: i64) -> Outcome<()> {
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576; BEGIN IMMEDIATE")?;
    let indexes = {
        let text = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'cdrs' AND sql IS NOT NULL";
        let mut statement = connection.prepare(text)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<Vec<(String, String)>, _>>()?
    };
    for (name, _) in &indexes {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    let blob = |id: Uuid| format!("X'{}'", id.simple());
    let numbers = format!(
        "(WITH RECURSIVE ids (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM ids WHERE n < {}) SELECT n FROM ids) AS numbers",
        first + calls - 1
    );
    connection.execute_batch(&cdrs(
        "unhex(printf('%012x7%03x8%015x', at, n & 4095, n))",
        &numbers,
        &blob(customer.account.uuid()),
        &blob(customer.trunk),
        period.millis(),
    ))?;
    connection.execute_batch(&rollups(&blob(customer.account.uuid()), &blob(Uuid::nil())))?;
    for (_, text) in &indexes {
        connection.execute_batch(text)?;
    }
    connection.execute_batch("COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")?;
    Ok(())
}

pub async fn postgres(server: &Database, customer: &Customer, period: Period, first: i64, calls: i64) -> Outcome<()> {
    let quoted = |id: Uuid| format!("'{id}'::UUID");
    let id =
        "(lpad(to_hex(at), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::UUID";
    let numbers = format!("generate_series({first}::BIGINT, {}::BIGINT) AS n", first + calls - 1);
    let account = quoted(customer.account.uuid());
    let (begin, span) = period.millis();
    let months = format!("SELECT make_cdr_months({begin}), make_cdr_months({});", begin + span);
    let cdrs = cdrs(id, &numbers, &account, &quoted(customer.trunk), (begin, span));
    let rollups = rollups(&account, &quoted(Uuid::nil()));
    server.run(&format!("{months}{DROP_INDEXES}{cdrs}{rollups}{CREATE_INDEXES}")).await?;
    for table in ["cdrs", "cdr_days", "cdr_hours", "usage_trunks", "usage_destinations", "usage_routes"] {
        server.run(&format!("VACUUM ANALYZE {table}")).await?;
    }
    Ok(())
}

/// The step is a prime, so that times are spread and not in order.
fn cdrs(id: &str, numbers: &str, account: &str, trunk: &str, (begin, span): (i64, i64)) -> String {
    format!(
        "INSERT INTO cdrs (id, account_id, trunk_id, call_id, leg, zone, calling, called, country, destination_name,
                           prefix, started_at, answered_at, ended_at, duration_seconds, billed_seconds, status,
                           currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
                           rate_upstream_id, upstream_id, charge, cost, ledger_id, imported, review, recorded_at)
         SELECT {id}, {account}, {trunk}, 'generated-' || n, 'termination', 'eu-west', '+31201111111',
                '+3120' || (1000000 + n % 8999993), 'NL', 'Destination ' || (n % 40), '31', at,
                CASE WHEN n % 3 > 0 THEN at END, at + seconds * 1000, seconds, seconds,
                CASE WHEN n % 3 > 0 THEN 'answered' ELSE 'busy' END, 'EUR', 1100000, 0, 1, 1, NULL, NULL,
                seconds * 18333, 0, NULL, FALSE, FALSE, at
         FROM (SELECT n, CASE WHEN n % 3 > 0 THEN n % 300 + 1 ELSE 0 END AS seconds, {begin} + (n * 7919) % {span} AS at
               FROM {numbers}) AS calls;"
    )
}

fn rollups(account: &str, nil: &str) -> String {
    format!(
        "DELETE FROM cdr_days WHERE account_id = {account};
         INSERT INTO cdr_days (account_id, day, country, destination_name, attempts, answered, seconds, charge, cost)
         SELECT account_id, started_at / {DAY_MILLIS}, COALESCE(country, ''), COALESCE(destination_name, ''), COUNT(*),
                COUNT(answered_at), SUM(duration_seconds), SUM(charge), SUM(cost)
         FROM cdrs WHERE account_id = {account} GROUP BY 1, 2, 3, 4;
         DELETE FROM cdr_hours WHERE account_id = {account};
         INSERT INTO cdr_hours (account_id, hour, trunk_id, attempts, answered, seconds, charge)
         SELECT account_id, started_at / 3600000, trunk_id, COUNT(*), COUNT(answered_at), SUM(duration_seconds), SUM(charge)
         FROM cdrs WHERE account_id = {account} GROUP BY 1, 2, 3;
         {}{}",
        usage(account, nil, 1),
        usage(account, nil, 24)
    )
}

/// The rollups of usage with slots of this many hours. Those of routes are summed from the CDRs of all accounts.
fn usage(account: &str, nil: &str, span: i64) -> String {
    let slot = format!("started_at / {} * {span}", span * 3_600_000);
    let sums = "COUNT(*), COUNT(answered_at), SUM(duration_seconds), SUM(charge), SUM(cost)";
    let columns = "attempts, answered, seconds, charge, cost";
    format!(
        "DELETE FROM usage_trunks WHERE account_id = {account} AND span = {span};
         INSERT INTO usage_trunks (account_id, span, slot, trunk_id, {columns})
         SELECT account_id, {span}, {slot}, trunk_id, {sums} FROM cdrs WHERE account_id = {account} GROUP BY 1, 3, 4;
         DELETE FROM usage_destinations WHERE account_id = {account} AND span = {span};
         INSERT INTO usage_destinations (account_id, span, slot, country, destination_name, {columns})
         SELECT account_id, {span}, {slot}, COALESCE(country, ''), COALESCE(destination_name, ''), {sums}
         FROM cdrs WHERE account_id = {account} GROUP BY 1, 3, 4, 5;
         DELETE FROM usage_routes WHERE span = {span};
         INSERT INTO usage_routes (span, slot, country, destination_name, upstream_id, {columns})
         SELECT {span}, {slot}, COALESCE(country, ''), COALESCE(destination_name, ''), COALESCE(upstream_id, {nil}), {sums}
         FROM cdrs GROUP BY 2, 3, 4, 5;"
    )
}
