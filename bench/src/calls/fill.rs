//! Generates millions of CDRs of some weeks inside an empty database, with their rollups.
//!
//! The database must be nobody else's meanwhile. Indexes are created at the end; rollups are not summed by the database,
//! which would read all CDRs several times, but counted here by the same rules.

use std::fmt::Write;

use rusqlite::Connection;
use uuid::Uuid;

use super::fixture::Customer;
use crate::Outcome;
use crate::postgres::Database;
use db::Clock;

const HOUR_MILLIS: i64 = 3_600_000;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;
/// A prime, so that times are spread and not in order.
const STEP_MILLIS: i64 = 7919;
const DESTINATIONS: i64 = 40;
const NANOS_PER_SECOND: i64 = 18_333;
/// Rollup rows per statement.
const ROWS: usize = 500;

/// Drops the indexes of the partitioned table, which drops those of its partitions, and remembers how to recreate them.
const DROP_INDEXES: &str = "
    SET synchronous_commit = off;
    SET maintenance_work_mem = '1GB';
    CREATE TEMPORARY TABLE indexes AS
        SELECT indexrelid::REGCLASS::TEXT AS name, replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') AS text
        FROM pg_index WHERE indrelid = 'cdrs'::REGCLASS AND NOT indisprimary;
    DO $$ DECLARE it RECORD; BEGIN FOR it IN SELECT * FROM indexes LOOP EXECUTE 'DROP INDEX ' || it.name; END LOOP; END $$;
    ALTER TABLE cdrs DROP CONSTRAINT cdrs_pkey;";
const CREATE_INDEXES: &str = "
    ALTER TABLE cdrs ADD PRIMARY KEY (id, started_at);
    DO $$ DECLARE it RECORD; BEGIN FOR it IN SELECT * FROM indexes LOOP EXECUTE it.text; END LOOP; END $$;";

const HOURS: &str = "
    CREATE TEMPORARY TABLE hours (account_id /*id*/, trunk_id /*id*/, hour BIGINT, destination_name TEXT, attempts BIGINT,
                                  answered BIGINT, seconds BIGINT, charge BIGINT);";

/// The days that calls are spread over.
#[derive(Clone, Copy)]
pub struct Period {
    pub days: i64,
    /// How many days ago the last one ended.
    pub ended_days_ago: i64,
}

impl Period {
    pub const LAST_MONTH: Period = Period { days: 30, ended_days_ago: 0 };

    fn span(self) -> Span {
        let Period { days, ended_days_ago } = self;
        let begin = Clock::system().now().millis() - (ended_days_ago + days) * DAY_MILLIS;
        Span { begin, length: days * DAY_MILLIS }
    }
}

/// A period in milliseconds, as of now.
#[derive(Clone, Copy)]
struct Span {
    begin: i64,
    length: i64,
}

impl Span {
    /// When a call starts; [`cdrs`] calculates the same.
    fn start_of(self, n: i64) -> i64 {
        self.begin + (n * STEP_MILLIS) % self.length
    }
}

/// The CDRs of a customer, numbered from `first`.
pub struct Share {
    account: Uuid,
    trunk: Uuid,
    first: i64,
    calls: i64,
}

impl Share {
    /// This many CDRs of the first customer, of the second and so on.
    pub fn of(customers: &[Customer], calls: &[i64]) -> Vec<Share> {
        let mut first = 1;
        let share = |(customer, calls): (&Customer, &i64)| {
            let share = Share { account: customer.account.uuid(), trunk: customer.trunk, first, calls: *calls };
            first += calls;
            share
        };
        customers.iter().zip(calls).map(share).collect()
    }
}

