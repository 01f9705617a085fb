//! Calls that are over, a thousand to a request, beside the same rows put bare into a table with the same indexes, and
//! beside a procedure that somebody would write by hand: find the rate, take the money, keep the call.

use std::fmt::Write;
use std::pin::pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use trunkline::clock::Clock;
use trunkline::entropy::Entropy;
use uuid::Uuid;

use super::scene::{Customer, Scene, lines};
use crate::http::Client;
use crate::postgres::Database;
use crate::report::{Limit, Line};
use crate::{Outcome, ROUNDS};

const BATCH: u32 = 1000;
const ROUND: Duration = Duration::from_secs(4);

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
    CREATE FUNCTION hand_take_in(first BIGINT, calls BIGINT) RETURNS VOID LANGUAGE plpgsql AS $$
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
            INSERT INTO hand_cdrs (call_id, account, called, started_at, seconds, charge)
                VALUES ('call-' || place, place % 8, number, place, seconds, charge);
        END LOOP;
    END $$;";

pub async fn measure(scene: &Scene, server: &Database) -> Outcome<Vec<Line>> {
    server.run(YARDSTICKS).await?;
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await?;
    let connection = tokio::spawn(connection);
    let (mut ours, mut bare, mut hand) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 0;
    for _ in 0..ROUNDS {
        ours.push(through_service(scene, &mut next).await?);
        bare.push(into_table(&client, scene).await?);
        hand.push(by_hand(&client, &mut next).await?);
    }
    drop(client);
    connection.await??;
    Ok(vec![
        Line::beside(
            "calls taken in, 1,000 to a request, PostgreSQL, beside a bare COPY of the rows, indexes and all",
            ours.clone(),
            bare,
            Some(Limit::AtLeast(0.25, "×")),
        ),
        Line::beside(
            "the same beside a procedure in the database that rates, debits and keeps, 1,000 to a transaction",
            ours,
            hand,
            Some(Limit::AtLeast(2.0, "×")),
        ),
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
            return Err(format!("{}: {told}", answer.status).into());
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
        let seconds = *next % 300 + 1;
        let began = now - 400_000 + *next % 1000;
        let line = json!({
            "call_id": format!("call-{next}"), "leg": "termination", "trunk_id": customer.trunk,
            "calling": "+31201111111", "called": format!("+3120{:07}", *next % 10_000_000), "started_at": began,
            "answered_at": began, "ended_at": began + seconds * 1000, "status": "answered",
        });
        writeln!(text, "{line}")?;
    }
    Ok(text)
}

/// Rows a second through COPY, a thousand to a transaction.
async fn into_table(client: &tokio_postgres::Client, scene: &Scene) -> Outcome<f64> {
    let (begun, mut kept, mut writing) = (Instant::now(), 0_u32, Duration::ZERO);
    while begun.elapsed() - writing < ROUND {
        let before = Instant::now();
        let rows = Bytes::from(rows(&scene.customers)?);
        writing += before.elapsed();
        let mut sink = pin!(client.copy_in::<_, Bytes>("COPY bare_cdrs FROM STDIN").await?);
        sink.send(rows).await?;
        if sink.finish().await? != u64::from(BATCH) {
            return Err("COPY lost rows".into());
        }
        kept += BATCH;
    }
    Ok(f64::from(kept) / (begun.elapsed() - writing).as_secs_f64())
}

/// What the service would keep of such calls.
fn rows(customers: &[Customer]) -> Outcome<String> {
    let now = Clock::system().now();
    let mut text = String::with_capacity(BATCH as usize * 400);
    for place in 0..BATCH {
        let customer = customers.get(place as usize % customers.len()).ok_or("no customers")?;
        let (id, account, trunk): (Uuid, Uuid, Uuid) = (Entropy.uuid(now), customer.account.uuid(), customer.trunk);
        let (at, seconds) = (now.millis(), place % 300 + 1);
        let (called, end) = (place, at + i64::from(seconds) * 1000);
        writeln!(
            text,
            "{id}\t{account}\t{trunk}\t{id}\ttermination\teu-west\t+31201111111\t+3120{called:07}\tNL\tNetherlands\t31\t\
             {at}\t{at}\t{end}\t{seconds}\t{seconds}\tanswered\tEUR\t1100000\t0\t1\t1\t{trunk}\t{trunk}\t5500000\t5000000\t\
             {id}\tt\tf\t{at}"
        )?;
    }
    Ok(text)
}

/// Calls a second through the procedure.
async fn by_hand(client: &tokio_postgres::Client, next: &mut i64) -> Outcome<f64> {
    let take_in = client.prepare("SELECT hand_take_in($1, $2)").await?;
    let (begun, mut taken) = (Instant::now(), 0_u32);
    while begun.elapsed() < ROUND {
        *next += 1;
        client.query(&take_in, &[next, &i64::from(BATCH)]).await?;
        *next += i64::from(BATCH);
        taken += BATCH;
    }
    Ok(f64::from(taken) / begun.elapsed().as_secs_f64())
}
