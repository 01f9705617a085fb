//! What a customer does with its business verification.

use super::rules;
use super::types::{ComplianceIntake, KybUploadResponse};
use crate::compliance::{self, DocumentForm, IntakeRow, Purpose};
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::problem::Problem;
use api::upload::Upload;
use values::{IntakeDocumentId, KybDocumentId};

/// Opens one if there is none: a second look finds it, so looking twice is looking once.
pub async fn show(ctx: ReadCtx) -> Result<Json<ComplianceIntake>, Problem> {
    let ReadCtx { conn, request } = ctx;
    let account = request.principal()?.account_id;
    // Opening needs a connection of its own; who holds one while waiting for another may wait for ever.
    drop(conn);
    let intake = compliance::kyb_of(&request, account).await?;
    let documents = compliance::documents(&mut *request.app.db.read().await?, intake.id).await?;
    Ok(Json(ComplianceIntake::new(intake, &documents)))
}

pub async fn upload(
    ctx: RequestCtx,
    upload: Upload<DocumentForm>,
) -> Result<Committed<Created<KybUploadResponse>>, Problem> {
    let intake = compliance::kyb_of(&ctx, ctx.principal()?.account_id).await?;
    must_be_open(&intake)?;
    compliance::take_in(ctx, intake.id, upload, KybUploadResponse::from).await
}

pub async fn remove(ctx: RequestCtx, Path(id): Path<KybDocumentId>) -> Result<Committed<NoContent>, Problem> {
    let account = ctx.principal()?.account_id;
    let document = IntakeDocumentId::new(id.uuid());
    ctx.audit_note("document", id.to_string());
    ctx.commit((account, document), |tx, (account, document)| {
        Box::pin(async move {
            let intake = compliance::find_by_document_to_change(tx, *document).await?;
            let intake = intake.filter(|intake| intake.account_id == *account && intake.purpose == Purpose::Kyb);
            let intake = intake.ok_or_else(Problem::not_found)?;
            must_be_open(&intake)?;
            compliance::remove(tx, &intake, *document).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// Asked for its words: `compliance` refuses as well, in its own.
fn must_be_open(intake: &IntakeRow) -> Result<(), Problem> {
    rules::must_be_open(intake.status.into()).map_err(Problem::state_conflict)
}

pub async fn submit(ctx: RequestCtx) -> Result<Committed<Json<ComplianceIntake>>, Problem> {
    let account = ctx.principal()?.account_id;
    let intake = compliance::kyb_of(&ctx, account).await?;
    ctx.audit_note("intake", intake.id.to_string());
    must_be_open(&intake)?;
    ctx.commit((account, intake.id), |tx, (account, id)| {
        Box::pin(async move {
            let intake = compliance::submit(tx, *account, *id).await?;
            let documents = compliance::documents(tx, *id).await?;
            Ok(Json(ComplianceIntake::new(intake, &documents)))
        })
    })
    .await
}
