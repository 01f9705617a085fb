//! CDRs: finished calls, how they are stored, charged, amended, searched and exported.
//!
//! ```text
//!   calls: end event, or no events ──┐
//!   import: CDRs of other switches ──┼── write ── cdrs, charges in the ledger, rollups
//!   amend: late events ──────────────┘
//! ```
//!
//! - `terms`, `row`, `state`, `quotes`: a call's terms, its CDR, its states, and its quote before it begins
//! - `write`, `amend`, `import`: what stores CDRs · `rollups`: sums per day and hour · `usage`: series, margin
//! - `answered`: calls to be priced by other terms · `carried`: those that an upstream carried · `called`: what a
//!   customer called in the last days
//! - `ended`: the calls that webhook endpoints ask for
//! - `handlers`, `items`, `admin`, `search`, `price_proof`: `/cdrs` and `/admin/cdrs` · `exports`: `/cdrs/exports`
//! - `retention`: anonymises numbers · `partitions`: one per month · `verify`: recomputes everything
//!
//! Reading costs the same however many CDRs there are: lists read a bounded number of rows along an index, sums are
//! rollups, and exports are written page by page. `calls` imports this module, not the other way round.

mod admin;
mod amend;
mod answered;
mod called;
mod carried;
mod ended;
mod exports;
mod handlers;
mod import;
mod items;
mod partitions;
mod price_proof;
mod quotes;
mod retention;
mod rollups;
mod row;
mod search;
mod state;
mod terms;
mod time;
mod types;
mod usage;
mod verify;
mod write;

pub use admin::{admin_show, list_all};
pub use amend::{
    ProvisionalCdr, apply as amend, insert as insert_provisional, lock as lock_provisional, purge as purge_provisional,
};
pub use answered::{AnsweredCall, each_answered};
pub use called::{CustomerCalls, DAY_SPAN, DAYS, Days, calls_of};
pub use carried::{CarriedCall, CarriedCursor, carried_after};
pub use ended::{
    assign as assign_ended, is_waiting as is_ended_waiting, load as load_ended, purge as purge_ended,
    waiting as waiting_ended,
};
pub use exports::{
    CdrExport, EXPIRE_EXPORTS, WRITE_EXPORT, create as create_export, create_team as create_team_export,
    expire_exports_job, list as list_exports, list_team as list_team_exports, names_file, purge as purge_exports,
    show as show_export, show_team as show_team_export, write_export_job,
};
pub use handlers::{list, show};
pub use import::{
    ImportAnswer, MAX_IMPORT_LINES, RERATE, count_suspended, drop_suspended, enqueue_rerate, import, invalid_reason,
    list_suspended, rerate_job, rerate_suspended, suspense_summary,
};
pub use partitions::{CREATE_PARTITIONS, create_partitions, create_partitions_around, create_partitions_job};
pub use quotes::{Quote, Route, normalize_caller, parse_dialled, quote};
pub use retention::{ANONYMISE_NUMBERS, ANONYMISED, anonymise_numbers_job};
pub use rollups::{Charge, asr_acd, charges, summary};
pub use row::CdrRow;
pub use state::{CallState, Known};
pub use terms::{CallStatus, CallTerms, HungUpBy, Leg, Parties, Price};
pub use time::SwitchTime;
pub use types::Cdr;
pub use usage::{add_routes, margin, traffic, usage};
pub use verify::{Mismatch, Verified, verify};
pub use write::{
    Amendment, CallEnd, CallUpdate, EndedCall, KnownCall, MAX_CALL_SECONDS, MAX_CLOCK_SKEW_MILLIS, answer_time,
    earliest, end_call, exists, seconds_between, status_from_sip_code, write_cdrs,
};
