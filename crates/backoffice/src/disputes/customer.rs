//! The customer's handlers: `/cdrs/{id}/dispute` and `/disputes`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::store::{self, ChargedCall, DisputeFilter, DisputeId, DisputeRow};
use super::types::{CallDispute, CallDisputeCreate, DisputeStatus};
use crate::tickets::{self, TicketCreate};
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use identity::accounts;
use values::{CallId, Text};
use voice::cdrs;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return disputes in this status only.
    #[serde(default)]
    status: Option<DisputeStatus>,
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<DisputeId>>,
) -> Result<Page<CallDispute>, Problem> {
    let filter = DisputeFilter {
        account: Some(ctx.principal()?.account_id),
        status: listing.filters.status,
        before: listing.before(),
        limit: listing.fetch(),
    };
    let rows = store::list(&mut ctx, &filter).await?;
    listing.page(rows, |row| (row.created_at, row.id), CallDispute::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<DisputeId>) -> Result<Json<CallDispute>, Problem> {
    let account = ctx.principal()?.account_id;
    let dispute = store::find(&mut ctx, id).await?.filter(|dispute| dispute.account_id == account);
    Ok(Json(dispute.ok_or_else(Problem::not_found)?.into()))
}

pub async fn create(
    ctx: RequestCtx,
    Path(cdr): Path<CallId>,
    Body(request): Body<CallDisputeCreate>,
) -> Result<Committed<Created<CallDispute>>, Problem> {
    ctx.audit_note("cdr", cdr.to_string());
    ctx.commit((cdr, request), |tx, (cdr, request)| Box::pin(open(tx, *cdr, &request.reason))).await
}

async fn open(tx: &mut Tx<'_>, cdr: CallId, reason: &Text<1, 2000>) -> Result<Created<CallDispute>, Problem> {
    let (account_id, opened_by) = (tx.ctx.principal()?.account_id, tx.ctx.principal()?.user_id);
    accounts::lock(tx, account_id).await?;
    let Some(call) = store::find_call(tx, account_id, cdr).await? else {
        let archived = cdrs::archived_before(tx, cdr).await?;
        return Err(archived
            .map_or_else(Problem::not_found, |hot_from| Problem::state_conflict(cdrs::archived_detail(hot_from))));
    };
    let ChargedCall { called, started_at, charge, charged_at: Some(charged_at) } = call else {
        return Err(Problem::state_conflict("This call was not charged, so there is nothing to dispute."));
    };
    if store::find_of_cdr(tx, cdr).await?.is_some() {
        return Err(Problem::state_conflict("This call was disputed already."));
    }
    let about = TicketCreate {
        subject: format!("Disputed call to {called}").parse().map_err(Problem::internal)?,
        body: reason.as_str().parse().map_err(Problem::internal)?,
        priority: None,
        request_id: None,
        cdr_ids: vec![cdr],
    };
    let Created(ticket) = tickets::open(tx, &about).await?;
    let dispute = DisputeRow {
        id: tx.new_id(),
        account_id,
        cdr_id: cdr,
        ticket_id: ticket.id,
        opened_by,
        reason: reason.clone(),
        called,
        started_at,
        charge,
        charged_at,
        status: DisputeStatus::Open,
        amount: None,
        note: None,
        resolved_by: None,
        resolved_at: None,
        created_at: tx.now(),
    };
    tx.insert(&dispute).await?;
    Ok(Created(dispute.into()))
}
