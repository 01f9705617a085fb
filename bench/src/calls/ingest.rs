//! Import of completed calls, 1,000 per request. Baselines: bare inserts of the same rows into a table with the same
//! indexes, sorted as the service sorts them, which is what the engine can do at best; and a PL/pgSQL procedure that
//! looks up the rate, debits the balance and stores the CDR, either all columns or only seven.

use std::fmt::Write;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::SinkExt;
use rusqlite::{Connection, TransactionBehavior};
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::fixture::{Customer, Fixture, post_cdrs};
use super::store::{Store, connect};
use crate::http::Client;
use crate::report::{Limit, Line};
use crate::{Outcome, ROUNDS};
use db::{Clock, Entropy};

pub const BATCH: u32 = 1000;
/// How long ago calls started at most, in milliseconds.
pub const MAX_AGE_MILLIS: u64 = 6_000;
const ROUND: Duration = Duration::from_secs(3);
/// The columns of a CDR that is written; those that a plan or a hang-up sets are not.
const COLUMNS: &str = "id, account_id, trunk_id, call_id, leg, zone, calling, called, country, destination_name, prefix, \
                       started_at, answered_at, ended_at, duration_seconds, billed_seconds, status, currency, \
                       rate_per_minute, connect_fee, increment_seconds, minimum_seconds, rate_upstream_id, upstream_id, \
                       charge, cost, ledger_id, imported, review, recorded_at";
const VALUES: &str = "(?1, ?2, ?3, ?4, 'termination', 'eu-west', '+31201111111', ?5, 'NL', 'Netherlands', '31',
                              ?6, ?6, ?7, ?8, ?8, 'answered', 'EUR', 1100000, 0, 1, 1, ?3, ?3, 5500000, 5000000, ?1,
                              TRUE, FALSE, ?6)";

const BASELINE_SCHEMA: &str = "
    CREATE TABLE bare_cdrs (LIKE cdrs INCLUDING CONSTRAINTS INCLUDING INDEXES);
    CREATE TABLE hand_rates (prefix TEXT PRIMARY KEY, rate_per_minute BIGINT NOT NULL, increment BIGINT NOT NULL,
                             minimum BIGINT NOT NULL);
    INSERT INTO hand_rates VALUES ('31', 1100000, 1, 1), ('316', 2200000, 60, 60), ('44', 1100000, 1, 1),
                                  ('49', 1100000, 6, 30);
    CREATE TABLE hand_balances (account BIGINT PRIMARY KEY, balance BIGINT NOT NULL);
    INSERT INTO hand_balances SELECT account, 1000000000000000 FROM generate_series(0, 7) AS account;
    CREATE TABLE hand_cdrs (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, call_id TEXT NOT NULL UNIQUE,
                            account BIGINT NOT NULL, called TEXT NOT NULL, started_at BIGINT NOT NULL,
                            seconds BIGINT NOT NULL, charge BIGINT NOT NULL);
    CREATE INDEX ON hand_cdrs (account, started_at);
    CREATE INDEX ON hand_cdrs (account, called);
    CREATE TABLE hand_full_cdrs (LIKE cdrs INCLUDING CONSTRAINTS INCLUDING INDEXES);
    CREATE FUNCTION hand_import(first BIGINT, calls BIGINT, whole BOOLEAN) RETURNS VOID LANGUAGE plpgsql AS $$
    DECLARE
        number TEXT;
        seconds BIGINT;
        rate hand_rates%ROWTYPE;
        charge BIGINT;
    BEGIN
        FOR n IN first..first + calls - 1 LOOP
            number := '3120' || lpad((n % 10000000)::TEXT, 7, '0');
            seconds := n % 300 + 1;
            SELECT * INTO rate FROM hand_rates
                WHERE prefix IN (left(number, 1), left(number, 2), left(number, 3), left(number, 4), left(number, 5),
                                 left(number, 6), left(number, 7))
                ORDER BY length(prefix) DESC LIMIT 1;
            seconds := (greatest(seconds, rate.minimum) + rate.increment - 1) / rate.increment * rate.increment;
            charge := round(rate.rate_per_minute * seconds / 60.0);
            UPDATE hand_balances SET balance = balance - charge WHERE account = n % 8;
            IF whole THEN
                INSERT INTO hand_full_cdrs
                    VALUES (lpad(to_hex(n), 32, '0')::UUID, lpad((n % 8)::TEXT, 32, '0')::UUID,
                            lpad((n % 8)::TEXT, 32, '0')::UUID, 'call-' || n, 'termination', 'eu-west',
                            '+31201111111', number, 'NL', 'Netherlands', rate.prefix, n, n, n + seconds * 1000,
                            seconds, seconds, 'answered', 'EUR', rate.rate_per_minute, 0, rate.increment, rate.minimum,
                            NULL, NULL, charge, 0, lpad(to_hex(n / 1000), 32, '0')::UUID, TRUE, FALSE, n);
            ELSE
                INSERT INTO hand_cdrs (call_id, account, called, started_at, seconds, charge)
                    VALUES ('call-' || n, n % 8, number, n, seconds, charge);
            END IF;
        END LOOP;
    END $$;";

