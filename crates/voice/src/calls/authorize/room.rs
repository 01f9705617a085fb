//! What is left of the limits of calls that are decided together: as it was read, less what the calls before have taken.
//!
//! Nothing here waits for the database. The statements that then take the sums check the limits again.

use std::collections::BTreeMap;

use rating::Rate;

use super::Refusal;
use super::store::CallContext;
use crate::calls::reservation::{RESERVED_SECONDS, Reservation, afford};
use crate::calls::types::DenyReason;
use crate::concurrency::{ALL_ZONES, DailySpend};
use values::{AccountId, Time, TrunkId};

/// What an account has a limit for, in the order in which transactions lock it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// Spend of the calls that begin on a day.
    Spend(i64),
    Channels(TrunkId),
    /// Calls that begin in this second.
    Starts(TrunkId),
    Zone(String),
    Money,
}

/// Whose limits a call takes from, on which day.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub account: AccountId,
    pub trunk: TrunkId,
    pub zone: &'a str,
    pub day: i64,
}

/// A limit, what was in use when it was read, and what calls have taken since.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub limit: i64,
    used: i64,
    pub taken: i64,
}

#[derive(Debug, Default)]
pub struct Room {
    pub limits: BTreeMap<(AccountId, Counter), Limit>,
}

impl Room {
    /// Adds the limits of calls that begin now and on this day.
    pub fn add(&mut self, context: &CallContext, now: Time, day: i64, default_zone_quota: i64) {
        let CallContext { account_id, trunk_id, .. } = *context;
        let in_second = if context.second >= now.seconds() { context.in_second } else { 0 };
        let limits = [
            (Counter::Spend(day), context.spend_limit(), context.spent),
            (Counter::Channels(trunk_id), context.channel_cap, context.trunk_calls),
            (Counter::Starts(trunk_id), context.cps_limit.unwrap_or(i64::MAX), in_second),
            (Counter::Zone(ALL_ZONES.to_owned()), i64::MAX, 0),
            (Counter::Zone(context.zone.clone()), context.zone_quota.unwrap_or(default_zone_quota), context.zone_calls),
            (Counter::Money, context.available, 0),
        ];
        for (counter, limit, used) in limits {
            self.limits.entry((account_id, counter)).or_insert(Limit { limit, used, taken: 0 });
        }
    }

    fn left(&self, account: AccountId, counter: Counter) -> i64 {
        let left = |limit: &Limit| limit.limit.saturating_sub(limit.used).saturating_sub(limit.taken);
        self.limits.get(&(account, counter)).map_or(0, left)
    }

    /// Takes what a call needs, with a shorter reservation if spend or money do not suffice for a whole one. If anything
    /// is missing, nothing is taken.
    pub fn take(&mut self, place: Place<'_>, rate: &Rate) -> Result<Reservation, Refusal> {
        let Place { account, trunk, zone, day } = place;
        let is_too_dear = || Refusal::Denied(DenyReason::BalanceInsufficient);
        let whole = afford(rate, RESERVED_SECONDS, i64::MAX).ok_or_else(is_too_dear)?;
        let limit = self.limits.get(&(account, Counter::Spend(day))).map_or(0, |spend| spend.limit);
        let is_capped = || Refusal::FraudCap(DailySpend { account, day, limit });
        let capped = within(rate, whole, self.left(account, Counter::Spend(day))).ok_or_else(is_capped)?;
        let places = [
            (Counter::Channels(trunk), DenyReason::ChannelCap),
            (Counter::Starts(trunk), DenyReason::CpsLimit),
            (Counter::Zone(zone.to_owned()), DenyReason::ZoneQuota),
        ];
        for (counter, reason) in places.clone() {
            if self.left(account, counter) < 1 {
                return Err(Refusal::Denied(reason));
            }
        }
        let funded = within(rate, capped, self.left(account, Counter::Money)).ok_or_else(is_too_dear)?;
        let everywhere = (Counter::Zone(ALL_ZONES.to_owned()), 1);
        let paid = [(Counter::Spend(day), funded.amount), (Counter::Money, funded.amount), everywhere];
        for (counter, more) in places.into_iter().map(|(counter, _)| (counter, 1)).chain(paid) {
            if let Some(limit) = self.limits.get_mut(&(account, counter)) {
                limit.taken += more;
            }
        }
        Ok(funded)
    }
}

