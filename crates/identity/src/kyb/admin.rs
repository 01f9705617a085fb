//! The team's handlers: `/admin/kyb`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::rules;
use super::store::{self, KybListRow};
use super::types::{
    AdminKybAccount, AdminKybActionRequest, AdminKybDetail, AdminKybDocument, AdminKybListItem, ComplianceIntake,
    KybStatus,
};
use crate::compliance::{self, Action, DocumentRow, IntakeRow, Purpose, download_url};
use crate::onboarding;
use api::answer::Json;
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{OptionalBody, Path};
use api::page::{Items, Listing, NewestFirst};
use api::problem::Problem;
use db::Conn;
use platform::app::App;
use values::{IntakeId, KybDocumentId, KybId, Time, UnixSeconds};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return KYB intakes in this status only.
    #[serde(default)]
    status: Option<KybStatus>,
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<KybId>>,
) -> Result<Items<AdminKybListItem>, Problem> {
    let rows = store::list(&mut ctx, listing.filters.status, listing.before(), listing.fetch()).await?;
    listing.items(rows, |row| (row.created_at, row.id), list_item)
}

fn list_item(row: KybListRow) -> AdminKybListItem {
    AdminKybListItem {
        id: row.id,
        account_id: row.account_id,
        customer_id: row.account_id.uuid(),
        customer_name: row.account_legal_name.clone(),
        account_legal_name: row.account_legal_name,
        status: row.status.into(),
        submitted_at: row.submitted_at.map(UnixSeconds),
        reviewer_note: row.reviewer_note,
        document_count: row.document_count,
    }
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<KybId>) -> Result<Json<AdminKybDetail>, Problem> {
    let app = ctx.request.app.clone();
    ctx.request.audit_note("kyb", id.to_string());
    let intake = require_kyb(compliance::find_intake(&mut ctx, intake_id(id)).await?)?;
    ctx.request.audit_account(intake.account_id);
    Ok(Json(view(&mut ctx, &app, intake).await?))
}

const fn intake_id(id: KybId) -> IntakeId {
    IntakeId::new(id.uuid())
}

/// The intake, if its purpose is KYB.
fn require_kyb(intake: Option<IntakeRow>) -> Result<IntakeRow, Problem> {
    intake.filter(|intake| intake.purpose == Purpose::Kyb).ok_or_else(Problem::not_found)
}

async fn view(conn: &mut Conn, app: &App, intake: IntakeRow) -> Result<AdminKybDetail, Problem> {
    let now = conn.now();
    let account = onboarding::find_account(conn, intake.account_id).await?.ok_or_else(Problem::not_found)?;
    let documents = compliance::documents(conn, intake.id).await?;
    Ok(AdminKybDetail {
        account_id: intake.account_id,
        customer_id: intake.account_id.uuid(),
        intake: ComplianceIntake::new(intake, &documents),
        account_summary: AdminKybAccount {
            id: account.account_id,
            legal_name: account.company_name,
            trading_name: account.trading_name,
            country: account.country,
            contact_name: account.contact_name,
            contact_email: account.contact_email,
            status: account.beta_status,
        },
        documents: documents.into_iter().map(|document| linked(app, document, now)).collect(),
    })
}

fn linked(app: &App, document: DocumentRow, now: Time) -> AdminKybDocument {
    AdminKybDocument {
        download_url: download_url(app, &document, now),
        doc_id: KybDocumentId::new(document.id.uuid()),
        doc_kind: document.kind,
        content_type: document.content_type,
        size_bytes: document.size_bytes,
        uploaded_at: UnixSeconds(document.uploaded_at),
    }
}

pub async fn approve(
    ctx: RequestCtx,
    Path(id): Path<KybId>,
    OptionalBody(request): OptionalBody<AdminKybActionRequest>,
) -> Result<Committed<Json<AdminKybDetail>>, Problem> {
    decide(ctx, id, Action::Approve, request).await
}

pub async fn reject(
    ctx: RequestCtx,
    Path(id): Path<KybId>,
    OptionalBody(request): OptionalBody<AdminKybActionRequest>,
) -> Result<Committed<Json<AdminKybDetail>>, Problem> {
    decide(ctx, id, Action::Reject, request).await
}

async fn decide(
    ctx: RequestCtx,
    id: KybId,
    action: Action,
    request: AdminKybActionRequest,
) -> Result<Committed<Json<AdminKybDetail>>, Problem> {
    ctx.audit_note("kyb", id.to_string());
    ctx.commit((id, action, request), |tx, (id, action, request)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            let intake = require_kyb(compliance::find_intake_for_update(tx, intake_id(*id)).await?)?;
            tx.ctx.audit_account(intake.account_id);
            rules::require_submitted(intake.status.into()).map_err(Problem::state_conflict)?;
            let intake = compliance::decide(tx, intake, *action, request.reviewer_note.as_deref()).await?;
            Ok(Json(view(tx, &app, intake).await?))
        })
    })
    .await
}
