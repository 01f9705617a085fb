//! Trunks and rentals of numbers, to find the owner of a line.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, E164, Time, TrunkId};

/// More rentals than a number ever has; of more, the latest count.
const MAX_RENTALS: i64 = 100;

row! {
    #[derive(Clone, Debug)]
    pub struct TrunkRow {
        pub id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
    }
}

pub async fn find_trunk(conn: &mut Conn, id: TrunkId) -> Result<Option<TrunkRow>, DbError> {
    conn.opt(sql!("SELECT ", TrunkRow::COLS, " FROM trunks WHERE id = $1"), params![id]).await
}

row! {
    /// The time for which a customer has or had a number.
    #[derive(Clone, Debug)]
    pub struct NumberRental {
        pub trunk_id: TrunkId,
        pub country: String,
        pub since: Time,
        pub released_at: Option<Time>,
    }
}

pub async fn list_rentals(conn: &mut Conn, number: &E164) -> Result<Vec<NumberRental>, DbError> {
    conn.all(
        sql!("SELECT ", NumberRental::COLS, " FROM numbers WHERE e164 = $1 ORDER BY since DESC LIMIT $2"),
        params![*number, MAX_RENTALS],
    )
    .await
}
