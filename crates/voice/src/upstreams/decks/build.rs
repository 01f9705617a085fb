//! Builds the leaves of a deck from a file, on a blocking thread.
//!
//! The file is read and the leaves are sent as streams. Only the rows are all in memory, because they must be sorted.

use std::cell::OnceCell;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rating::{
    Changes, Deck, DeckCsvError, DeckCsvOptions, DeckSheet, DeckTimes, Leaf, Mode, SheetMapping, SteepestRise,
    UnixMillis, apply_import, encode_leaves, read_leaf,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::sheets::is_country;
use super::store::Outcome;
use super::types::ImportMode;
use identity::imports;
use platform::outside::files::Content;

/// Leaves that may wait to be stored.
const MAX_WAITING_LEAVES: usize = 16;

/// Input of a build.
pub struct Plan {
    /// The deck in force.
    pub before: Option<(DeckTimes, Vec<Vec<u8>>)>,
    pub mode: ImportMode,
    /// How the file is laid out, unless it has our own header.
    pub mapping: Option<SheetMapping>,
    pub at: UnixMillis,
    /// Whether the whole deck is needed, to compare it with the one in force.
    pub wants_deck: bool,
    /// Rows read so far, to show progress.
    pub rows: Arc<AtomicI64>,
}

/// A leaf of the new deck, or of what it replaces.
pub struct BuiltLeaf {
    pub leaf: Leaf,
    pub is_replaced: bool,
}

/// A running build.
pub struct Building {
    pub leaves: mpsc::Receiver<BuiltLeaf>,
    pub outcome: JoinHandle<Result<BuiltDeck, BuildError>>,
}

pub struct BuiltDeck {
    pub outcome: Outcome,
    pub changes: Changes,
    pub steepest: Option<SteepestRise>,
    /// If it is wanted.
    pub deck: Option<Deck>,
    pub prefixes: i64,
    /// Whether any rate changes, in any part.
    pub changes_rates: bool,
    /// When the first back-dated rate begins to count.
    pub counts_from: Option<UnixMillis>,
    /// When the last rate of the file comes into force.
    pub settled: UnixMillis,
}

/// Why no deck was built.
pub enum BuildError {
    /// The file has errors.
    Faults(Box<Outcome>),
    Failed(String),
    /// The receiver of the leaves is gone.
    Abandoned,
}

/// Starts to build a deck from a file. Without `keep` it only counts the changes (dry run).
pub fn build(plan: Plan, content: Content, keep: bool) -> Building {
    let (sink, leaves) = mpsc::channel(MAX_WAITING_LEAVES);
    let source = imports::read_blocking(content);
    let work = move || build_deck(&plan, source, keep.then_some(sink));
    Building { leaves, outcome: tokio::task::spawn_blocking(work) }
}

fn build_deck(plan: &Plan, source: impl Read, sink: Option<mpsc::Sender<BuiltLeaf>>) -> Result<BuiltDeck, BuildError> {
    let options = DeckCsvOptions { now: plan.at, is_country: &is_country };
    let progress = |rows: u64| plan.rows.store(i64::try_from(rows).unwrap_or(i64::MAX), Ordering::Relaxed);
    let read = DeckSheet::read(source, plan.mapping.as_ref(), &options, progress);
    let csv = read.map_err(|bad| build_error(bad, plan))?;
    let settled = csv.entries.iter().map(|entry| entry.effective_at).fold(plan.at, UnixMillis::max);
    let mode = match plan.mode {
        ImportMode::Replace => Mode::Replace,
        ImportMode::Merge => Mode::Merge,
    };
    let corrupt = OnceCell::new();
    let leaves = plan.before.iter().flat_map(|(times, leaves)| leaves.iter().map(|leaf| (*times, leaf)));
    let before = leaves.map_while(|(times, leaf)| read_leaf(leaf, times).map_err(|error| corrupt.set(error)).ok());
    let mut entries = apply_import(before.flatten(), csv.entries, mode, plan.at);
    let (mut prefixes, mut kept) = (0, Vec::new());
    for leaf in encode_leaves(entries.by_ref()) {
        let leaf = leaf.map_err(|bad| BuildError::Failed(bad.to_string()))?;
        prefixes += i64::from(leaf.prefixes);
        if plan.wants_deck {
            kept.push(leaf.body.clone());
        }
        if let Some(sink) = &sink {
            send(sink, leaf, false)?;
        }
    }
    if let Some(error) = corrupt.get() {
        return Err(BuildError::Failed(format!("the deck in force: {error}")));
    }
    let times = DeckTimes { made_at: plan.at, in_force_at: plan.at };
    let deck = plan.wants_deck.then(|| Deck::from_leaves(kept, times)).transpose();
    let deck = deck.map_err(|bad| BuildError::Failed(bad.to_string()))?;
    let (changes, steepest, counts_from) = (entries.changes(), entries.steepest_rise(), entries.counts_from());
    let replaced = entries.into_replaced();
    // A first deck replaces nothing.
    let changes_rates = !replaced.is_empty() || changes.added > 0;
    if let Some(sink) = &sink {
        for leaf in encode_leaves(replaced.into_iter()) {
            send(sink, leaf.map_err(|bad| BuildError::Failed(bad.to_string()))?, true)?;
        }
    }
    let outcome = outcome_of(changes, plan);
    Ok(BuiltDeck { outcome, changes, steepest, deck, prefixes, changes_rates, counts_from, settled })
}

fn send(sink: &mpsc::Sender<BuiltLeaf>, leaf: Leaf, is_replaced: bool) -> Result<(), BuildError> {
    sink.blocking_send(BuiltLeaf { leaf, is_replaced }).map_err(|_| BuildError::Abandoned)
}

fn outcome_of(changes: Changes, plan: &Plan) -> Outcome {
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

fn build_error(bad: DeckCsvError, plan: &Plan) -> BuildError {
    match bad {
        DeckCsvError::Io(error) => BuildError::Failed(format!("the file cannot be read: {error}")),
        DeckCsvError::Refused(reason) => BuildError::Failed(reason),
        DeckCsvError::Faults(faults) => BuildError::Faults(Box::new(Outcome {
            rows: plan.rows.load(Ordering::Relaxed),
            total: Some(plan.rows.load(Ordering::Relaxed)),
            error_count: i64::try_from(faults.count).unwrap_or(i64::MAX),
            errors: faults.first.into_iter().map(Into::into).collect(),
            ..Outcome::default()
        })),
    }
}
