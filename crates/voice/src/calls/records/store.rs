//! The records and what is counted of them.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use super::{Charged, Tally};
use crate::calls::types::{CallStatus, Leg};
use db::{Conn, DbError, Value, params, row, row_values, sql};
use values::{AccountId, CallId, Currency, Time, TrunkId, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct Record {
        pub id: CallId,
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        pub call_id: String,
        pub leg: Leg,
        pub zone: String,
        pub calling: String,
        pub called: String,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub prefix: Option<String>,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub ended_at: Option<Time>,
        pub duration_seconds: i64,
        pub billed_seconds: i64,
        pub status: CallStatus,
        pub currency: Currency,
        pub rate_per_minute: i64,
        pub connect_fee: i64,
        pub increment_seconds: i64,
        pub minimum_seconds: i64,
        pub rate_upstream_id: Option<UpstreamId>,
        pub upstream_id: Option<UpstreamId>,
        pub charge: i64,
        pub cost: i64,
        pub ledger_id: Option<Uuid>,
        pub imported: bool,
        pub review: bool,
        pub recorded_at: Time,
    }
}

const COLUMNS: [&str; Record::WIDTH] = [
    "id",
    "account_id",
    "trunk_id",
    "call_id",
    "leg",
    "zone",
    "calling",
    "called",
    "country",
    "destination_name",
    "prefix",
    "started_at",
    "answered_at",
    "ended_at",
    "duration_seconds",
    "billed_seconds",
    "status",
    "currency",
    "rate_per_minute",
    "connect_fee",
    "increment_seconds",
    "minimum_seconds",
    "rate_upstream_id",
    "upstream_id",
    "charge",
    "cost",
    "ledger_id",
    "imported",
    "review",
    "recorded_at",
];

fn cells(record: &Record) -> [Value<'_>; Record::WIDTH] {
    row_values![
        record.id,
        record.account_id,
        record.trunk_id,
        record.call_id,
        record.leg,
        record.zone,
        record.calling,
        record.called,
        record.country,
        record.destination_name,
        record.prefix,
        record.started_at,
        record.answered_at,
        record.ended_at,
        record.duration_seconds,
        record.billed_seconds,
        record.status,
        record.currency,
        record.rate_per_minute,
        record.connect_fee,
        record.increment_seconds,
        record.minimum_seconds,
        record.rate_upstream_id,
        record.upstream_id,
        record.charge,
        record.cost,
        record.ledger_id,
        record.imported,
        record.review,
        record.recorded_at
    ]
}

pub async fn insert(conn: &mut Conn, records: &[Record]) -> Result<(), DbError> {
    conn.insert_many("cdrs", COLUMNS, records, cells).await?;
    Ok(())
}

/// The record of a call of ours.
pub async fn find(conn: &mut Conn, id: CallId) -> Result<Option<Record>, DbError> {
    let Some(started_at) = id.started_at() else { return Ok(None) };
    conn.opt(
        sql!("SELECT ", Record::COLS, " FROM cdrs WHERE id = $1 AND started_at = $2 AND NOT imported"),
        params![id, started_at],
    )
    .await
}

/// Writes down how a call was after all.
pub async fn replace(conn: &mut Conn, record: &Record) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE cdrs SET answered_at = $3, ended_at = $4, duration_seconds = $5, billed_seconds = $6, status = $7,
                 upstream_id = $8, charge = $9, cost = $10, ledger_id = $11, review = $12, recorded_at = $13
             WHERE id = $1 AND started_at = $2"
        ),
        params![
            record.id,
            record.started_at,
            record.answered_at,
            record.ended_at,
            record.duration_seconds,
            record.billed_seconds,
            record.status,
            record.upstream_id,
            record.charge,
            record.cost,
            record.ledger_id,
            record.review,
            record.recorded_at
        ],
    )
    .await?;
    Ok(())
}

/// Remembers what was added to a record that had been charged for before.
pub async fn note_amendment(
    conn: &mut Conn,
    id: Uuid,
    record: &Record,
    added: Charged,
    ledger_id: Option<Uuid>,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO cdr_amendments (id, cdr_id, started_at, account_id, country, destination_name, billed_seconds,
                 charge, ledger_id, recorded_at)
             VALUES ($1, $2, $3, $4, COALESCE($5, ''), COALESCE($6, ''), $7, $8, $9, $10)"
        ),
        params![
            id,
            record.id,
            record.started_at,
            record.account_id,
            record.country,
            record.destination_name,
            added.billed_seconds,
            added.charge,
            ledger_id,
            now
        ],
    )
    .await?;
    Ok(())
}

