//! What trunks and numbers say of a line.

use db::{Conn, DbError, params, row, sql};
use values::{AccountId, E164, Time, TrunkId};

/// More customers than ever have the same number in turn; of more, those who had it last count.
const HOLDINGS: i64 = 100;

row! {
    #[derive(Clone, Debug)]
    pub struct TrunkFacts {
        pub id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
    }
}

pub async fn trunk(conn: &mut Conn, id: TrunkId) -> Result<Option<TrunkFacts>, DbError> {
    conn.opt(sql!("SELECT ", TrunkFacts::COLS, " FROM trunks WHERE id = $1"), params![id]).await
}

row! {
    /// A time for which a customer has or had a number.
    #[derive(Clone, Debug)]
    pub struct Holding {
        pub trunk_id: TrunkId,
        pub country: String,
        pub since: Time,
        pub released_at: Option<Time>,
    }
}

pub async fn holdings(conn: &mut Conn, number: &E164) -> Result<Vec<Holding>, DbError> {
    conn.all(
        sql!("SELECT ", Holding::COLS, " FROM numbers WHERE e164 = $1 ORDER BY since DESC LIMIT $2"),
        params![*number, HOLDINGS],
    )
    .await
}
