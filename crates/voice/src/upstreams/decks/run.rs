//! The job that runs deck imports, one at a time for each upstream.
//!
//! A job runs the oldest queued import of the upstream unless another is running, and enqueues a job for the next one.
//! After a crash the retried job finds the import that it had begun and fails it: its unfinished deck is deleted, and
//! the old deck stays in force. An import that the upstream's policy holds ends without a deck.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rating::{Leaf, UnixMillis};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::build::{BuildError, Building, BuiltDeck, Plan, build};
use super::enqueue;
use super::hold::{self, HoldReason};
use super::impact::{Impact, Traffic};
use super::pull::{Pulled, pull};
use super::sheets::{SheetMapping, saved_mapping};
use super::store::{self, ImportRow, Outcome};
use super::types::{DeckImportId, DeckImportStatus};
use crate::cdrs;
use crate::price_notices::{self, Audience, ChangeCause};
use crate::upstreams::{self, UpstreamRow};
use db::{Conn, DbError, Entropy};
use platform::app::App;
use platform::jobs::{JobContext, JobError, Kind};
use platform::outside::files::ContentHash;
use platform::routing::tariff::{self, NewLeaf, UpstreamStatus};
use values::{Time, UpstreamId};

pub const IMPORT: Kind = Kind::new("decks.import");

/// Leaves in one transaction; small enough not to block others for long.
const BATCH: usize = 32;
/// How often the progress is stored.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
struct ImportPayload {
    upstream_id: UpstreamId,
}

pub async fn import_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let ImportPayload { upstream_id } =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let begun = (context.clone(), upstream_id);
    let import = context.db.tx(begun, |conn, (context, upstream)| Box::pin(begin(conn, context, *upstream))).await;
    let import = match import {
        Ok(Some(import)) => import,
        // Another job runs an import and enqueues the next one.
        Ok(None) | Err(JobError::Db(DbError::Unique(_))) => return Ok(()),
        Err(error) => return Err(error),
    };
    let end = match run(&context, &import).await {
        Ok(end) => end,
        Err(reason) => End::failed(Outcome { rows: import.rows_done, reason: Some(reason), ..Outcome::default() }),
    };
    let ended = (context.clone(), import, end);
    context.db.tx(ended, |conn, (context, import, end)| Box::pin(finish(conn, context, import, end))).await?;
    // Warm the tariff cache, so that the next request need not load the deck.
    context.app.tariff.current(&context.db).await?;
    Ok(())
}

/// Fails the import that an earlier attempt left running, and starts the next one.
async fn begin(
    conn: &mut Conn,
    context: &JobContext<App>,
    upstream: UpstreamId,
) -> Result<Option<ImportRow>, JobError> {
    // `finish` locks the upstream too, so this import begins after the one before has ended.
    upstreams::lock(conn, upstream).await?;
    if let Some(lost) = store::interrupted(conn, upstream, context.job.id).await? {
        let reason = Some("the service stopped while the import ran; nothing has changed".to_owned());
        let outcome = Outcome { rows: lost.rows_done, reason, ..Outcome::default() };
        store::end(conn, lost.id, DeckImportStatus::Failed, &outcome).await?;
        record_metrics(conn, &lost, DeckImportStatus::Failed, &outcome);
        if let Some(deck) = lost.deck_id {
            tariff::delete_unfinished_deck(conn, deck).await?;
        }
    }
    Ok(store::begin(conn, upstream, context.job.id).await?)
}

/// How an import ended, and the deck that it built.
struct End {
    status: DeckImportStatus,
    outcome: Outcome,
    deck: Option<NewDeck>,
    /// Hash and ETag of the pulled file; none for an upload.
    pulled: Option<(ContentHash, Option<String>)>,
}

/// A complete deck that is not in force yet.
struct NewDeck {
    id: Uuid,
    prefixes: i64,
    counts_from: Option<UnixMillis>,
    settled: UnixMillis,
}

impl End {
    fn completed(outcome: Outcome) -> End {
        End { status: DeckImportStatus::Completed, outcome, deck: None, pulled: None }
    }

    fn failed(outcome: Outcome) -> End {
        End { status: DeckImportStatus::Failed, outcome, deck: None, pulled: None }
    }
}

