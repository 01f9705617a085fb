//! One record, with what its price follows from.

use uuid::Uuid;

use super::search::CdrRow;
use db::{Conn, DbError, FromRow, Row, params, row, sql};
use values::{CallId, Time, UpstreamId};

row! {
    /// What a call was sold on.
    #[derive(Clone, Debug)]
    pub struct SaleTerms {
        pub prefix: Option<String>,
        pub billed_seconds: i64,
        pub rate_per_minute: i64,
        pub connect_fee: i64,
        pub increment_seconds: i64,
        pub minimum_seconds: i64,
        pub rate_upstream_id: Option<UpstreamId>,
        pub ledger_id: Option<Uuid>,
        pub imported: bool,
        pub review: bool,
    }
}

/// A record and what it was sold on.
#[derive(Clone, Debug)]
pub struct Sold {
    pub cdr: CdrRow,
    pub terms: SaleTerms,
}

impl FromRow for Sold {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(Sold { terms: SaleTerms::from_column(row, 0)?, cdr: CdrRow::from_column(row, SaleTerms::WIDTH)? })
    }
}

/// The time in an id is when the call began, and that leads to the month where the record lies.
pub async fn find(conn: &mut Conn, id: CallId) -> Result<Option<Sold>, DbError> {
    let Some(started_at) = moment_of(id) else { return Ok(None) };
    conn.opt(
        sql!(
            "SELECT ",
            SaleTerms::COLS,
            ", id, account_id, trunk_id, upstream_id, call_id, leg, started_at, answered_at, ended_at,
               duration_seconds, calling, called, country, destination_name, status, currency, charge, cost
             FROM cdrs WHERE id = $1 AND started_at = $2"
        ),
        params![id, started_at],
    )
    .await
}

fn moment_of(id: CallId) -> Option<Time> {
    let (seconds, nanos) = id.uuid().get_timestamp()?.to_unix();
    let millis = i64::try_from(seconds).ok()?.checked_mul(1000)? + i64::from(nanos / 1_000_000);
    Some(Time::from_millis(millis))
}