/// Inserts those that are not there yet, by trunk, Call-ID, leg and beginning, and answers which.
pub async fn insert_new(conn: &mut Conn, batch: Uuid, records: &[Record]) -> Result<HashSet<CallId>, DbError> {
    if conn.is_in_process() {
        return insert_one_by_one(conn, records).await;
    }
    let arrivals: Vec<(Uuid, &Record)> = records.iter().map(|record| (batch, record)).collect();
    conn.insert_many("cdr_arrivals", arrival_columns(), &arrivals, arrival_cells).await?;
    let new: Vec<(CallId,)> = conn
        .all(
            sql!(
                "INSERT INTO cdrs (",
                Record::COLS,
                ") SELECT ",
                Record::COLS,
                " FROM cdr_arrivals WHERE batch = $1 ORDER BY trunk_id, leg, started_at,
                     call_id /*pg COLLATE \"C\" */, id
                 ON CONFLICT (trunk_id, call_id, leg, started_at) WHERE imported DO NOTHING RETURNING id"
            ),
            params![batch],
        )
        .await?;
    conn.exec(sql!("DELETE FROM cdr_arrivals WHERE batch = $1"), params![batch]).await?;
    Ok(new.into_iter().map(|(id,)| id).collect())
}

async fn insert_one_by_one(conn: &mut Conn, records: &[Record]) -> Result<HashSet<CallId>, DbError> {
    let sql = sql!(
        "INSERT INTO cdrs (",
        Record::COLS,
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                   $23, $24, $25, $26, $27, $28, $29, $30)
         ON CONFLICT (trunk_id, call_id, leg, started_at) WHERE imported DO NOTHING"
    );
    let cells: Vec<_> = records.iter().map(cells).collect();
    let inserted = conn.exec_all(&cells.iter().map(|cells| (sql, cells.as_slice())).collect::<Vec<_>>()).await?;
    let new = records.iter().zip(inserted).filter(|(_, rows)| *rows > 0);
    Ok(new.map(|(record, _)| record.id).collect())
}

const ARRIVAL_WIDTH: usize = Record::WIDTH + 1;

fn arrival_columns() -> [&'static str; ARRIVAL_WIDTH] {
    std::array::from_fn(|place| if place == 0 { "batch" } else { COLUMNS[place - 1] })
}

fn arrival_cells<'a>((batch, record): &'a (Uuid, &Record)) -> [Value<'a>; ARRIVAL_WIDTH] {
    let mut cells = cells(record).into_iter();
    std::array::from_fn(|place| match place {
        0 => Value::Uuid(*batch),
        _ => cells.next().unwrap_or(Value::Bool(false)),
    })
}

pub async fn add_to_days(
    conn: &mut Conn,
    account: AccountId,
    destinations: &BTreeMap<(i64, String, String), Tally>,
) -> Result<(), DbError> {
    for ((day, country, destination_name), tally) in destinations {
        conn.exec(
            sql!(
                "INSERT INTO cdr_days (account_id, day, country, destination_name, attempts, answered, seconds, charge,
                                       cost)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                 ON CONFLICT (account_id, day, country, destination_name) DO UPDATE
                 SET attempts = cdr_days.attempts + excluded.attempts, answered = cdr_days.answered + excluded.answered,
                     seconds = cdr_days.seconds + excluded.seconds, charge = cdr_days.charge + excluded.charge,
                     cost = cdr_days.cost + excluded.cost"
            ),
            params![
                account,
                *day,
                country,
                destination_name,
                tally.attempts,
                tally.answered,
                tally.seconds,
                tally.charge,
                tally.cost
            ],
        )
        .await?;
    }
    Ok(())
}

pub async fn add_to_charges(
    conn: &mut Conn,
    account: AccountId,
    day: i64,
    charges: &BTreeMap<(String, String), Charged>,
) -> Result<(), DbError> {
    for ((country, destination_name), charged) in charges {
        conn.exec(
            sql!(
                "INSERT INTO cdr_charges (account_id, day, country, destination_name, calls, billed_seconds, charge)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)
                 ON CONFLICT (account_id, day, country, destination_name) DO UPDATE
                 SET calls = cdr_charges.calls + excluded.calls,
                     billed_seconds = cdr_charges.billed_seconds + excluded.billed_seconds,
                     charge = cdr_charges.charge + excluded.charge"
            ),
            params![account, day, country, destination_name, charged.calls, charged.billed_seconds, charged.charge],
        )
        .await?;
    }
    Ok(())
}

pub async fn add_to_hours(
    conn: &mut Conn,
    account: AccountId,
    hours: &BTreeMap<(i64, TrunkId), Tally>,
) -> Result<(), DbError> {
    for ((hour, trunk), tally) in hours {
        conn.exec(
            sql!(
                "INSERT INTO cdr_hours (account_id, hour, trunk_id, attempts, answered, seconds, charge)
                 VALUES ($1, $2, $3, $4, $5, $6, $7)
                 ON CONFLICT (account_id, hour, trunk_id) DO UPDATE
                 SET attempts = cdr_hours.attempts + excluded.attempts, answered = cdr_hours.answered + excluded.answered,
                     seconds = cdr_hours.seconds + excluded.seconds, charge = cdr_hours.charge + excluded.charge"
            ),
            params![account, *hour, *trunk, tally.attempts, tally.answered, tally.seconds, tally.charge],
        )
        .await?;
    }
    Ok(())
}
