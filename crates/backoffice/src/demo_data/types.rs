//! Demo data in the API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::DemoDataRow;
use values::text_enum;

/// Every event of the simulation needs this many days.
pub const MIN_DAYS: u32 = 7;
pub const MAX_DAYS: u32 = 366;
const DEFAULT_DAYS: u32 = 92;
/// All of it is held in memory once.
const MAX_CALLS: u32 = 100_000;
const DEFAULT_CALLS: u32 = 40_000;

text_enum! {
    /// How far the demo data are.
    pub enum DemoDataStatus {
        /// There are none.
        None = "none",
        /// They are being made.
        Running = "running",
        /// They are there.
        Done = "done",
        /// They could not be made; `message` says why. Nothing of them is there.
        Failed = "failed",
    }
}

/// How much demo data to make.
#[derive(Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DemoDataCreate {
    /// Number of past days, 7 to 366; 92 if left out.
    #[serde(default)]
    #[schemars(range(min = MIN_DAYS, max = MAX_DAYS))]
    days: Option<u32>,
    /// Approximate number of calls, at most 100,000; 40,000 if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_CALLS))]
    calls: Option<u32>,
}

impl DemoDataCreate {
    pub fn days(self) -> u32 {
        self.days.unwrap_or(DEFAULT_DAYS).clamp(MIN_DAYS, MAX_DAYS)
    }

    pub fn calls(self) -> u32 {
        self.calls.unwrap_or(DEFAULT_CALLS).min(MAX_CALLS)
    }
}

/// Demo data of this installation.
#[derive(Serialize, JsonSchema)]
pub struct DemoData {
    /// Whether they can be made now: in a lab, in a database without customers.
    available: bool,
    /// How far they are.
    status: DemoDataStatus,
    /// Share of the work that is done, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    progress: f64,
    /// What was made, or why it failed; null otherwise.
    #[schemars(example = "1498 calls in 7 days, of 18 customers.")]
    message: Option<String>,
}

/// The service stopped again and again while it worked.
const ABANDONED: &str = "The work was interrupted too often. Start it again.";

impl DemoData {
    /// `is_possible`: whether this is a lab whose database has no customers. `is_demo`: whether the demo filled it.
    pub fn new(row: Option<DemoDataRow>, is_possible: bool, is_demo: bool) -> DemoData {
        let (status, progress, message) = match row {
            Some(row) if row.is_abandoned() => (DemoDataStatus::Failed, 0, Some(ABANDONED.to_owned())),
            Some(row) => (row.status, row.progress, row.message),
            // The command line made them.
            None if is_demo => (DemoDataStatus::Done, 1000, None),
            None => (DemoDataStatus::None, 0, None),
        };
        let available = is_possible && matches!(status, DemoDataStatus::None | DemoDataStatus::Failed);
        DemoData { available, status, progress: progress as f64 / 1000.0, message }
    }
}
