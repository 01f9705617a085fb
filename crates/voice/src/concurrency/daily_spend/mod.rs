//! What an account's calls of one UTC day may cost: the charges of finished calls and the reservations of live calls
//! together stay within the fraud cap.

mod store;

pub use store::{lock_days, reserve_each, settle_spend};

use db::{Conn, DbError};
use values::AccountId;

/// The spend of an account on one UTC day, in nanos.
#[derive(Clone, Copy, Debug)]
pub struct DailySpend {
    pub account: AccountId,
    /// Days since 1970-01-01.
    pub day: i64,
    /// Maximum spend of the day. Not used to settle or release.
    pub limit: i64,
}

impl DailySpend {
    /// Reserves spend; false if that would exceed the limit.
    pub async fn reserve(self, conn: &mut Conn, amount: i64) -> Result<bool, DbError> {
        if amount == 0 { Ok(true) } else { store::reserve(conn, self, amount).await }
    }

    /// What is left of the limit. It cannot change before this transaction ends.
    pub async fn remaining(self, conn: &mut Conn) -> Result<i64, DbError> {
        store::remaining(conn, self).await
    }

    /// Releases reserved spend that is not needed.
    pub async fn release(self, conn: &mut Conn, amount: i64) -> Result<(), DbError> {
        if amount > 0 {
            let update = settle_spend(self.account, self.day, 0, amount);
            conn.exec(update.text, &update.params).await?;
        }
        Ok(())
    }

    /// Whether the account is still to be notified that the limit is reached. True once a day.
    pub async fn claim_notification(self, conn: &mut Conn) -> Result<bool, DbError> {
        store::claim_notification(conn, self).await
    }
}
