//! Live calls: authorize, follow by events, reserve money, end.
//!
//! ```text
//!   authorize ── allow: a live call, with money reserved for its first minutes
//!       events ── answered, keepalive: the reservation is renewed ── ended, failed ──┐
//!       stale ─── no events any more ────────────────────────────────────────────────┴── CDR, charge, rollups
//! ```
//!
//! A limit is never read first and counted after: see [`concurrency`](crate::concurrency). Money is held by the ledger.
//! So calls that begin at the same time, on any number of nodes, cannot spend the same cent.
//!
//! A live call keeps its terms. Its token is ours and becomes the id of its CDR, so a repeated or copied Call-ID
//! neither avoids a charge nor hides a call. An end counts once because it deletes the live row.
//!
//! Rows are locked in one order, so that no two transactions wait for each other: live calls and provisional CDRs by
//! token; then the days of all accounts, their trunks, zones, balances and rollups, each in the order of accounts.

mod alerts;
mod authorize;
mod events;
mod live;
mod reservation;
mod stale;
mod types;

pub use alerts::{SEND_ALERTS, purge as purge_alerts, send_alerts_job};
pub use authorize::{Authorizer, simulate};
pub use events::{RouteBreaker, ingest_events};
pub use live::{count_live, hang_up, list_live, list_own as list_own_live};
pub use stale::{CLOSE_STALE, close_stale_job, expire_holds};
pub use types::{AuthorizeRequest, Decision, Events, EventsAnswer};
