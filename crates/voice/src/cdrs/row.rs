//! The stored CDR: a row of `cdrs`.

use uuid::Uuid;

use super::terms::{CallStatus, CallTerms, HungUpBy};
use db::{DbError, FromRow, Param, Row, Value, table_row};
use values::{CallId, Time, UpstreamId};

table_row! {
    /// What became of a call, and what it cost.
    #[derive(Clone, Debug)]
    pub struct CallResult {
        pub answered_at: Option<Time>,
        pub ended_at: Option<Time>,
        pub duration_seconds: i64,
        pub billed_seconds: i64,
        pub status: CallStatus,
        pub upstream_id: Option<UpstreamId>,
        pub charge: i64,
        pub cost: i64,
        /// The ledger transaction of the charge; set when the CDR is written.
        pub ledger_id: Option<Uuid>,
        pub imported: bool,
        pub review: bool,
        pub recorded_at: Time,
    }
}

/// A CDR. Its columns are `id` and those of [`CallTerms`] and [`CallResult`], in this order.
#[derive(Clone, Debug)]
pub struct CdrRow {
    pub id: CallId,
    pub terms: CallTerms,
    pub result: CallResult,
}

impl FromRow for CdrRow {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(CdrRow {
            id: row.get(0)?,
            terms: CallTerms::from_column(row, 1)?,
            result: CallResult::from_column(row, 1 + CallTerms::WIDTH)?,
        })
    }
}

/// A CDR, and who hung up its call. Only live calls can be hung up, so the mark is not among the columns of every CDR
/// that is written.
#[derive(Clone, Debug)]
pub struct MarkedCdr {
    pub cdr: CdrRow,
    pub hung_up_by: Option<HungUpBy>,
}

impl FromRow for MarkedCdr {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(MarkedCdr { cdr: CdrRow::from_row(row)?, hung_up_by: row.get(CdrRow::WIDTH)? })
    }
}

impl MarkedCdr {
    /// Its columns: those of the CDR, then `hung_up_by`.
    pub fn values(&self) -> impl Iterator<Item = Value<'_>> {
        self.cdr.values().chain(std::iter::once(self.hung_up_by.to_value()))
    }
}

impl CdrRow {
    pub const WIDTH: usize = 1 + CallTerms::WIDTH + CallResult::WIDTH;

    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once("id").chain(CallTerms::NAMES).chain(CallResult::NAMES)
    }

    pub fn values(&self) -> impl Iterator<Item = Value<'_>> {
        std::iter::once(self.id.to_value()).chain(self.terms.values()).chain(self.result.values())
    }

    pub fn is_answered(&self) -> bool {
        self.result.status == CallStatus::Answered
    }

    /// Country and name of the destination; empty where there is none.
    pub fn destination(&self) -> (String, String) {
        let CallTerms { country, destination_name, .. } = &self.terms;
        (country.clone().unwrap_or_default(), destination_name.clone().unwrap_or_default())
    }
}
