//! The customer's handlers: `/compliance/intakes`.

use super::lifecycle::{self, own_intake};
use super::store::{self, IntakeFilter, IntakeRow};
use super::types::{DocumentForm, Intake, IntakeDocument, Purpose};
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Path, PathPair};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use api::upload::Upload;
use values::{AccountRole, IntakeDocumentId, IntakeId};

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<IntakeId>>,
) -> Result<Page<Intake>, Problem> {
    let filter = IntakeFilter { account: Some(ctx.principal()?.account_id), status: None, purpose: None };
    let rows = store::list(&mut ctx, &filter, listing.before(), listing.fetch()).await?;
    listing.page(
        rows,
        |(intake, _)| (intake.created_at, intake.id),
        |(intake, documents)| Intake::new(intake, documents),
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<Intake>, Problem> {
    let account = ctx.principal()?.account_id;
    let intake = own_intake(store::find(&mut ctx, id).await?, account)?;
    let documents = store::documents(&mut ctx, id).await?;
    Ok(Json(Intake::new(intake, documents)))
}

pub async fn upload(
    ctx: RequestCtx,
    Path(id): Path<IntakeId>,
    upload: Upload<DocumentForm>,
) -> Result<Committed<Created<IntakeDocument>>, Problem> {
    let intake = own_intake(store::find(&mut *ctx.app.db.read().await?, id).await?, ctx.principal()?.account_id)?;
    check_role(&ctx, &intake)?;
    lifecycle::upload_document(ctx, id, upload, IntakeDocument::from).await
}

/// The documents of a number order are for technical users too, those of KYB for owners only.
fn check_role(ctx: &RequestCtx, intake: &IntakeRow) -> Result<(), Problem> {
    match intake.purpose {
        Purpose::Kyb => ctx.principal()?.check_account_role(AccountRole::Owner),
        Purpose::RegulatoryDid => Ok(()),
    }
}

pub async fn delete_document(
    ctx: RequestCtx,
    PathPair(id, document): PathPair<IntakeId, IntakeDocumentId>,
) -> Result<Committed<NoContent>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.audit_note("intake", id.to_string());
    ctx.audit_note("document", document.to_string());
    ctx.commit((account, id, document), |tx, (account, id, document)| {
        Box::pin(async move {
            let intake = own_intake(store::find_for_update(tx, *id).await?, *account)?;
            check_role(tx.ctx, &intake)?;
            lifecycle::remove_document(tx, &intake, *document).await?;
            Ok(NoContent)
        })
    })
    .await
}

pub async fn submit(ctx: RequestCtx, Path(id): Path<IntakeId>) -> Result<Committed<Json<Intake>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.audit_note("intake", id.to_string());
    ctx.commit((account, id), |tx, (account, id)| {
        Box::pin(async move {
            check_role(tx.ctx, &own_intake(store::find(tx, *id).await?, *account)?)?;
            let intake = lifecycle::submit_intake(tx, *account, *id).await?;
            let documents = store::documents(tx, *id).await?;
            Ok(Json(Intake::new(intake, documents)))
        })
    })
    .await
}
