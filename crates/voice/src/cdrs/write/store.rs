//! Table `cdrs`, and the amendments of CDRs that were already charged.

use std::collections::HashSet;

use uuid::Uuid;

use crate::cdrs::archive;
use crate::cdrs::rollups::ChargeDelta;
use crate::cdrs::row::{CallResult, CdrRow, MarkedCdr};
use crate::cdrs::terms::{CallTerms, HungUpBy};
use db::{Conn, DbError, Value, params, sql};
use values::CallId;

/// Inserts the CDRs of these items.
pub async fn insert<R: Sync>(
    conn: &mut Conn,
    items: &[R],
    values: fn(&R) -> [Value<'_>; CdrRow::WIDTH],
) -> Result<(), DbError> {
    let mut names = CdrRow::names();
    let columns: [&'static str; CdrRow::WIDTH] = std::array::from_fn(|_| names.next().unwrap_or_default());
    conn.insert_many("cdrs", columns, items, values).await?;
    Ok(())
}

/// The values of a CDR in the order of its columns.
pub fn values(cdr: &CdrRow) -> [Value<'_>; CdrRow::WIDTH] {
    let mut values = cdr.values();
    std::array::from_fn(|_| values.next().unwrap_or(Value::Bool(false)))
}

/// The CDR of a call, imported or not.
pub async fn find(conn: &mut Conn, id: CallId) -> Result<Option<CdrRow>, DbError> {
    // The time in the id is the start of the call, which selects the partition.
    let Some(started_at) = id.started_at() else { return Ok(None) };
    conn.opt(
        sql!("SELECT id, ", CallTerms::COLS, ", ", CallResult::COLS, " FROM cdrs WHERE id = $1 AND started_at = $2"),
        params![id, started_at],
    )
    .await
}

/// The CDR of a call and who hung it up.
pub async fn find_marked(conn: &mut Conn, id: CallId) -> Result<Option<MarkedCdr>, DbError> {
    let Some(started_at) = id.started_at() else { return Ok(None) };
    conn.opt(
        sql!(
            "SELECT id, ",
            CallTerms::COLS,
            ", ",
            CallResult::COLS,
            ", hung_up_by FROM cdrs WHERE id = $1 AND started_at = $2"
        ),
        params![id, started_at],
    )
    .await
}

/// Marks a CDR with who hung up its call.
pub async fn mark_hung_up(conn: &mut Conn, cdr: &CdrRow, by: HungUpBy) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE cdrs SET hung_up_by = $3 WHERE id = $1 AND started_at = $2"),
        params![cdr.id, cdr.terms.started_at, by],
    )
    .await?;
    Ok(())
}

/// Whether a call of our switches has a CDR. One that would be before the hot window counts as having one.
pub async fn exists(conn: &mut Conn, id: CallId) -> Result<bool, DbError> {
    let Some(started_at) = id.started_at() else { return Ok(false) };
    let found: Option<(CallId,)> = conn
        .opt(sql!("SELECT id FROM cdrs WHERE id = $1 AND started_at = $2 AND NOT imported"), params![id, started_at])
        .await?;
    Ok(found.is_some() || archive::archived_before(conn, id).await?.is_some())
}

/// Replaces the result of a CDR.
pub async fn update(conn: &mut Conn, cdr: &CdrRow) -> Result<(), DbError> {
    let result = &cdr.result;
    conn.exec(
        sql!(
            "UPDATE cdrs SET answered_at = $3, ended_at = $4, duration_seconds = $5, billed_seconds = $6, status = $7,
                 upstream_id = $8, charge = $9, cost = $10, ledger_id = $11, review = $12, recorded_at = $13
             WHERE id = $1 AND started_at = $2"
        ),
        params![
            cdr.id,
            cdr.terms.started_at,
            result.answered_at,
            result.ended_at,
            result.duration_seconds,
            result.billed_seconds,
            result.status,
            result.upstream_id,
            result.charge,
            result.cost,
            result.ledger_id,
            result.review,
            result.recorded_at
        ],
    )
    .await?;
    Ok(())
}

/// Records what an amendment added to a CDR that was already charged.
pub async fn insert_amendment(
    conn: &mut Conn,
    id: Uuid,
    cdr: &CdrRow,
    added: ChargeDelta,
    ledger_id: Option<Uuid>,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO cdr_amendments (id, cdr_id, started_at, account_id, country, destination_name, billed_seconds,
                 charge, ledger_id, recorded_at)
             VALUES ($1, $2, $3, $4, COALESCE($5, ''), COALESCE($6, ''), $7, $8, $9, $10)"
        ),
        params![
            id,
            cdr.id,
            cdr.terms.started_at,
            cdr.terms.account_id,
            cdr.terms.country,
            cdr.terms.destination_name,
            added.billed_seconds,
            added.charge,
            ledger_id,
            conn.now()
        ],
    )
    .await?;
    Ok(())
}

/// Inserts imported CDRs that are new by trunk, Call-ID, leg and start, and returns their ids.
pub async fn insert_new(conn: &mut Conn, batch: Uuid, cdrs: &[&CdrRow]) -> Result<HashSet<CallId>, DbError> {
    if conn.is_in_process() {
        return insert_one_by_one(conn, cdrs).await;
    }
    let arrivals: Vec<(Uuid, &CdrRow)> = cdrs.iter().map(|cdr| (batch, *cdr)).collect();
    conn.insert_many("cdr_arrivals", arrival_columns(), &arrivals, arrival_values).await?;
    let new: Vec<(CallId,)> = conn
        .all(
            sql!(
                "INSERT INTO cdrs (id, ",
                CallTerms::COLS,
                ", ",
                CallResult::COLS,
                ") SELECT id, ",
                CallTerms::COLS,
                ", ",
                CallResult::COLS,
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

async fn insert_one_by_one(conn: &mut Conn, cdrs: &[&CdrRow]) -> Result<HashSet<CallId>, DbError> {
    let sql = sql!(
        "INSERT INTO cdrs (id, ",
        CallTerms::COLS,
        ", ",
        CallResult::COLS,
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22,
                   $23, $24, $25, $26, $27, $28, $29, $30, $31)
         ON CONFLICT (trunk_id, call_id, leg, started_at) WHERE imported DO NOTHING"
    );
    let rows: Vec<_> = cdrs.iter().map(|cdr| values(cdr)).collect();
    let inserted = conn.exec_all(&rows.iter().map(|values| (sql, values.as_slice())).collect::<Vec<_>>()).await?;
    let new = cdrs.iter().zip(inserted).filter(|(_, rows)| *rows > 0);
    Ok(new.map(|(cdr, _)| cdr.id).collect())
}

const ARRIVAL_WIDTH: usize = CdrRow::WIDTH + 1;

fn arrival_columns() -> [&'static str; ARRIVAL_WIDTH] {
    let mut names = std::iter::once("batch").chain(CdrRow::names());
    std::array::from_fn(|_| names.next().unwrap_or_default())
}

fn arrival_values<'a>((batch, cdr): &'a (Uuid, &CdrRow)) -> [Value<'a>; ARRIVAL_WIDTH] {
    let mut values = std::iter::once(Value::Uuid(*batch)).chain(cdr.values());
    std::array::from_fn(|_| values.next().unwrap_or(Value::Bool(false)))
}