async fn run(context: &JobContext<App>, import: &ImportRow) -> Result<End, String> {
    let app = &context.app;
    let failed = |error: DbError| error.to_string();
    let upstream = upstreams::find(&mut *app.db.read().await.map_err(failed)?, import.upstream_id).await;
    let upstream = upstream.map_err(failed)?.ok_or("the upstream does not exist any more")?;
    let (hash, pulled) = match import.content_hash {
        Some(hash) => (hash, None),
        None => match pull(app, import.id, &upstream).await? {
            Pulled::Unchanged => return Ok(End::completed(Outcome { unchanged: true, ..Outcome::default() })),
            Pulled::File { hash, etag } => (hash, Some((hash, etag))),
        },
    };
    let mapping = mapping_of(app, import).await.map_err(failed)?;
    let content = app.files.open_read(&hash).await.map_err(|error| error.to_string())?;
    let (_, content) = content.ok_or("the file is missing")?;
    let before = match upstream.deck_id {
        Some(deck) => Some(tariff::stored_deck(&app.db, deck).await.map_err(failed)?),
        None => None,
    };
    let rows = Arc::new(AtomicI64::new(0));
    let now = context.clock.now();
    let traffic = Traffic::load(app, upstream.id, now).await.map_err(failed)?;
    let (mapping, wants_deck) = (mapping.map(|mapping| mapping.rules()), !traffic.is_empty());
    let plan = Plan { before, mode: import.mode, mapping, at: now.millis(), wants_deck, rows: rows.clone() };
    let building = build(plan, content, !import.dry_run);
    let (built, deck) = match store_deck(context, import, building, now, &rows).await? {
        Ok(built) => built,
        Err(outcome) => return Ok(End::failed(outcome)),
    };
    let BuiltDeck { mut outcome, changes, steepest, deck: new, prefixes, counts_from, settled } = built;
    let mut impact = Impact::of_prefixes(changes, steepest);
    if let Some(new) = new {
        impact = impact.weigh(app, &upstream, traffic, new, (now, settled)).await.map_err(failed)?;
    }
    outcome.impact = Some(serde_json::to_string(&impact).map_err(|error| error.to_string())?);
    if !import.dry_run && import.approved_at.is_none() {
        let policy = hold::policy(&mut *app.db.read().await.map_err(failed)?, upstream.id).await.map_err(failed)?;
        outcome.held_for = policy.reasons(&impact);
        if import.unverified_sender {
            outcome.held_for.push(HoldReason::UnverifiedSender);
        }
    }
    if !outcome.held_for.is_empty() {
        return Ok(End { status: DeckImportStatus::Held, pulled, ..End::completed(outcome) });
    }
    let deck = deck.map(|id| NewDeck { id, prefixes, counts_from, settled });
    Ok(End { deck, pulled, ..End::completed(outcome) })
}

/// The mapping that came with the file, or the upstream's.
async fn mapping_of(app: &App, import: &ImportRow) -> Result<Option<SheetMapping>, DbError> {
    match &import.mapping {
        Some(text) => serde_json::from_str(text).map(Some).map_err(DbError::other),
        None => saved_mapping(&mut *app.db.read().await?, import.upstream_id).await,
    }
}

/// Stores the leaves as they arrive, and the progress. There is no deck id after a dry run; the inner error is the
/// outcome of a file with errors.
async fn store_deck(
    context: &JobContext<App>,
    import: &ImportRow,
    mut building: Building,
    made_at: Time,
    rows: &AtomicI64,
) -> Result<Result<(BuiltDeck, Option<Uuid>), Outcome>, String> {
    let failed = |error: DbError| error.to_string();
    let mut ticks = tokio::time::interval(PROGRESS_INTERVAL);
    let mut deck = None;
    let mut batch = Vec::with_capacity(BATCH);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                update_progress(context, import.id, rows.load(Ordering::Relaxed)).await.map_err(failed)?;
            }
            more = next_leaves(&mut building.leaves, &mut batch) => {
                if !more {
                    break;
                }
                let id = match deck {
                    Some(id) => id,
                    None => *deck.insert(begin_deck(context, import, made_at).await.map_err(failed)?),
                };
                store_leaves(context, id, std::mem::take(&mut batch)).await.map_err(failed)?;
            }
        }
    }
    match building.outcome.await.map_err(|error| error.to_string())? {
        Ok(built) => Ok(Ok((built, deck))),
        Err(BuildError::Faults(outcome)) => Ok(Err(*outcome)),
        Err(BuildError::Failed(reason)) => Err(reason),
        Err(BuildError::Abandoned) => Err("the build of the deck was aborted".to_owned()),
    }
}

/// Waits for at least one leaf and fills the batch. False at the end.
async fn next_leaves(leaves: &mut mpsc::Receiver<Leaf>, batch: &mut Vec<Leaf>) -> bool {
    leaves.recv_many(batch, BATCH).await > 0
}

