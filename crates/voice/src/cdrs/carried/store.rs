//! Reads CDRs of all accounts in their order and picks those of an upstream: an index of its own would make
//! every CDR dearer to write, for something that is read once a month.

use crate::cdrs::search::position;
use crate::cdrs::terms::{CallStatus, Leg};
use db::{Conn, DbError, params, row, sql};
use values::{CallId, Currency, Time, UpstreamId};

row! {
    /// A call, and what it cost.
    #[derive(Clone, Debug)]
    pub struct CarriedCall {
        pub id: CallId,
        pub call_id: String,
        pub started_at: Time,
        pub duration_seconds: i64,
        pub called: String,
        pub currency: Currency,
        pub cost: i64,
        pub imported: bool,
        leg: Leg,
        status: CallStatus,
        upstream_id: Option<UpstreamId>,
    }
}

/// Start time and id of the last CDR that was read.
pub type CarriedCursor = (Time, CallId);

/// Reads `scanned` CDRs after a cursor and before a time, oldest first. Returns those of answered calls that the upstream
/// carried, and the next cursor unless these were the last.
pub async fn carried_after(
    conn: &mut Conn,
    upstream: UpstreamId,
    cursor: CarriedCursor,
    to: Time,
    scanned: i64,
) -> Result<(Vec<CarriedCall>, Option<CarriedCursor>), DbError> {
    // By the primary key, since ids are in the order of the calls; the times select the partitions.
    let mut rows: Vec<CarriedCall> = conn
        .all(
            sql!(
                "SELECT ",
                CarriedCall::COLS,
                " FROM cdrs WHERE started_at >= $1 AND started_at < $3 AND id > $2 AND id < $5 ORDER BY id LIMIT $4"
            ),
            params![cursor.0, position(cursor), to, scanned, CallId::first_at(to)],
        )
        .await?;
    let is_last = (rows.len() as i64) < scanned;
    let next = rows.last().filter(|_| !is_last).map(|row| (row.started_at, row.id));
    rows.retain(|row| {
        row.upstream_id == Some(upstream) && row.status == CallStatus::Answered && row.leg == Leg::Termination
    });
    Ok((rows, next))
}