pub fn sqlite(connection: &Connection, period: Period, shares: &[Share]) -> Outcome<()> {
    // Nothing is lost that could not be generated again.
    connection.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576; PRAGMA threads = 2;
         BEGIN IMMEDIATE",
    )?;
    let indexes = {
        let text = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'cdrs' AND sql IS NOT NULL";
        let mut statement = connection.prepare(text)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<Vec<(String, String)>, _>>()?
    };
    for (name, _) in &indexes {
        connection.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    let (span, blob) = (period.span(), |id: Uuid| format!("X'{}'", id.simple()));
    for share in shares {
        let numbers = format!(
            "(WITH RECURSIVE ids (n) AS (SELECT {} UNION ALL SELECT n + 1 FROM ids WHERE n < {}) SELECT n FROM ids) AS numbers",
            share.first,
            share.first + share.calls - 1
        );
        let id = "unhex(printf('%012x7%03x8%015x', at, n & 4095, n))";
        connection.execute_batch(&cdrs(id, &numbers, span, &blob(share.account), &blob(share.trunk)))?;
    }
    connection.execute_batch(&HOURS.replace("/*id*/", "BLOB"))?;
    connection.execute_batch(&rollups(shares, span, blob)?)?;
    for (_, text) in &indexes {
        connection.execute_batch(text)?;
    }
    // A checkpoint of the temporary table's database would fail.
    connection.execute_batch(
        "COMMIT; PRAGMA analysis_limit = 1000; ANALYZE; PRAGMA journal_mode = WAL; PRAGMA main.wal_checkpoint(TRUNCATE)",
    )?;
    Ok(())
}

pub async fn postgres(server: &Database, period: Period, shares: &[Share]) -> Outcome<()> {
    // Fewer checkpoints.
    server.run("ALTER SYSTEM SET max_wal_size = '8GB'").await?;
    server.run("SELECT pg_reload_conf()").await?;
    let (span, quoted) = (period.span(), |id: Uuid| format!("'{id}'::UUID"));
    let id =
        "(lpad(to_hex(at), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::UUID";
    let months = [span.begin, span.begin + span.length].map(|at| format!("SELECT make_cdr_months({at});"));
    let mut text = months.concat() + DROP_INDEXES;
    for share in shares {
        let last = share.first + share.calls - 1;
        let numbers = format!("generate_series({}::BIGINT, {last}::BIGINT) AS n", share.first);
        text.push_str(&cdrs(id, &numbers, span, &quoted(share.account), &quoted(share.trunk)));
    }
    let hours = HOURS.replace("/*id*/", "UUID");
    server.run(&format!("{text}{CREATE_INDEXES}{hours}{}", rollups(shares, span, quoted)?)).await?;
    for table in ["cdrs", "cdr_days", "cdr_hours", "usage_trunks", "usage_destinations", "usage_routes"] {
        server.run(&format!("VACUUM ANALYZE {table}")).await?;
    }
    server.run("ALTER SYSTEM RESET max_wal_size").await?;
    server.run("SELECT pg_reload_conf()").await?;
    server.run("CHECKPOINT").await
}

/// [`hours`] counts by the same rules.
fn cdrs(id: &str, numbers: &str, span: Span, account: &str, trunk: &str) -> String {
    let Span { begin, length } = span;
    format!(
        "INSERT INTO cdrs (id, account_id, trunk_id, call_id, leg, zone, calling, called, country, destination_name,
                           prefix, started_at, answered_at, ended_at, duration_seconds, billed_seconds, status,
                           currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds,
                           rate_upstream_id, upstream_id, charge, cost, ledger_id, imported, review, recorded_at)
         SELECT {id}, {account}, {trunk}, 'generated-' || n, 'termination', 'eu-west', '+31201111111',
                '+3120' || (1000000 + n % 8999993), 'NL', 'Destination ' || (n % {DESTINATIONS}), '31', at,
                CASE WHEN n % 3 > 0 THEN at END, at + seconds * 1000, seconds, seconds,
                CASE WHEN n % 3 > 0 THEN 'answered' ELSE 'busy' END, 'EUR', 1100000, 0, 1, 1, NULL, NULL,
                seconds * {NANOS_PER_SECOND}, 0, NULL, FALSE, FALSE, at
         FROM (SELECT n, CASE WHEN n % 3 > 0 THEN n % 300 + 1 ELSE 0 END AS seconds,
                      {begin} + (n * {STEP_MILLIS}) % {length} AS at
               FROM {numbers}) AS calls;"
    )
}

