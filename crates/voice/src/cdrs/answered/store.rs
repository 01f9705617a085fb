//! Reads answered calls along the index of their account.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Time};

row! {
    /// An answered call, what it was charged and what it cost.
    #[derive(Clone, Debug)]
    pub struct AnsweredCall {
        pub called: String,
        pub prefix: Option<String>,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub duration_seconds: i64,
        pub charge: i64,
        pub cost: i64,
    }
}

/// Visits at most `limit` answered calls of an account that began since a time, the newest first, and returns their
/// number.
pub async fn each_answered(
    conn: &mut Conn,
    account: AccountId,
    since: Time,
    limit: i64,
    visit: impl FnMut(AnsweredCall) -> Result<(), DbError> + Send,
) -> Result<u64, DbError> {
    conn.each(
        sql!(
            "SELECT ",
            AnsweredCall::COLS,
            " FROM cdrs WHERE account_id = $1 AND started_at >= $2 AND status = 'answered' AND leg = 'termination'
              ORDER BY started_at DESC LIMIT $3"
        ),
        params![account, since, limit],
        visit,
    )
    .await
}
