//! Calls: a switch asks before each, tells how it goes on, and what it came to is charged and kept.
//!
//! ```text
//!   authorize ── allowed: a live call, money set aside for its first minutes
//!       events ── answered, keepalive: money for the next minutes ── ended, failed ──┐
//!       jobs ──── nobody speaks of it any more ──────────────────────────────────────┤
//!   lines ─────── finished calls of another switch ──────────────────────────────────┴── records: kept, counted, charged
//! ```
//!
//! What may not be exceeded is never read first and changed after. Channels, calls per second, zone quotas and the
//! spend of a day are rows that the statement which takes from them also guards; money is the ledger's to hold. So calls
//! that begin at the same moment, on any number of nodes, cannot spend the same cent.
//!
//! A live call keeps what it was sold at. Its token is ours, and it becomes the id of its record: whoever repeats
//! or copies the Call-ID of another call neither rides free nor hides one. The live row's removal is what makes an end
//! count once. A call that was closed by guess leaves an open end, and what is told late settles it.
//!
//! Rows are locked in one order, so that nobody waits in a circle: live calls and open ends by token; then account by
//! account its days, trunks, zones, holds, balance, and sums.

mod alarms;
mod authorize;
mod desk;
mod end;
mod events;
mod import;
mod jobs;
mod late;
mod live;
mod load;
mod peaks;
mod prices;
mod quotas;
mod records;
mod retention;
mod slice;
mod types;
mod verify;

pub use alarms::{ALARM, alarm_job, forget_alarms};
pub use authorize::Decisions;
pub use desk::{hang_up, list_live};
pub use events::hear;
pub use import::{LINES_AT_ONCE, import};
pub use jobs::{CLOSE_VANISHED, MAKE_ROOM, close_vanished_job, make_room, make_room_job};
pub use late::forget as forget_open_ends;
pub use live::in_progress;
pub use load::{ACCOUNT_WIDE, channels_in_use};
pub use peaks::{COUNT_PEAKS, count_peaks_job};
pub use quotas::{ZoneQuota, quotas, quotas_of, set_quotas};
pub use retention::{FORGET_NUMBERS, forget_numbers_job};
pub use types::{AuthorizeRequest, CallStatus, Decision, Events, EventsAnswer, ImportAnswer, Leg};
pub use verify::{Fault, Verified, verify};

use values::Time;

const SECOND_MILLIS: i64 = 1000;
const HOUR_MILLIS: i64 = 3600 * SECOND_MILLIS;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;

/// How far a switch's clock may be off.
const SKEW_MILLIS: i64 = 5 * 60 * SECOND_MILLIS;

/// The UTC day of a moment, counted from 1970.
const fn day_of(moment: Time) -> i64 {
    moment.millis().div_euclid(DAY_MILLIS)
}

/// The hour of a moment, counted from 1970.
const fn hour_of(moment: Time) -> i64 {
    moment.millis().div_euclid(HOUR_MILLIS)
}
