//! What a customer does with its intakes.

use uuid::Uuid;

use super::desk::{self, owned};
use super::store::{self, Wanted};
use super::types::{DocumentForm, Intake, IntakeDocument};
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Path, PathPair};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use api::upload::Upload;
use values::{IntakeDocumentId, IntakeId, Time};

/// Where a list goes on.
pub type Position = (i64, IntakeId);

/// The last row shown, or what comes before the newest.
pub fn resume(after: Option<Position>) -> (Time, IntakeId) {
    let (at, id) = after.unwrap_or((i64::MAX, IntakeId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Position>) -> Result<Page<Intake>, Problem> {
    let wanted = Wanted { account: Some(ctx.principal()?.account_id), status: None, purpose: None };
    let rows = store::list(&mut ctx, &wanted, resume(listing.after), listing.fetch()).await?;
    listing.page(
        rows,
        |(intake, _)| (intake.created_at.millis(), intake.id),
        |(intake, documents)| Intake::new(intake, documents),
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<Intake>, Problem> {
    let account = ctx.principal()?.account_id;
    let intake = owned(store::find(&mut ctx, id).await?, account)?;
    let documents = store::documents(&mut ctx, id).await?;
    Ok(Json(Intake::new(intake, documents)))
}

pub async fn upload(
    ctx: RequestCtx,
    Path(id): Path<IntakeId>,
    upload: Upload<DocumentForm>,
) -> Result<Committed<Created<IntakeDocument>>, Problem> {
    desk::take_in(ctx, id, upload, IntakeDocument::from).await
}

pub async fn take_away(
    ctx: RequestCtx,
    PathPair(id, document): PathPair<IntakeId, IntakeDocumentId>,
) -> Result<Committed<NoContent>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.audit_note("intake", id.to_string());
    ctx.audit_note("document", document.to_string());
    ctx.commit((account, id, document), |tx, (account, id, document)| {
        Box::pin(async move {
            let intake = owned(store::find_to_change(tx, *id).await?, *account)?;
            desk::remove(tx, &intake, *document).await?;
            Ok(NoContent)
        })
    })
    .await
}

pub async fn hand_in(ctx: RequestCtx, Path(id): Path<IntakeId>) -> Result<Committed<Json<Intake>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.audit_note("intake", id.to_string());
    ctx.commit((account, id), |tx, (account, id)| {
        Box::pin(async move {
            let intake = desk::submit(tx, *account, *id).await?;
            let documents = store::documents(tx, *id).await?;
            Ok(Json(Intake::new(intake, documents)))
        })
    })
    .await
}
