//! What the benchmarks found: rows with their limits, and how they compare with the last run that was kept.

pub mod history;
pub mod report;