pub async fn measure(sqlite: &Fixture, postgres: &Fixture) -> Outcome<Vec<Line>> {
    let (Store::Sqlite(file), Store::Postgres(server)) = (&sqlite.store, &postgres.store) else {
        return Err("SQLite and PostgreSQL fixtures are needed".into());
    };
    server.run(BASELINE_SCHEMA).await?;
    // Calls must start after the rate deck came into force.
    tokio::time::sleep(Duration::from_millis(MAX_AGE_MILLIS)).await;
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let mut bare_file = bare_table(file)?;
    let [mut ours, mut bare, mut hand] = [(); 3].map(|()| [Vec::new(), Vec::new()]);
    let mut next = 0;
    for _ in 0..ROUNDS {
        ours[0].push(import_over_http(sqlite, &mut next).await?);
        bare[0].push(insert_sqlite(&mut bare_file, sqlite)?);
        ours[1].push(import_over_http(postgres, &mut next).await?);
        bare[1].push(copy_postgres(&client, postgres).await?);
        hand[0].push(run_procedure(&client, &mut next, true).await?);
        hand[1].push(run_procedure(&client, &mut next, false).await?);
    }
    drop(client);
    connection.await??;
    let ([sqlite, postgres], [bare_sqlite, bare_postgres], [hand, hand_little]) = (ours, bare, hand);
    let at_least = |bound| Some(Limit::AtLeast(bound, "×"));
    Ok(vec![
        Line::beside(
            "CDR import, 1,000 per request, SQLite; baseline: bare inserts with the same indexes",
            sqlite.clone(),
            bare_sqlite,
            at_least(0.7),
        )
        .id("bare-sqlite"),
        Line::beside(
            "CDR import, SQLite; baseline: PostgreSQL procedure that rates, debits and stores the same CDR",
            sqlite.clone(),
            hand.clone(),
            at_least(3.0),
        )
        .id("procedure-sqlite"),
        Line::beside(
            "CDR import, SQLite; baseline: such a procedure with seven columns and three indexes",
            sqlite,
            hand_little.clone(),
            None,
        )
        .id("little-procedure-sqlite"),
        Line::beside(
            "CDR import, 1,000 per request, PostgreSQL; baseline: bare COPY with the same indexes",
            postgres.clone(),
            bare_postgres,
            at_least(0.7),
        )
        .id("bare-postgres"),
        Line::beside(
            "CDR import, PostgreSQL; baseline: the procedure that stores the same CDR",
            postgres.clone(),
            hand,
            at_least(2.5),
        )
        .id("procedure-postgres"),
        Line::beside("CDR import, PostgreSQL; baseline: the procedure with seven columns", postgres, hand_little, None)
            .id("little-procedure-postgres"),
    ])
}

/// Calls per second through `POST /switch/cdrs`, of all customers in turn.
async fn import_over_http(fixture: &Fixture, next: &mut i64) -> Outcome<f64> {
    let (authorization, trunks) = (fixture.service.switch_authorization()?, fixture.trunks());
    let mut client = Client::connect(fixture.service.ops).await?;
    let (started, mut imported, mut generating) = (Instant::now(), 0_u32, Duration::ZERO);
    while started.elapsed() - generating < ROUND {
        let before = Instant::now();
        let request = post_cdrs(&authorization, &ndjson(&trunks, next)?);
        // Generating the calls is not measured.
        generating += before.elapsed();
        let response = client.send(&request).await?;
        let result: Value = serde_json::from_slice(&response.body)?;
        if result["accepted"] != BATCH {
            let first = result["rejected"].get(0).unwrap_or(&result);
            return Err(format!("{}: {first}", response.status).into());
        }
        imported += BATCH;
    }
    Ok(f64::from(imported) / (started.elapsed() - generating).as_secs_f64())
}

