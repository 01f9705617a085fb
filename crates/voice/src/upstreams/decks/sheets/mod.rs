//! Rate sheets as carriers send them: the mapping of an upstream's columns, and previews of files.
//!
//! An import reads a file by the mapping that came with it, or else by the saved one (`rating::DeckSheet`).

mod store;
mod types;

use rating::{DeckCsvError, DeckCsvOptions, DeckSheet, MappingSource};
use tokio::sync::Semaphore;

use crate::upstreams;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::problem::Problem;
use api::sheet::Sheet;
use identity::imports;
pub use store::find as saved_mapping;
pub use types::{DateFormat, DecimalSeparator, SheetFormat, SheetMapping, SheetMappingInput};
use types::{LayoutSource, PreviewedRate, SheetPreview};
use values::{Country, UpstreamId};

/// Rows that a preview shows.
const PREVIEWED_ROWS: usize = 20;
/// Previews of a node at the same time. Each reads a whole file.
static PREVIEWS: Semaphore = Semaphore::const_new(2);

pub async fn show_mapping(mut ctx: ReadCtx, Path(upstream): Path<UpstreamId>) -> Result<Json<SheetMapping>, Problem> {
    let saved = store::find(&mut ctx, upstream).await?;
    Ok(Json(saved.ok_or_else(Problem::not_found)?))
}

pub async fn save_mapping(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Body(SheetMappingInput(mapping)): Body<SheetMappingInput>,
) -> Result<Committed<Json<SheetMapping>>, Problem> {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.commit((upstream, mapping), |tx, (upstream, mapping)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            let before = store::find(tx, *upstream).await?;
            tx.expect_version(&before)?;
            store::save(tx, *upstream, mapping).await?;
            Ok(Json(mapping.clone()))
        })
    })
    .await
}

/// Reads a file as an import would, and stores nothing.
pub async fn preview(
    ctx: RequestCtx,
    Path(id): Path<UpstreamId>,
    sheet: Sheet<SheetMappingInput>,
) -> Result<Committed<Json<SheetPreview>>, Problem> {
    let (upstream, saved) = {
        let mut conn = ctx.app.db.read().await?;
        let upstream = upstreams::find(&mut conn, id).await?.ok_or_else(Problem::not_found)?;
        (upstream, store::find(&mut conn, id).await?)
    };
    ctx.audit_note("upstream_id", id.to_string());
    let source = if sheet.mapping.is_some() { LayoutSource::Given } else { LayoutSource::Saved };
    let mapping = sheet.mapping.map(|SheetMappingInput(given)| given).or(saved);
    let rules = mapping.as_ref().map(SheetMapping::rules);
    let (content, now) = (imports::read_blocking(sheet.file.content().await?), ctx.now.millis());
    let turn = PREVIEWS.acquire().await.map_err(Problem::internal)?;
    let read = tokio::task::spawn_blocking(move || {
        let options = DeckCsvOptions { now, is_country: &is_country };
        DeckSheet::preview(content, rules.as_ref(), &options, PREVIEWED_ROWS)
    });
    let read = read.await.map_err(Problem::internal)?.map_err(refusal)?;
    drop(turn);
    let detected = read.detected.as_ref().and_then(SheetMapping::of);
    let (layout, mapping) = match read.source {
        Some(MappingSource::Given) => (Some(source), mapping),
        Some(MappingSource::OwnHeader) => (Some(LayoutSource::OwnHeader), None),
        Some(MappingSource::Detected) => (Some(LayoutSource::Detected), detected.clone()),
        None => (None, None),
    };
    let currency = upstream.base_currency;
    let preview = SheetPreview {
        format: read.format.into(),
        sheet: read.sheet,
        sheets: read.sheets,
        header_row: read.header_row.and_then(|row| i64::try_from(row).ok()),
        layout,
        mapping,
        detected,
        prefixes: i64::try_from(read.prefixes).unwrap_or(i64::MAX),
        rows: read.rows.into_iter().map(|row| PreviewedRate::new(row, currency)).collect(),
        error_count: i64::try_from(read.faults.count).unwrap_or(i64::MAX),
        errors: read.faults.first.into_iter().map(Into::into).collect(),
    };
    ctx.commit(preview, |_, preview| Box::pin(async move { Ok(Json(preview.clone())) })).await
}

/// Whether ISO 3166-1 has the country.
pub fn is_country(country: rating::Country) -> bool {
    country.as_str().parse::<Country>().is_ok()
}

/// A file that is no sheet at all is a fault of the request.
fn refusal(error: DeckCsvError) -> Problem {
    match error {
        DeckCsvError::Io(error) => Problem::internal(error),
        other => {
            let mut faults = Faults::default();
            faults.add("file", other.to_string());
            faults.into()
        }
    }
}