/// Calls to one destination that started in one hour.
#[derive(Clone, Default)]
struct Sums {
    attempts: i64,
    answered: i64,
    seconds: i64,
}

/// The sums of a share's calls by hour and destination, with the first hour.
fn hours(share: &Share, span: Span) -> Outcome<(i64, Vec<Sums>)> {
    let first_hour = span.begin / HOUR_MILLIS;
    let mut sums = vec![Sums::default(); usize::try_from((span.length / HOUR_MILLIS + 1) * DESTINATIONS)?];
    for n in share.first..share.first + share.calls {
        let place = (span.start_of(n) / HOUR_MILLIS - first_hour) * DESTINATIONS + n % DESTINATIONS;
        let sums = sums.get_mut(usize::try_from(place)?).ok_or("an hour outside the span")?;
        let is_answered = n % 3 > 0;
        sums.attempts += 1;
        sums.answered += i64::from(is_answered);
        sums.seconds += if is_answered { n % 300 + 1 } else { 0 };
    }
    Ok((first_hour, sums))
}

/// Fills the temporary table of hours, and sums all rollups from there.
fn rollups(shares: &[Share], span: Span, literal: impl Fn(Uuid) -> String) -> Outcome<String> {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for share in shares {
        let (account, trunk) = (literal(share.account), literal(share.trunk));
        let (first_hour, sums) = hours(share, span)?;
        for (place, Sums { attempts, answered, seconds }) in (0..).zip(sums) {
            if attempts > 0 {
                let (hour, destination) = (first_hour + place / DESTINATIONS, place % DESTINATIONS);
                let charge = seconds * NANOS_PER_SECOND;
                rows.push(format!(
                    "({account}, {trunk}, {hour}, 'Destination {destination}', {attempts}, {answered}, {seconds}, {charge})"
                ));
            }
        }
    }
    for rows in rows.chunks(ROWS) {
        writeln!(text, "INSERT INTO hours VALUES {};", rows.join(", "))?;
    }
    text.push_str(
        "INSERT INTO cdr_days (account_id, day, country, destination_name, attempts, answered, seconds, charge, cost)
         SELECT account_id, hour / 24, 'NL', destination_name, SUM(attempts), SUM(answered), SUM(seconds), SUM(charge), 0
         FROM hours GROUP BY 1, 2, 4;
         INSERT INTO cdr_hours (account_id, hour, trunk_id, attempts, answered, seconds, charge)
         SELECT account_id, hour, trunk_id, SUM(attempts), SUM(answered), SUM(seconds), SUM(charge)
         FROM hours GROUP BY 1, 2, 3;",
    );
    for hours in [1, 24] {
        text.push_str(&usage(hours, &literal(Uuid::nil())));
    }
    Ok(text)
}

/// The rollups of usage with slots of this many hours.
fn usage(span: i64, no_upstream: &str) -> String {
    let slot = format!("hour / {span} * {span}");
    let sums = "SUM(attempts), SUM(answered), SUM(seconds), SUM(charge), 0";
    let columns = "attempts, answered, seconds, charge, cost";
    format!(
        "INSERT INTO usage_trunks (account_id, span, slot, trunk_id, {columns})
         SELECT account_id, {span}, {slot}, trunk_id, {sums} FROM hours GROUP BY 1, 3, 4;
         INSERT INTO usage_destinations (account_id, span, slot, country, destination_name, {columns})
         SELECT account_id, {span}, {slot}, 'NL', destination_name, {sums} FROM hours GROUP BY 1, 3, 5;
         INSERT INTO usage_routes (span, slot, country, destination_name, upstream_id, {columns})
         SELECT {span}, {slot}, 'NL', destination_name, {no_upstream}, {sums} FROM hours GROUP BY 2, 4;"
    )
}
