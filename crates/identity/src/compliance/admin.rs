//! The team's handlers: `/admin/compliance/intakes`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::lifecycle::{self, conflict, download_url};
use super::rules::{self, Action};
use super::store::{self, DocumentRow, IntakeFilter, IntakeRow};
use super::types::{
    AdminIntake, ComplianceActionRequest, DocumentUpdate, Intake, IntakeStatus, LinkedDocument, LinkedDocuments,
    Purpose,
};
use crate::names::Names;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, OptionalBody, Path, PathPair};
use api::page::{Listing, NewestFirst, Page};
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

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<IntakeId>>,
) -> Result<Page<AdminIntake>, Problem> {
    let Filters { status, purpose } = listing.filters;
    let filter = IntakeFilter { account: None, status, purpose };
    let rows = store::list(&mut ctx, &filter, listing.before(), listing.fetch()).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|(intake, _)| intake.account_id)).await?;
    listing.page(
        rows,
        |(intake, _)| (intake.created_at, intake.id),
        |(intake, documents)| {
            let customer_name = names.get(intake.account_id.uuid());
            admin_intake(intake, documents, customer_name)
        },
    )
}

fn admin_intake(intake: IntakeRow, documents: Vec<DocumentRow>, customer_name: Option<String>) -> AdminIntake {
    let (account_id, customer_id) = (intake.account_id, intake.account_id.uuid());
    AdminIntake { account_id, customer_id, customer_name, intake: Intake::new(intake, documents) }
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<AdminIntake>, Problem> {
    Ok(Json(view(&mut ctx, id).await?))
}

/// The links are not part of the intake because they change, and its ETag must not change with them.
pub async fn list_documents(mut ctx: ReadCtx, Path(id): Path<IntakeId>) -> Result<Json<LinkedDocuments>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    ctx.request.audit_note("intake", id.to_string());
    let intake = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    ctx.request.audit_account(intake.account_id);
    let documents = store::documents(&mut ctx, id).await?.into_iter();
    let linked =
        |document| LinkedDocument { download_url: download_url(&app, &document, now), document: document.into() };
    Ok(Json(LinkedDocuments { data: documents.map(linked).collect() }))
}

/// Handlers that differ only in the action.
macro_rules! decisions {
    ($($name:ident $action:ident),*) => {$(
        pub async fn $name(
            ctx: RequestCtx,
            Path(id): Path<IntakeId>,
            OptionalBody(request): OptionalBody<ComplianceActionRequest>,
        ) -> Result<Committed<Json<AdminIntake>>, Problem> {
            act(ctx, id, Action::$action, request).await
        }
    )*};
}

decisions!(approve Approve, reject Reject, request_more RequestMore);

pub async fn start_review(ctx: RequestCtx, Path(id): Path<IntakeId>) -> Result<Committed<Json<AdminIntake>>, Problem> {
    act(ctx, id, Action::StartReview, ComplianceActionRequest::default()).await
}

async fn act(
    ctx: RequestCtx,
    id: IntakeId,
    action: Action,
    request: ComplianceActionRequest,
) -> Result<Committed<Json<AdminIntake>>, Problem> {
    ctx.audit_note("intake", id.to_string());
    ctx.commit((id, action, request), |tx, (id, action, request)| {
        Box::pin(async move {
            let intake = find_for_update(tx, *id).await?;
            lifecycle::decide(tx, intake, *action, request.note.as_deref()).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

async fn find_for_update(tx: &mut Tx<'_>, id: IntakeId) -> Result<IntakeRow, Problem> {
    let intake = store::find_for_update(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(intake.account_id);
    Ok(intake)
}

async fn view(conn: &mut Conn, id: IntakeId) -> Result<AdminIntake, Problem> {
    let intake = store::find(conn, id).await?.ok_or_else(Problem::not_found)?;
    let documents = store::documents(conn, id).await?;
    let customer_name = Names::of_customer(conn, intake.account_id).await?;
    Ok(admin_intake(intake, documents, customer_name))
}

/// `If-Match` names the version of the intake, so the response is the intake.
pub async fn review_document(
    ctx: RequestCtx,
    PathPair(id, document): PathPair<IntakeId, IntakeDocumentId>,
    Body(update): Body<DocumentUpdate>,
) -> Result<Committed<Json<AdminIntake>>, Problem> {
    ctx.audit_note("intake", id.to_string());
    ctx.audit_note("document", document.to_string());
    ctx.commit((id, document, update), |tx, (id, document, update)| {
        Box::pin(async move {
            apply_review(tx, *id, *document, update).await?;
            Ok(Json(view(tx, *id).await?))
        })
    })
    .await
}

async fn apply_review(
    tx: &mut Tx<'_>,
    id: IntakeId,
    document: IntakeDocumentId,
    update: &DocumentUpdate,
) -> Result<(), Problem> {
    let intake = find_for_update(tx, id).await?;
    let current = view(tx, id).await?;
    tx.expect_version(&current)?;
    let reason = update.reject_reason.as_deref();
    if !store::set_document_status(tx, id, document, update.status, reason).await? {
        return Err(Problem::not_found());
    }
    rules::check_reviewable(intake.status).map_err(conflict)?;
    Ok(store::touch(tx, id).await?)
}
