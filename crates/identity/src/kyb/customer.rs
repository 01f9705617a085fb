//! The customer's handlers: `/me/kyb`.

use super::rules;
use super::types::{ComplianceIntake, KybUploadResponse};
use crate::compliance::{self, DocumentForm, IntakeRow, Purpose};
use api::answer::{Created, Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::Path;
use api::problem::Problem;
use api::upload::Upload;
use values::{IntakeDocumentId, KybDocumentId};

/// Opens an intake if there is none; a repeated request finds it.
pub async fn show(ctx: ReadCtx) -> Result<Json<ComplianceIntake>, Problem> {
    let ReadCtx { conn, request } = ctx;
    let account = request.principal()?.account_id;
    // Opening needs another connection; holding this one meanwhile could exhaust the pool.
    drop(conn);
    let intake = compliance::find_or_open_kyb(&request, account).await?;
    let documents = compliance::documents(&mut *request.app.db.read().await?, intake.id).await?;
    Ok(Json(ComplianceIntake::new(intake, &documents)))
}

pub async fn upload(
    ctx: RequestCtx,
    upload: Upload<DocumentForm>,
) -> Result<Committed<Created<KybUploadResponse>>, Problem> {
    let intake = compliance::find_or_open_kyb(&ctx, ctx.principal()?.account_id).await?;
    require_open(&intake)?;
    compliance::upload_document(ctx, intake.id, upload, KybUploadResponse::from).await
}

pub async fn delete_document(ctx: RequestCtx, Path(id): Path<KybDocumentId>) -> Result<Committed<NoContent>, Problem> {
    let account = ctx.principal()?.account_id;
    let document = IntakeDocumentId::new(id.uuid());
    ctx.audit_note("document", id.to_string());
    ctx.commit((account, document), |tx, (account, document)| {
        Box::pin(async move {
            let intake = compliance::find_by_document_for_update(tx, *document).await?;
            let intake = intake.filter(|intake| intake.account_id == *account && intake.purpose == Purpose::Kyb);
            let intake = intake.ok_or_else(Problem::not_found)?;
            require_open(&intake)?;
            compliance::remove_document(tx, &intake, *document).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// `compliance` checks this too; checked here first for an error text that speaks of KYB.
fn require_open(intake: &IntakeRow) -> Result<(), Problem> {
    rules::require_open(intake.status.into()).map_err(Problem::state_conflict)
}

pub async fn submit(ctx: RequestCtx) -> Result<Committed<Json<ComplianceIntake>>, Problem> {
    let account = ctx.principal()?.account_id;
    let intake = compliance::find_or_open_kyb(&ctx, account).await?;
    ctx.audit_note("intake", intake.id.to_string());
    require_open(&intake)?;
    ctx.commit((account, intake.id), |tx, (account, id)| {
        Box::pin(async move {
            let intake = compliance::submit_intake(tx, *account, *id).await?;
            let documents = compliance::documents(tx, *id).await?;
            Ok(Json(ComplianceIntake::new(intake, &documents)))
        })
    })
    .await
}
