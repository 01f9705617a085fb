//! What a line's trunk says of it.

use crate::db::{Conn, DbError, params, row, sql};
use crate::values::{AccountId, TrunkId};

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
