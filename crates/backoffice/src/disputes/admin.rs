//! The team's handlers: `/admin/disputes`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::store::{self, DisputeFilter, DisputeId, DisputeRow};
use super::types::{AdminCallDispute, CallDisputeResolve, DisputeOutcome, DisputeStatus};
use crate::tickets;
use api::answer::Json;
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use billing::invoices;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::names::Names;
use platform::ledger::{self, Book, Entry, Kind};
use values::{AccountId, Money, UserId};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    /// Return disputes of this account only.
    #[serde(default)]
    account_id: Option<AccountId>,
    /// Return disputes in this status only.
    #[serde(default)]
    status: Option<DisputeStatus>,
}

pub async fn list_all(
    mut ctx: ReadCtx,
    listing: Listing<Filters, NewestFirst<DisputeId>>,
) -> Result<Page<AdminCallDispute>, Problem> {
    let Filters { account_id: account, status } = listing.filters;
    let filter = DisputeFilter { account, status, before: listing.before(), limit: listing.fetch() };
    let rows = store::list(&mut ctx, &filter).await?;
    let names = Names::of_customers(&mut ctx, rows.iter().map(|row| row.account_id)).await?;
    listing.page(
        rows,
        |row| (row.created_at, row.id),
        |row| {
            let customer_name = names.get(row.account_id.uuid());
            AdminCallDispute::new(row, customer_name)
        },
    )
}

pub async fn admin_show(mut ctx: ReadCtx, Path(id): Path<DisputeId>) -> Result<Json<AdminCallDispute>, Problem> {
    let dispute = store::find(&mut ctx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(view(&mut ctx, dispute).await?))
}

async fn view(conn: &mut Conn, dispute: DisputeRow) -> Result<AdminCallDispute, DbError> {
    let customer_name = Names::of_customer(conn, dispute.account_id).await?;
    Ok(AdminCallDispute::new(dispute, customer_name))
}

pub async fn resolve(
    ctx: RequestCtx,
    Path(id): Path<DisputeId>,
    Body(Checked(request)): Body<Checked<CallDisputeResolve>>,
) -> Result<Committed<Json<AdminCallDispute>>, Problem> {
    ctx.audit_note("dispute", id.to_string());
    ctx.audit_note("outcome", request.outcome.to_string());
    ctx.commit((id, request), |tx, (id, request)| Box::pin(decide(tx, *id, request))).await
}

async fn decide(
    tx: &mut Tx<'_>,
    id: DisputeId,
    request: &CallDisputeResolve,
) -> Result<Json<AdminCallDispute>, Problem> {
    let CallDisputeResolve { outcome, amount, note } = request;
    let actor = tx.ctx.principal()?.user_id;
    let mut dispute = store::find_for_update(tx, id).await?.ok_or_else(Problem::not_found)?;
    tx.ctx.audit_account(dispute.account_id);
    if dispute.status != DisputeStatus::Open {
        return Err(Problem::state_conflict("This dispute was decided already."));
    }
    dispute.note = Some(note.clone());
    (dispute.resolved_by, dispute.resolved_at) = (Some(actor), Some(tx.now()));
    match outcome {
        DisputeOutcome::Reject => dispute.status = DisputeStatus::Rejected,
        DisputeOutcome::Credit => {
            dispute.status = DisputeStatus::Credited;
            dispute.amount = Some(credit(tx, &dispute, *amount, actor).await?.nanos());
        }
    }
    if !store::resolve(tx, &dispute).await? {
        return Err(Problem::state_conflict("This dispute was decided already."));
    }
    tickets::resolve_with_message(tx, dispute.ticket_id, note.as_str()).await?;
    Ok(Json(view(tx, dispute).await?))
}

/// Posts the credit to the ledger: the amount, or all that the call is charged now.
async fn credit(tx: &mut Tx<'_>, dispute: &DisputeRow, amount: Option<Money>, actor: UserId) -> Result<Money, Problem> {
    // A late event may have changed the charge since; a CDR that is gone was charged what the dispute says.
    let call = store::find_call(tx, dispute.account_id, dispute.cdr_id).await?;
    let charge = Money::from_nanos(call.map_or(dispute.charge, |call| call.charge), CURRENCY);
    let amount = amount.unwrap_or(charge);
    let mut faults = Faults::default();
    faults.unless(
        amount.nanos() <= charge.nanos(),
        "amount",
        format!("must be at most {charge}, the charge of the call"),
    );
    faults.into_result()?;
    if invoices::was_credited(tx, dispute.account_id, dispute.charged_at).await? {
        let detail = "A credit note returned the charges of the month of this call, so nothing is left to credit.";
        return Err(Problem::state_conflict(detail));
    }
    tx.ctx.audit_note("amount", amount.to_string());
    let entry =
        Entry::credit(dispute.account_id, Kind::CallCredit, dispute.id.to_string(), &[(Book::Refunds, amount)])?;
    let note = format!("Disputed call to {}", dispute.called);
    ledger::credit(tx, &entry.with_note(note).by(actor)).await?;
    Ok(amount)
}
