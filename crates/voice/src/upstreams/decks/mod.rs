//! Rate decks: imports of the price lists of upstreams.
//!
//! A file is uploaded, arrives by mail, or is pulled from the upstream's URL on request or by schedule. A file with any error changes
//! nothing. Imports run as jobs, one at a time for each upstream: the job parses the file, builds the next deck,
//! stores it leaf by leaf where no reader sees it, and brings it into force in one short transaction. After any
//! failure before that the old deck stays in force, and the import has the reason.
//!
//! - `build`: from a file to the leaves of a deck · `pull`: from a URL to a file · `sheets`: how files are laid out
//! - `run`: the job · `impact`: what an import changes · `hold`: imports that wait for a decision
//! - `mail`: decks that arrive by mail · `types`, `store`: the imports
//!
//! Customers are notified by `price_notices`.

mod build;
mod hold;
mod impact;
pub mod mail;
mod pull;
mod run;
mod sheets;
mod store;
mod types;

pub use hold::{apply, reject, save_policy, show_policy};
pub use impact::show as show_impact;
pub use pull::{PULL_DUE, pull_due_job};
pub use run::{IMPORT, import_job};
pub use sheets::{DateFormat, DecimalSeparator, SheetFormat, preview, save_mapping, show_mapping};
pub use store::{ImportRow, names_file};
pub use types::{DeckImport, DeckImportId, DeckImportStatus, ImportMode};

use futures_util::TryStreamExt;
use serde_json::json;

use crate::upstreams;
use api::answer::{Accepted, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Path, PathPair, Query};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use api::sheet::OptionalSheet;
use db::{Conn, DbError, Entropy};
use identity::imports::rows_of;
use platform::app::App;
use platform::jobs;
use platform::outside::files::{FilesError, Received, StoredFile, pieces};
use sheets::SheetMappingInput;
use types::ImportQuery;
use values::UpstreamId;

/// How many imports of an upstream may be queued or running.
const MAX_PENDING_IMPORTS: i64 = 20;

/// Queues the import of the uploaded file, or of the file at the upstream's URL.
pub async fn import(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Query(query): Query<ImportQuery>,
    OptionalSheet(sheet): OptionalSheet<SheetMappingInput>,
) -> Result<Committed<Accepted<DeckImport>>, Problem> {
    let row = upstreams::find(&mut *ctx.app.db.read().await?, upstream).await?.ok_or_else(Problem::not_found)?;
    if sheet.is_none() && row.rate_import_url.is_none() {
        let detail = "The upstream has no rate_import_url. Upload the deck as CSV or XLSX, or set the URL first.";
        return Err(Problem::state_conflict(detail));
    }
    let id = ctx.new_id();
    let mode = query.mode.unwrap_or(ImportMode::Replace);
    let mut new = ImportRow::queued(id, upstream, mode, query.dry_run, ctx.now);
    if let Some(sheet) = sheet {
        new.rows_total = estimated_rows(&sheet.file, sheet.lines).await?;
        let mapping = sheet.mapping.map(|SheetMappingInput(mapping)| serde_json::to_string(&mapping));
        new.mapping = mapping.transpose().map_err(Problem::internal)?;
        let StoredFile { hash, .. } = sheet.file.store().await?;
        new.content_hash = Some(hash);
    }
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.audit_note("import_id", id.to_string());
    ctx.commit(new, |tx, new| {
        Box::pin(async move {
            upstreams::lock(tx, new.upstream_id).await?.ok_or_else(Problem::not_found)?;
            if store::count_pending(tx, new.upstream_id).await? >= MAX_PENDING_IMPORTS {
                let detail = format!(
                    "{MAX_PENDING_IMPORTS} imports of this upstream are queued or running. Wait until one completes."
                );
                return Err(Problem::state_conflict(detail));
            }
            queue(tx, new).await?;
            Ok(Accepted(DeckImport::of(new.clone(), Some(Vec::new()))))
        })
    })
    .await
}

/// Rows of a CSV file with this many lines; the rows of a workbook are not known before it is read.
pub async fn estimated_rows(file: &Received, lines: u64) -> Result<Option<i64>, FilesError> {
    let first = file.content().await?.try_next().await?;
    let is_workbook = first.is_some_and(|piece| piece.starts_with(b"PK"));
    Ok((!is_workbook).then(|| rows_of(lines)))
}

/// Stores a queued import and enqueues its job.
pub async fn queue(conn: &mut Conn, new: &ImportRow) -> Result<(), DbError> {
    store::insert(conn, new).await?;
    enqueue(conn, new.upstream_id).await
}

async fn enqueue(conn: &mut Conn, upstream: UpstreamId) -> Result<(), DbError> {
    let payload = json!({ "upstream_id": upstream });
    jobs::enqueue(conn, IMPORT, payload).await.map(drop)
}

pub async fn list(
    mut ctx: ReadCtx,
    Path(upstream): Path<UpstreamId>,
    listing: Listing<Unfiltered, NewestFirst<DeckImportId>>,
) -> Result<Page<DeckImport>, Problem> {
    let found = upstreams::find(&mut ctx, upstream).await?.ok_or_else(Problem::not_found)?;
    let upstream_name = Some(found.name.to_string());
    let rows = store::list(&mut ctx, upstream, listing.before(), listing.fetch()).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| DeckImport { upstream_name: upstream_name.clone(), ..DeckImport::of(row, None) },
    )
}

pub async fn show(
    mut ctx: ReadCtx,
    PathPair(upstream, id): PathPair<UpstreamId, DeckImportId>,
) -> Result<Json<DeckImport>, Problem> {
    let report = report(&mut ctx, upstream, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(report))
}

/// An import with its errors.
pub async fn report(conn: &mut Conn, upstream: UpstreamId, id: DeckImportId) -> Result<Option<DeckImport>, DbError> {
    let Some(row) = store::find(conn, upstream, id).await? else { return Ok(None) };
    let faults = store::faults(conn, id).await?;
    Ok(Some(DeckImport::of(row, Some(faults))))
}

/// Stores a local file for the CLI; the caller queues the import.
pub async fn prepare(
    app: &App,
    upstream: UpstreamId,
    file: tokio::fs::File,
    mode: ImportMode,
    dry_run: bool,
) -> Result<ImportRow, Problem> {
    let now = app.clock.now();
    upstreams::find(&mut *app.db.read().await?, upstream).await?.ok_or_else(Problem::not_found)?;
    let (received, lines) = pull::receive_file(&app.files, pieces(file)).await?;
    let mut new = ImportRow::queued(DeckImportId::new(Entropy.uuid(now)), upstream, mode, dry_run, now);
    new.rows_total = estimated_rows(&received, lines).await?;
    new.content_hash = Some(received.store().await?.hash);
    Ok(new)
}
