//! How busy trunks and zones are, and what a day's calls have cost: rows that calls take from and give back to.

mod store;

pub use store::{
    ACCOUNT_WIDE, HOURS_SHOWN, begin_in_zone, begin_on_trunk, beginning_in_zone, beginning_on_trunk, channels_in_use,
    end_in_zone, end_on_trunk, remember_hour, reserving_in_day,
};

use rating::Rate;

use super::slice::{Slice, afford};
use db::{Conn, DbError};
use values::AccountId;

/// A day of an account, and what its calls may cost together.
#[derive(Clone, Copy, Debug)]
pub struct Day {
    pub account: AccountId,
    pub day: i64,
    pub most: i64,
}

impl Day {
    /// Takes as much of a call's slice as the day allows beyond what the call holds already; nothing if that is none.
    pub async fn reserve(
        self,
        conn: &mut Conn,
        rate: &Rate,
        wanted: Slice,
        held: i64,
    ) -> Result<Option<Slice>, DbError> {
        if self.take(conn, wanted.amount - held).await? {
            return Ok(Some(wanted));
        }
        let left = store::left_of_day(conn, self).await?;
        let Some(smaller) = afford(rate, wanted.seconds, held.saturating_add(left)) else { return Ok(None) };
        let is_taken = smaller.amount >= held && self.take(conn, smaller.amount - held).await?;
        Ok(is_taken.then_some(smaller))
    }

    async fn take(self, conn: &mut Conn, amount: i64) -> Result<bool, DbError> {
        if amount == 0 { Ok(true) } else { store::reserve_in_day(conn, self, amount).await }
    }

    /// Gives back what turned out not to be needed.
    pub async fn give_back(self, conn: &mut Conn, amount: i64) -> Result<(), DbError> {
        if amount == 0 { Ok(()) } else { store::settle_in_day(conn, self.account, self.day, 0, amount).await }
    }

    /// Turns what was set aside for calls of this day into what they cost.
    pub async fn settle(self, conn: &mut Conn, charged: i64, freed: i64) -> Result<(), DbError> {
        store::settle_in_day(conn, self.account, self.day, charged, freed).await
    }

    /// Whether this is the first to say that the day is spent.
    pub async fn tell_once(self, conn: &mut Conn) -> Result<bool, DbError> {
        store::tell_once(conn, self).await
    }
}