/// The reservation, or a shorter one that these funds cover. What costs nothing needs none.
fn within(rate: &Rate, wanted: Reservation, funds: i64) -> Option<Reservation> {
    if wanted.amount == 0 || wanted.amount <= funds { Some(wanted) } else { afford(rate, wanted.seconds, funds) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    const ACCOUNT: AccountId = AccountId::new(Uuid::nil());

    fn trunk(number: u8) -> TrunkId {
        TrunkId::new(Uuid::from_u128(number.into()))
    }

    fn taken(room: &Room, counter: Counter) -> i64 {
        room.limits.get(&(ACCOUNT, counter)).unwrap().taken
    }

    proptest! {
        #[test]
        fn calls_take_no_more_than_there_is_and_each_refusal_has_its_reason(
            calls in prop::collection::vec((0u8..3, 1i64..1000), 1..60), cap in 1i64..20, quota in 1i64..30,
            spend in 1i64..50_000, money in -100i64..50_000
        ) {
            let mut room = Room::default();
            let mut add = |counter, limit, used| room.limits.insert((ACCOUNT, counter), Limit { limit, used, taken: 0 });
            for number in 0..3 {
                add(Counter::Channels(trunk(number)), cap, 1);
                add(Counter::Starts(trunk(number)), i64::MAX, 0);
            }
            add(Counter::Spend(0), spend, 0);
            add(Counter::Zone(ALL_ZONES.to_owned()), i64::MAX, 0);
            add(Counter::Zone("eu-west".to_owned()), quota, 1);
            add(Counter::Money, money, 0);
            for (number, nanos_per_second) in calls {
                let rate = Rate::new(nanos_per_second * 60, 0, 1, 1).unwrap();
                let before = (taken(&room, Counter::Spend(0)), taken(&room, Counter::Money));
                match room.take(Place { account: ACCOUNT, trunk: trunk(number), zone: "eu-west", day: 0 }, &rate) {
                    Ok(reservation) => {
                        prop_assert_eq!(rate.price(reservation.seconds), Ok(reservation.amount));
                        prop_assert_eq!(taken(&room, Counter::Spend(0)), before.0 + reservation.amount);
                    }
                    Err(Refusal::FraudCap(_)) => prop_assert!(spend - before.0 < nanos_per_second),
                    Err(Refusal::Denied(DenyReason::ChannelCap)) => {
                        prop_assert_eq!(taken(&room, Counter::Channels(trunk(number))), cap - 1);
                    }
                    Err(Refusal::Denied(DenyReason::ZoneQuota)) => {
                        prop_assert_eq!(taken(&room, Counter::Zone("eu-west".to_owned())), quota - 1);
                    }
                    Err(Refusal::Denied(DenyReason::BalanceInsufficient)) => {
                        prop_assert!(money - before.1 < nanos_per_second);
                    }
                    Err(_) => return Err(TestCaseError::fail("no other limit is reached")),
                }
            }
            let channels: i64 = (0..3).map(|number| taken(&room, Counter::Channels(trunk(number)))).sum();
            prop_assert_eq!(channels, taken(&room, Counter::Zone(ALL_ZONES.to_owned())));
            prop_assert!(channels < quota && (0..3).all(|number| taken(&room, Counter::Channels(trunk(number))) < cap));
            prop_assert!(taken(&room, Counter::Spend(0)) <= spend && taken(&room, Counter::Money) <= money.max(0));
            prop_assert_eq!(taken(&room, Counter::Spend(0)), taken(&room, Counter::Money));
        }
    }
}
