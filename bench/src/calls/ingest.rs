//! Calls that are over, a thousand to a request, beside the same rows put bare into a table with the same indexes, and
//! beside a procedure that somebody would write by hand: find the rate, take the money, keep the call, as much of it as we
//! keep, or little.

use std::fmt::Write;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::SinkExt;
use platform::clock::Clock;
use platform::entropy::Entropy;
use rusqlite::{Connection, TransactionBehavior};
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use uuid::Uuid;

use super::scene::{Customer, Scene, lines};
use super::store::{Store, connect};
use crate::http::Client;
use crate::report::{Limit, Line};
use crate::{Outcome, ROUNDS};

const BATCH: u32 = 1000;
/// How long ago calls began, in milliseconds.
const BEGAN_AT_MOST: u64 = 6_000;
const ROUND: Duration = Duration::from_secs(4);
const INSERT: &str =
    "INSERT INTO cdrs VALUES (?1, ?2, ?3, ?4, 'termination', 'eu-west', '+31201111111', ?5, 'NL', 'Netherlands', '31',
                              ?6, ?6, ?7, ?8, ?8, 'answered', 'EUR', 1100000, 0, 1, 1, ?3, ?3, 5500000, 5000000, ?1,
                              TRUE, FALSE, ?6)";

const YARDSTICKS: &str = "
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
    CREATE TABLE hand_records (LIKE cdrs INCLUDING CONSTRAINTS INCLUDING INDEXES);
    CREATE FUNCTION hand_take_in(first BIGINT, calls BIGINT, whole BOOLEAN) RETURNS VOID LANGUAGE plpgsql AS $$
    DECLARE
        number TEXT;
        seconds BIGINT;
        rate hand_rates%ROWTYPE;
        charge BIGINT;
    BEGIN
        FOR place IN first..first + calls - 1 LOOP
            number := '3120' || lpad((place % 10000000)::TEXT, 7, '0');
            seconds := place % 300 + 1;
            SELECT * INTO rate FROM hand_rates
                WHERE prefix IN (left(number, 1), left(number, 2), left(number, 3), left(number, 4), left(number, 5),
                                 left(number, 6), left(number, 7))
                ORDER BY length(prefix) DESC LIMIT 1;
            seconds := (greatest(seconds, rate.minimum) + rate.increment - 1) / rate.increment * rate.increment;
            charge := round(rate.rate_per_minute * seconds / 60.0);
            UPDATE hand_balances SET balance = balance - charge WHERE account = place % 8;
            IF whole THEN
                INSERT INTO hand_records
                    VALUES (lpad(to_hex(place), 32, '0')::UUID, lpad((place % 8)::TEXT, 32, '0')::UUID,
                            lpad((place % 8)::TEXT, 32, '0')::UUID, 'call-' || place, 'termination', 'eu-west',
                            '+31201111111', number, 'NL', 'Netherlands', rate.prefix, place, place, place + seconds * 1000,
                            seconds, seconds, 'answered', 'EUR', rate.rate_per_minute, 0, rate.increment, rate.minimum,
                            NULL, NULL, charge, 0, lpad(to_hex(place / 1000), 32, '0')::UUID, TRUE, FALSE, place);
            ELSE
                INSERT INTO hand_cdrs (call_id, account, called, started_at, seconds, charge)
                    VALUES ('call-' || place, place % 8, number, place, seconds, charge);
            END IF;
        END LOOP;
    END $$;";

pub async fn measure(sqlite: &Scene, postgres: &Scene) -> Outcome<Vec<Line>> {
    let (Store::Sqlite(file), Store::Postgres(server)) = (&sqlite.store, &postgres.store) else {
        return Err("a store of each kind is needed".into());
    };
    server.run(YARDSTICKS).await?;
    // Calls that have just begun and are over must have begun after the deck came into force.
    tokio::time::sleep(Duration::from_millis(BEGAN_AT_MOST)).await;
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let mut bare_file = bare_sqlite(file)?;
    let [mut ours, mut bare, mut hand] = [(); 3].map(|()| [Vec::new(), Vec::new()]);
    let mut next = 0;
    for _ in 0..ROUNDS {
        ours[0].push(through_service(sqlite, &mut next).await?);
        bare[0].push(into_file(&mut bare_file, sqlite)?);
        ours[1].push(through_service(postgres, &mut next).await?);
        bare[1].push(into_table(&client, postgres).await?);
        hand[0].push(by_hand(&client, &mut next, true).await?);
        hand[1].push(by_hand(&client, &mut next, false).await?);
    }
    drop(client);
    connection.await??;
    let ([sqlite, postgres], [bare_sqlite, bare_postgres], [hand, hand_little]) = (ours, bare, hand);
    let (a_quarter, twice) = (Some(Limit::AtLeast(0.25, "×")), Some(Limit::AtLeast(2.0, "×")));
    Ok(vec![
        Line::beside(
            "CDR import, 1,000 per request, SQLite; baseline: bare inserts with the same indexes",
            sqlite.clone(),
            bare_sqlite,
            a_quarter,
        ),
        Line::beside(
            "CDR import, SQLite; baseline: PostgreSQL procedure that rates, debits and stores the same CDR",
            sqlite.clone(),
            hand.clone(),
            twice,
        ),
        Line::beside(
            "CDR import, SQLite; baseline: such a procedure with seven columns and three indexes",
            sqlite,
            hand_little.clone(),
            None,
        ),
        Line::beside(
            "CDR import, 1,000 per request, PostgreSQL; baseline: bare COPY with the same indexes",
            postgres.clone(),
            bare_postgres,
            a_quarter,
        ),
        Line::beside(
            "CDR import, PostgreSQL; baseline: the procedure that stores the same CDR",
            postgres.clone(),
            hand,
            twice,
        ),
        Line::beside("CDR import, PostgreSQL; baseline: the procedure with seven columns", postgres, hand_little, None),
    ])
}

