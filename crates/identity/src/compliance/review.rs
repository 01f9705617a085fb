//! What the team does with intakes.

use schemars::JsonSchema;
use serde::Deserialize;

use super::customer::{Position, resume};
use super::desk::{self, download_url, refused};
use super::rules::{self, Move};
use super::store::{self, DocumentRow, IntakeRow, Wanted};
use super::types::{
    AdminIntake, ComplianceActionRequest, DocumentUpdate, Intake, IntakeStatus, LinkedDocument, LinkedDocuments,
    Purpose,
};
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, OptionalBody, Path, PathPair};
use api::page::{Listing, Page};
use api::problem::Problem;
use db::Conn;
use values::{IntakeDocumentId, IntakeId};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return intakes in this status only.
    #[serde(default)]
    status: Option<IntakeStatus>,
    /// Return intakes of this purpose only.
    #[serde(default)]
    purpose: Option<Purpose>,
}

pub async fn list_all(mut ctx: ReadCtx, listing: Listing<Filters, Position>) -> Result<Page<AdminIntake>, Problem> {
    let Filters { status, purpose } = listing.filters;
    let wanted = Wanted { account: None, status, purpose };
    let rows = store::list(&mut ctx, &wanted, resume(listing.after), listing.fetch()).await?;
    listing.page(
        rows,
        |(intake, _)| (intake.created_at.millis(), intake.id),
        |(intake, documents)| for_team(intake, documents),
    )
}

fn for_team(intake: IntakeRow, documents: Vec<DocumentRow>) -> AdminIntake {
    AdminIntake { account_id: intake.account_id, intake: Intake::new(intake, documents) }
}

pub async fn show_to_team(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<AdminIntake>, Problem> {
    Ok(Json(view(&mut ctx, id).await?))
}

/// The links are apart from the intake: they differ each time, and the intake's version must not.
pub async fn show_documents(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<LinkedDocuments>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    ctx.request.audit_note("intake", id.to_string());
    let intake = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    ctx.request.audit_account(intake.account_id);
    let documents = store::documents(&mut ctx, id).await?.into_iter();
    let linked =
        |document| LinkedDocument { download_url: download_url(&app, &document, now), document: document.into() };
    Ok(Json(LinkedDocuments { data: documents.map(linked).collect() }))
}

/// The moves are one function but for the move.
macro_rules! moves {
    ($($name:ident $step:ident),*) => {$(
        pub async fn $name(
            ctx: RequestCtx,
            Path(id): Path<IntakeId>,
            OptionalBody(request): OptionalBody<ComplianceActionRequest>,
        ) -> Result<Committed<Json<AdminIntake>>, Problem> {
            act(ctx, id, Move::$step, request).await
        }
    )*};
}

moves!(approve Approve, reject Reject, request_more RequestMore);

pub async fn review(ctx: RequestCtx, Path(id): Path<IntakeId>) -> Result<Committed<Json<AdminIntake>>, Problem> {
    act(ctx, id, Move::Review, ComplianceActionRequest::default()).await
}

async fn act(
    ctx: RequestCtx,
    id: IntakeId,
    step: Move,
    request: ComplianceActionRequest,
) -> Result<Committed<Json<AdminIntake>>, Problem> {
    ctx.audit_note("intake", id.to_string());
    ctx.commit((id, step, request), |tx, (id, step, request)| {
        Box::pin(async move {
            let intake = find_to_change(tx, *id).await?;
            desk::decide(tx, intake, *step, request.note.as_deref()).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

async fn find_to_change(tx: &mut Tx<'_>, id: IntakeId) -> Result<IntakeRow, Problem> {
    let intake = store::find_to_change(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(intake.account_id);
    Ok(intake)
}

async fn view(conn: &mut Conn, id: IntakeId) -> Result<AdminIntake, Problem> {
    let intake = store::find(conn, id).await?.ok_or_else(Problem::not_found)?;
    let documents = store::documents(conn, id).await?;
    Ok(for_team(intake, documents))
}

/// Answers with the intake, whose version it is that `If-Match` names.
pub async fn judge_document(
    ctx: RequestCtx,
    PathPair(id, document): PathPair<IntakeId, IntakeDocumentId>,
    Body(update): Body<DocumentUpdate>,
) -> Result<Committed<Json<AdminIntake>>, Problem> {
    ctx.audit_note("intake", id.to_string());
    ctx.audit_note("document", document.to_string());
    ctx.commit((id, document, update), |tx, (id, document, update)| {
        Box::pin(async move {
            judge(tx, *id, *document, update).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

async fn judge(
    tx: &mut Tx<'_>,
    id: IntakeId,
    document: IntakeDocumentId,
    update: &DocumentUpdate,
) -> Result<(), Problem> {
    let now = tx.ctx.now;
    let intake = find_to_change(tx, id).await?;
    let current = view(tx, id).await?;
    tx.expect_version(&current)?;
    let reason = update.reject_reason.as_deref();
    if !store::judge_document(tx, id, document, update.status, reason).await? {
        return Err(Problem::not_found());
    }
    rules::admit_verdicts(intake.status).map_err(refused)?;
    Ok(store::touch(tx, id, now).await?)
}