/// A batch of new calls, of all trunks in turn.
pub fn ndjson(trunks: &[Uuid], next: &mut i64) -> Outcome<String> {
    let now = Clock::system().now().millis();
    let mut text = String::with_capacity(BATCH as usize * 300);
    for _ in 0..BATCH {
        *next += 1;
        let trunk = trunks.get(next.unsigned_abs() as usize % trunks.len()).ok_or("no trunks")?;
        let seconds = *next % 5 + 1;
        let started_at = now - MAX_AGE_MILLIS.cast_signed() + *next % 1000;
        let line = json!({
            "call_id": format!("call-{next}"), "leg": "termination", "trunk_id": trunk,
            "calling": "+31201111111", "called": format!("+3120{:07}", *next % 10_000_000), "started_at": started_at,
            "answered_at": started_at, "ended_at": started_at + seconds * 1000, "status": "answered",
        });
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

/// An empty `cdrs` table like the service's, in a file next to it.
fn bare_table(file: &Path) -> Outcome<Connection> {
    let connection = connect(&file.with_file_name("bare.db"))?;
    let source = connect(file)?;
    let mut statement = source.prepare("SELECT sql FROM sqlite_master WHERE tbl_name = 'cdrs' AND sql IS NOT NULL")?;
    for text in statement.query_map([], |row| row.get::<_, String>(0))? {
        connection.execute_batch(&text?)?;
    }
    Ok(connection)
}

/// Rows per second with a prepared statement, 1,000 per transaction.
fn insert_sqlite(connection: &mut Connection, fixture: &Fixture) -> Outcome<f64> {
    let insert = format!("INSERT INTO cdrs ({COLUMNS}) VALUES {VALUES}");
    let (started, mut inserted, mut generating) = (Instant::now(), 0_u32, Duration::ZERO);
    while started.elapsed() - generating < ROUND {
        let before = Instant::now();
        let rows = rows(&fixture.customers)?;
        generating += before.elapsed();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Row { id, account, trunk, called, at, seconds } in rows {
            transaction.prepare_cached(&insert)?.execute((
                id.as_bytes(),
                account.as_bytes(),
                trunk.as_bytes(),
                id.to_string(),
                called,
                at,
                at + seconds * 1000,
                seconds,
            ))?;
            inserted += 1;
        }
        transaction.commit()?;
    }
    Ok(f64::from(inserted) / (started.elapsed() - generating).as_secs_f64())
}

/// Rows per second with COPY, 1,000 per transaction.
async fn copy_postgres(client: &tokio_postgres::Client, fixture: &Fixture) -> Outcome<f64> {
    let copy = format!("COPY bare_cdrs ({COLUMNS}) FROM STDIN");
    let (started, mut inserted, mut generating) = (Instant::now(), 0_u32, Duration::ZERO);
    while started.elapsed() - generating < ROUND {
        let before = Instant::now();
        let rows = Bytes::from(copy_text(&rows(&fixture.customers)?)?);
        generating += before.elapsed();
        let mut sink = pin!(client.copy_in::<_, Bytes>(copy.as_str()).await?);
        sink.send(rows).await?;
        if sink.finish().await? != u64::from(BATCH) {
            return Err("COPY lost rows".into());
        }
        inserted += BATCH;
    }
    Ok(f64::from(inserted) / (started.elapsed() - generating).as_secs_f64())
}

/// The columns of a CDR that differ between calls.
struct Row {
    id: Uuid,
    account: Uuid,
    trunk: Uuid,
    called: String,
    at: i64,
    seconds: i64,
}

fn rows(customers: &[Customer]) -> Outcome<Vec<Row>> {
    let now = Clock::system().now();
    let row = |n: u32| {
        let customer = customers.get(n as usize % customers.len()).ok_or("no customers")?;
        let (account, trunk, called) = (customer.account.uuid(), customer.trunk, format!("+3120{n:07}"));
        let (at, seconds) = (now.millis(), i64::from(n % 300 + 1));
        Ok(Row { id: Entropy.uuid(now), account, trunk, called, at, seconds })
    };
    let mut rows: Vec<Row> = (0..BATCH).map(row).collect::<Outcome<_>>()?;
    rows.sort_by_key(|row| (row.trunk, row.id));
    Ok(rows)
}

fn copy_text(rows: &[Row]) -> Outcome<String> {
    let mut text = String::with_capacity(rows.len() * 400);
    for Row { id, account, trunk, called, at, seconds } in rows {
        let end = at + seconds * 1000;
        writeln!(
            text,
            "{id}\t{account}\t{trunk}\t{id}\ttermination\teu-west\t+31201111111\t{called}\tNL\tNetherlands\t31\t\
             {at}\t{at}\t{end}\t{seconds}\t{seconds}\tanswered\tEUR\t1100000\t0\t1\t1\t{trunk}\t{trunk}\t5500000\t5000000\t\
             {id}\tt\tf\t{at}"
        )?;
    }
    Ok(text)
}

/// Calls per second through the procedure; `whole` stores all columns.
async fn run_procedure(client: &tokio_postgres::Client, next: &mut i64, whole: bool) -> Outcome<f64> {
    let statement = client.prepare("SELECT hand_import($1, $2, $3)").await?;
    let (started, mut imported) = (Instant::now(), 0_u32);
    while started.elapsed() < ROUND {
        *next += 1;
        client.query(&statement, &[next, &i64::from(BATCH), &whole]).await?;
        *next += i64::from(BATCH);
        imported += BATCH;
    }
    Ok(f64::from(imported) / started.elapsed().as_secs_f64())
}
