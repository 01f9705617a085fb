//! From a file to the leaves of a deck, on a thread of its own.
//!
//! The file comes in piece by piece and the leaves go out one by one, so neither is ever whole in memory; only the rows
//! are, since they have to be put in order.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rating::{
    Changes, Deck, DeckCsv, DeckCsvError, DeckCsvOptions, Leaf, Mode, Prefix, UnixMillis, apply_import, encode_leaves,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::store::Outcome;
use super::types::ImportMode;
use identity::imports;
use platform::outside::files::Content;
use values::Country;

/// Leaves of the deck that may wait to be stored.
const WAITING: usize = 16;

/// What is to be made of a file.
pub struct Plan {
    /// The deck in force.
    pub before: Option<Arc<Deck>>,
    pub mode: ImportMode,
    pub at: UnixMillis,
    /// Rows read so far, for whoever looks.
    pub rows: Arc<AtomicI64>,
}

/// A deck that is being made.
pub struct Building {
    pub leaves: mpsc::Receiver<Leaf>,
    pub outcome: JoinHandle<Result<Built, Unbuilt>>,
}

pub struct Built {
    pub outcome: Outcome,
    pub prefixes: i64,
    /// The last moment at which something of the file comes into force.
    pub settled: UnixMillis,
}

/// Why no deck was made.
pub enum Unbuilt {
    /// What is wrong with the file.
    Faults(Outcome),
    Failed(String),
    /// Nobody takes the leaves any more.
    Abandoned,
}

/// Begins to make a deck of a file. Unless `keep`, only what it would change is found out.
pub fn build(plan: Plan, content: Content, keep: bool) -> Building {
    let (sink, leaves) = mpsc::channel(WAITING);
    let source = imports::read_blocking(content);
    let work = move || make(&plan, source, keep.then_some(sink));
    Building { leaves, outcome: tokio::task::spawn_blocking(work) }
}

fn make(plan: &Plan, source: impl Read, sink: Option<mpsc::Sender<Leaf>>) -> Result<Built, Unbuilt> {
    let is_country = |country: rating::Country| country.as_str().parse::<Country>().is_ok();
    let options = DeckCsvOptions { now: plan.at, is_country: &is_country };
    let progress = |rows: u64| plan.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
    let csv = DeckCsv::read(source, &options, progress).map_err(|bad| unbuilt(bad, plan))?;
    let settled = csv.entries.iter().map(|entry| entry.effective_at).fold(plan.at, UnixMillis::max);
    let mode = match plan.mode {
        ImportMode::Replace => Mode::Replace,
        ImportMode::Merge => Mode::Merge,
    };
    let before = plan.before.as_deref().into_iter().flat_map(|deck| deck.entries(Prefix::FIRST));
    let mut entries = apply_import(before, csv.entries, mode, plan.at);
    let mut prefixes = 0;
    match sink {
        None => entries.by_ref().for_each(drop),
        Some(sink) => {
            for leaf in encode_leaves(entries.by_ref()) {
                let leaf = leaf.map_err(|bad| Unbuilt::Failed(bad.to_string()))?;
                prefixes += i64::from(leaf.prefixes);
                sink.blocking_send(leaf).map_err(|_| Unbuilt::Abandoned)?;
            }
        }
    }
    Ok(Built { outcome: counted(entries.changes(), plan), prefixes, settled })
}

fn counted(changes: Changes, plan: &Plan) -> Outcome {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let rows = plan.rows.load(Ordering::Relaxed);
    Outcome {
        rows,
        total: Some(rows),
        added: count(changes.added),
        removed: count(changes.removed),
        increased: count(changes.increased),
        decreased: count(changes.decreased),
        ..Outcome::default()
    }
}

fn unbuilt(bad: DeckCsvError, plan: &Plan) -> Unbuilt {
    match bad {
        DeckCsvError::Io(error) => Unbuilt::Failed(format!("the file cannot be read: {error}")),
        DeckCsvError::Faults(faults) => Unbuilt::Faults(Outcome {
            rows: plan.rows.load(Ordering::Relaxed),
            total: Some(plan.rows.load(Ordering::Relaxed)),
            error_count: i64::try_from(faults.count).unwrap_or(i64::MAX),
            errors: faults.first.into_iter().map(Into::into).collect(),
            ..Outcome::default()
        }),
    }
}
