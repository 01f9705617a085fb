//! Counters that limit calls: channels and CPS of a trunk, calls per zone, spend per day.
//!
//! A limit is never read first and counted after: the statement that counts a call also checks its limit, or returns the
//! count for its transaction to check. So calls that begin at the same time on several nodes cannot exceed it together.
//!
//! - `store`: channels, CPS and zones · `daily_spend`: the daily fraud cap
//! - `quotas`: zone quotas and their use · `capacity`: peak concurrent calls · `peaks`: recounts hours with imported
//!   CDRs
//!
//! Both live calls (`calls`) and finished ones (`cdrs`) use these counters, so this module imports neither.

mod capacity;
mod daily_spend;
mod peaks;
mod quotas;
mod store;

pub use capacity::capacity;
pub use daily_spend::{DailySpend, lock_days, reserve_each, settle_spend};
pub use peaks::{COUNT_PEAKS, CallSpan, count_peaks_job, queue_recount};
pub use quotas::{ZoneQuota, admin_quotas, list_quotas, set_quotas};
pub use store::{
    ALL_ZONES, Entering, Leaving, Starting, channels_in_use, count_foreign, enter_zones, inbound_channels_in_use,
    leave_zones, occupy_channels, record_peaks_before, release_channels,
};

use values::Time;

pub const SECOND_MILLIS: i64 = 1000;
pub const HOUR_MILLIS: i64 = 3600 * SECOND_MILLIS;
pub const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;

/// UTC day of a time, in days since 1970-01-01.
pub const fn day_of(time: Time) -> i64 {
    time.millis().div_euclid(DAY_MILLIS)
}

/// Hour of a time, in hours since 1970-01-01.
pub const fn hour_of(time: Time) -> i64 {
    time.millis().div_euclid(HOUR_MILLIS)
}
