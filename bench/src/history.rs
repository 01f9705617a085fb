//! The runs that were kept, one JSON object per line of `bench/history.jsonl`, and the comparison of a run with the last
//! one on such a machine.
//!
//! Compared is the ratio to the baseline, or the value where there is none. A change counts when it exceeds a fifth of
//! the old median, both spreads together, and what the row calls noise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::report::{Line, Report, Spread};

/// Smaller changes of a median are noise.
const NOISE: f64 = 0.2;
/// The same of a value that was measured once, whose spread is not known.
const NOISE_OF_ONE: f64 = 0.5;
/// How much slower or faster a disk may be to count as one of the same kind.
const DISK_FACTOR: f64 = 3.0;

/// A run of all measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Short hash of what was measured, with `-dirty` if the tree differed from it.
    pub commit: String,
    pub date: String,
    pub machine: Machine,
    /// How long each measurement took.
    pub seconds: BTreeMap<String, f64>,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub kernel: String,
    /// Sequential fsyncs of 4 KiB.
    pub fsyncs_per_second: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    pub id: String,
    pub ours: Spread,
    /// The median of the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<Spread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    pub met: bool,
}

impl Machine {
    /// Whether runs on the two can be compared. The kernel may differ.
    pub fn is_like(&self, other: &Machine) -> bool {
        let disks = self.fsyncs_per_second / other.fsyncs_per_second;
        self.processor == other.processor
            && self.cores == other.cores
            && self.memory_gib == other.memory_gib
            && (1.0 / DISK_FACTOR..=DISK_FACTOR).contains(&disks)
    }
}

impl Row {
    pub fn of(line: &Line) -> Row {
        let figures = line.figures();
        Row {
            id: line.name().to_owned(),
            ours: rounded_spread(figures.ours),
            baseline: figures.beside.map(|(baseline, _)| rounded(baseline)),
            ratio: figures.beside.map(|(_, ratio)| rounded_spread(ratio)),
            limit: line.limit_text(),
            met: line.holds(),
        }
    }

    /// What is compared.
    fn figure(&self) -> Spread {
        self.ratio.unwrap_or(self.ours)
    }
}

fn rounded_spread(Spread { median, min, max }: Spread) -> Spread {
    Spread { median: rounded(median), min: rounded(min), max: rounded(max) }
}

/// Five digits; nothing is known to more.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// The runs of the file, oldest first, and what is wrong with it.
#[derive(Default)]
pub struct History {
    pub runs: Vec<Run>,
    pub warnings: Vec<String>,
}

impl History {
    /// Skips lines that cannot be read, such as a last one that was not written to its end.
    pub fn parse(text: &str) -> History {
        let mut history = History::default();
        for (number, line) in (1..).zip(text.lines()) {
            match serde_json::from_str(line) {
                Ok(run) => history.runs.push(run),
                Err(error) => history.warnings.push(format!("line {number} is skipped: {error}")),
            }
        }
        history
    }

    /// The last run on a machine like this one.
    pub fn last_on(&self, machine: &Machine) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.machine.is_like(machine))
    }
}

/// What to append to the file, so that the run has a line of its own even after a torn one.
pub fn line_to_append(text: &str, run: &Run) -> serde_json::Result<String> {
    let start = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{start}{}\n", serde_json::to_string(run)?))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    Gain,
    Loss,
    None,
    /// The last run does not have the row.
    New,
    /// Only the last run has the row, though its measurement ran.
    Gone,
}

struct Compared {
    id: String,
    old: Option<Spread>,
    new: Option<Spread>,
    change: Change,
}

pub struct Comparison {
    with: String,
    rows: Vec<Compared>,
}

/// Compares the rows of a report, which may be those of a few measurements only, with a run.
pub fn compare(report: &Report, last: &Run) -> Comparison {
    let old_rows: BTreeMap<&str, &Row> = last.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    let mut rows: Vec<Compared> = report.lines().iter().map(|line| compare_line(line, &old_rows)).collect();
    let measured: BTreeSet<&str> = report.lines().iter().map(|line| measurement(line.name())).collect();
    let present: BTreeSet<&str> = report.lines().iter().map(Line::name).collect();
    let gone = last.rows.iter().filter(|row| measured.contains(measurement(&row.id)));
    rows.extend(gone.filter(|row| !present.contains(row.id.as_str())).map(|row| Compared {
        id: row.id.clone(),
        old: Some(row.figure()),
        new: None,
        change: Change::Gone,
    }));
    Comparison { with: format!("{} of {}", last.commit, last.date), rows }
}

fn measurement(id: &str) -> &str {
    id.split('.').next().unwrap_or(id)
}

fn compare_line(line: &Line, old_rows: &BTreeMap<&str, &Row>) -> Compared {
    let new = Row::of(line);
    let compared = |old, new: Spread, change| Compared { id: line.name().to_owned(), old, new: Some(new), change };
    match old_rows.get(line.name()) {
        // A row whose baseline came or went is another one.
        Some(old) if old.ratio.is_some() == new.ratio.is_some() => {
            let (old, new) = (old.figure(), new.figure());
            compared(Some(old), new, change(old, new, line.is_better_when_lower(), line.least_change()))
        }
        _ => compared(None, new.figure(), Change::New),
    }
}

fn change(old: Spread, new: Spread, is_better_when_lower: bool, least: f64) -> Change {
    let spreads = old.width() + new.width();
    let noise = if spreads > 0.0 { NOISE } else { NOISE_OF_ONE };
    let tolerated = (noise * old.median.abs()).max(spreads).max(least);
    let gained = if is_better_when_lower { old.median - new.median } else { new.median - old.median };
    if gained > tolerated {
        Change::Gain
    } else if gained < -tolerated {
        Change::Loss
    } else {
        Change::None
    }
}

impl Comparison {
    pub fn has_loss(&self) -> bool {
        self.count(Change::Loss) > 0
    }

    fn count(&self, change: Change) -> usize {
        self.rows.iter().filter(|row| row.change == change).count()
    }

    /// Every row that changed.
    pub fn table(&self) -> String {
        let mut table = format!(
            "Compared with {}: {} gains, {} losses, {} rows as before.\n",
            self.with,
            self.count(Change::Gain),
            self.count(Change::Loss),
            self.count(Change::None)
        );
        if self.count(Change::None) < self.rows.len() {
            table.push_str("\n| Row | Before | Now | Change |\n|---|---|---|---|\n");
        }
        for Compared { id, old, new, change } in self.rows.iter().filter(|row| row.change != Change::None) {
            let text = |spread: &Option<Spread>| spread.map(|spread| spread.text(3, "")).unwrap_or_default();
            let change = match change {
                Change::Gain => "gain",
                Change::Loss => "**loss**",
                Change::New => "new",
                Change::Gone => "gone",
                Change::None => "",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(table, "| {id} | {} | {} | {change} |", text(old), text(new));
        }
        table
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