async fn begin_deck(context: &JobContext<App>, import: &ImportRow, made_at: Time) -> Result<Uuid, DbError> {
    let id = Entropy.uuid(made_at);
    let begun =
        context.db.tx((id, import.id, import.upstream_id, made_at), |conn, (deck, import, upstream, made_at)| {
            Box::pin(async move {
                tariff::insert_deck(conn, *deck, *upstream, *made_at).await?;
                store::set_deck(conn, *import, *deck).await
            })
        });
    begun.await.map(|()| id)
}

async fn store_leaves(context: &JobContext<App>, deck: Uuid, leaves: Vec<Leaf>) -> Result<(), DbError> {
    let leaves: Vec<NewLeaf> = leaves.into_iter().map(|leaf| NewLeaf::new(deck, leaf)).collect();
    context.db.tx(leaves, |conn, leaves| Box::pin(tariff::insert_leaves(conn, leaves))).await
}

async fn update_progress(context: &JobContext<App>, import: DeckImportId, rows: i64) -> Result<(), DbError> {
    context.db.tx((import, rows), |conn, (import, rows)| Box::pin(store::set_progress(conn, *import, *rows))).await
}

/// Ends the import and brings its deck into force, in one transaction.
async fn finish(conn: &mut Conn, context: &JobContext<App>, import: &ImportRow, end: &End) -> Result<(), JobError> {
    let now = conn.now();
    let Some(mut upstream) = upstreams::lock(conn, import.upstream_id).await? else {
        return Err(JobError::Permanent("the upstream does not exist any more".into()));
    };
    let is_applied = end.status == DeckImportStatus::Completed && !import.dry_run;
    if is_applied {
        upstream.last_import_at = Some(now);
    }
    match &end.deck {
        Some(deck) => {
            upstream.deck_id = Some(deck.id);
            // An applied import of a pulled file was held before, and is still the last one pulled.
            if import.content_hash.is_none() || upstream.pulled_hash != import.content_hash {
                set_pulled(&mut upstream, end);
            }
            store::supersede_held(conn, upstream.id).await?;
            let change = tariff::record_terms(conn, &upstream.terms()).await?;
            tariff::activate_deck(conn, deck.id, deck.prefixes, change.at).await?;
            cdrs::enqueue_rerate(conn).await?;
            if end.outcome.changes_prices() && upstream.status == UpstreamStatus::Active {
                let change = change.at.millis();
                let (from, to) = (deck.counts_from.unwrap_or(change) - 1, deck.settled.max(change));
                let period = (Time::from_millis(from), Time::from_millis(to));
                price_notices::announce(conn, ChangeCause::Deck, Audience::Everyone, period).await?;
            }
        }
        None => delete_unfinished(conn, import.id, import.upstream_id).await?,
    }
    // A held file is not pulled and held again.
    let is_held_pull = end.status == DeckImportStatus::Held && end.pulled.is_some();
    if is_held_pull {
        set_pulled(&mut upstream, end);
    }
    if is_applied || is_held_pull {
        upstreams::save(conn, &upstream).await?;
    }
    store::end(conn, import.id, end.status, &end.outcome).await?;
    record_metrics(conn, import, end.status, &end.outcome);
    if store::has_queued(conn, import.upstream_id).await? {
        enqueue(conn, import.upstream_id).await?;
    }
    context.finish_in(conn).await
}

fn set_pulled(upstream: &mut UpstreamRow, end: &End) {
    upstream.pulled_hash = end.pulled.as_ref().map(|(hash, _)| *hash);
    upstream.pulled_etag = end.pulled.as_ref().and_then(|(_, etag)| etag.clone());
}

fn record_metrics(conn: &mut Conn, import: &ImportRow, status: DeckImportStatus, outcome: &Outcome) {
    if !import.dry_run {
        conn.count(|metrics| metrics.decks.imports.of(status.as_str()), 1);
        conn.count(|metrics| &metrics.decks.rows, outcome.rows.unsigned_abs());
    }
}

/// Deletes the leaves that were stored before the import failed.
async fn delete_unfinished(conn: &mut Conn, import: DeckImportId, upstream: UpstreamId) -> Result<(), DbError> {
    match store::find(conn, upstream, import).await?.and_then(|import| import.deck_id) {
        Some(deck) => tariff::delete_unfinished_deck(conn, deck).await,
        None => Ok(()),
    }
}