/// Calls a second through `POST /switch/cdrs`, of all customers in turn.
async fn through_service(scene: &Scene, next: &mut i64) -> Outcome<f64> {
    let authorization = scene.service.switch_authorization()?;
    let mut client = Client::connect(scene.service.ops).await?;
    let (begun, mut taken, mut writing) = (Instant::now(), 0_u32, Duration::ZERO);
    while begun.elapsed() - writing < ROUND {
        let before = Instant::now();
        let request = lines(&authorization, &text(&scene.customers, next)?);
        // Making up the calls is not the service's work.
        writing += before.elapsed();
        let answer = client.send(&request).await?;
        let told: Value = serde_json::from_slice(&answer.body)?;
        if told["accepted"] != BATCH {
            let first = told["rejected"].get(0).unwrap_or(&told);
            return Err(format!("{}: {first}", answer.status).into());
        }
        taken += BATCH;
    }
    Ok(f64::from(taken) / (begun.elapsed() - writing).as_secs_f64())
}

fn text(customers: &[Customer], next: &mut i64) -> Outcome<String> {
    let now = Clock::system().now().millis();
    let mut text = String::with_capacity(BATCH as usize * 300);
    for _ in 0..BATCH {
        *next += 1;
        let customer = customers.get(next.unsigned_abs() as usize % customers.len()).ok_or("no customers")?;
        let seconds = *next % 5 + 1;
        let began = now - BEGAN_AT_MOST.cast_signed() + *next % 1000;
        let line = json!({
            "call_id": format!("call-{next}"), "leg": "termination", "trunk_id": customer.trunk,
            "calling": "+31201111111", "called": format!("+3120{:07}", *next % 10_000_000), "started_at": began,
            "answered_at": began, "ended_at": began + seconds * 1000, "status": "answered",
        });
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

/// An empty table of calls like the service's, in a file beside it.
fn bare_sqlite(file: &Path) -> Outcome<Connection> {
    let connection = connect(&file.with_file_name("bare.db"))?;
    let theirs = connect(file)?;
    let mut statement = theirs.prepare("SELECT sql FROM sqlite_master WHERE tbl_name = 'cdrs' AND sql IS NOT NULL")?;
    for text in statement.query_map([], |row| row.get::<_, String>(0))? {
        connection.execute_batch(&text?)?;
    }
    Ok(connection)
}

/// Rows a second through a prepared statement, a thousand to a transaction.
fn into_file(connection: &mut Connection, scene: &Scene) -> Outcome<f64> {
    let (begun, mut kept, mut making) = (Instant::now(), 0_u32, Duration::ZERO);
    while begun.elapsed() - making < ROUND {
        let before = Instant::now();
        let rows = rows(&scene.customers)?;
        making += before.elapsed();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for Row { id, account, trunk, called, at, seconds } in rows {
            transaction.prepare_cached(INSERT)?.execute((
                id.as_bytes(),
                account.as_bytes(),
                trunk.as_bytes(),
                id.to_string(),
                called,
                at,
                at + seconds * 1000,
                seconds,
            ))?;
            kept += 1;
        }
        transaction.commit()?;
    }
    Ok(f64::from(kept) / (begun.elapsed() - making).as_secs_f64())
}

/// Rows a second through COPY, a thousand to a transaction.
async fn into_table(client: &tokio_postgres::Client, scene: &Scene) -> Outcome<f64> {
    let (begun, mut kept, mut making) = (Instant::now(), 0_u32, Duration::ZERO);
    while begun.elapsed() - making < ROUND {
        let before = Instant::now();
        let rows = Bytes::from(copied(&rows(&scene.customers)?)?);
        making += before.elapsed();
        let mut sink = pin!(client.copy_in::<_, Bytes>("COPY bare_cdrs FROM STDIN").await?);
        sink.send(rows).await?;
        if sink.finish().await? != u64::from(BATCH) {
            return Err("COPY lost rows".into());
        }
        kept += BATCH;
    }
    Ok(f64::from(kept) / (begun.elapsed() - making).as_secs_f64())
}

/// What the service would keep of such a call, as far as calls differ.
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
    let row = |place: u32| {
        let customer = customers.get(place as usize % customers.len()).ok_or("no customers")?;
        let (account, trunk, called) = (customer.account.uuid(), customer.trunk, format!("+3120{place:07}"));
        let (at, seconds) = (now.millis(), i64::from(place % 300 + 1));
        Ok(Row { id: Entropy.uuid(now), account, trunk, called, at, seconds })
    };
    (0..BATCH).map(row).collect()
}

fn copied(rows: &[Row]) -> Outcome<String> {
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

/// Calls a second through the procedure.
async fn by_hand(client: &tokio_postgres::Client, next: &mut i64, whole: bool) -> Outcome<f64> {
    let take_in = client.prepare("SELECT hand_take_in($1, $2, $3)").await?;
    let (begun, mut taken) = (Instant::now(), 0_u32);
    while begun.elapsed() < ROUND {
        *next += 1;
        client.query(&take_in, &[next, &i64::from(BATCH), &whole]).await?;
        *next += i64::from(BATCH);
        taken += BATCH;
    }
    Ok(f64::from(taken) / begun.elapsed().as_secs_f64())
}
