//! Number orders: a customer orders one number from an inventory group.
//!
//! One transaction allocates a number, charges setup and the first month, and inserts the order (`place`). A regulated
//! number waits for its documents (`documents`). Then the DID supplier is asked to activate the number, outside of any
//! transaction and under the order's id (`provision`); its response ends the order with a rented number or with a full
//! refund (`settle`). `rules` has the state machine.
//!
//! If the DID supplier does not respond, the request fails but the order continues in a job; repeating the request
//! with the same idempotency key returns the order.

mod documents;
mod place;
mod provision;
mod rules;
mod settle;
mod store;
mod types;

pub use documents::{EXPIRE, decided_job, expire_job};
pub use provision::{PROVISION, provision_job};

use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page};
use api::problem::Problem;
use db::Conn;
use identity::onboarding;
use place::{OrderRequest, Selection, place};
use platform::outside::did_supplier::Activation;
use rules::OrderStatus;
pub use types::NumberOrder;
use types::{AreaOrder, NumberOrderCreate, NumberOrderDetail, OrderFilters, OrderId, OrderStep};
use values::{AccountId, Rfc3339, Time};

pub async fn create(
    ctx: RequestCtx,
    Body(selection): Body<NumberOrderCreate>,
) -> Result<Committed<Created<NumberOrder>>, Problem> {
    place_order(ctx, Selection::Group(selection)).await
}

/// Orders the cheapest free number of an area.
pub async fn create_in_area(
    ctx: RequestCtx,
    Body(selection): Body<AreaOrder>,
) -> Result<Committed<Created<NumberOrder>>, Problem> {
    place_order(ctx, Selection::Area(selection)).await
}

async fn place_order(ctx: RequestCtx, selection: Selection) -> Result<Committed<Created<NumberOrder>>, Problem> {
    let request = OrderRequest { account: ctx.principal()?.account_id, selection, mark: ctx.fingerprint()? };
    let order = ctx.app.db.tx(request, |conn, request| Box::pin(place(conn, request))).await?;
    ctx.audit_note("order_id", order.id.to_string());
    ctx.audit_note("number", order.e164.to_string());
    let activation = match order.status {
        OrderStatus::Provisioning => Some(activate_number(&ctx, &order).await?),
        _ => None,
    };
    ctx.commit((order.id, activation), |tx, (id, activation)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            if let Some(activation) = activation {
                settle::settle(tx, &app, *id, activation).await?;
            }
            let order = store::find(tx, *id).await?.ok_or_else(Problem::not_found)?;
            Ok(Created(order.into()))
        })
    })
    .await
}

async fn activate_number(ctx: &RequestCtx, order: &store::OrderRow) -> Result<Activation, Problem> {
    ctx.app.did_supplier.activate(&order.e164, order.id.uuid()).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "DID supplier request failed");
        Problem::upstream_unavailable(
            "The DID supplier does not respond. The order continues; repeat the request with the same Idempotency-Key.",
        )
    })
}

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<OrderFilters, NewestFirst<OrderId>>,
) -> Result<Page<NumberOrder>, Problem> {
    let account = ctx.principal()?.account_id;
    page_of(&mut ctx, account, listing).await
}

/// The same for the team, of any customer.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
    listing: Listing<OrderFilters, NewestFirst<OrderId>>,
) -> Result<Page<NumberOrder>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    page_of(&mut ctx, customer, listing).await
}

async fn page_of(
    conn: &mut Conn,
    account: AccountId,
    listing: Listing<OrderFilters, NewestFirst<OrderId>>,
) -> Result<Page<NumberOrder>, Problem> {
    let OrderFilters { status, from, to } = listing.filters;
    let from = from.map_or(Time::EPOCH, |Rfc3339(at)| at);
    let before = listing.before_end(to.map(|Rfc3339(at)| at));
    let rows = store::list(conn, account, status, from, before, listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), NumberOrder::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<OrderId>) -> Result<Json<NumberOrderDetail>, Problem> {
    let account = ctx.principal()?.account_id;
    let order = store::find(&mut ctx, id).await?.filter(|order| order.account_id == account);
    let order = order.ok_or_else(Problem::not_found)?;
    let history = store::steps(&mut ctx, id).await?.into_iter().map(OrderStep::from).collect();
    Ok(Json(NumberOrderDetail { order: order.into(), history }))
}

/// Cancels an order that still waits for documents.
pub async fn cancel(ctx: RequestCtx, Path(id): Path<OrderId>) -> Result<Committed<Json<NumberOrder>>, Problem> {
    ctx.audit_note("order_id", id.to_string());
    ctx.commit(id, |tx, id| Box::pin(apply_cancel(tx, *id))).await
}

async fn apply_cancel(tx: &mut Tx<'_>, id: OrderId) -> Result<Json<NumberOrder>, Problem> {
    let (app, account) = (tx.ctx.app.clone(), tx.ctx.principal()?.account_id);
    onboarding::require_active(tx, account).await?;
    let order = store::lock(tx, id).await?.filter(|order| order.account_id == account);
    let mut order = order.ok_or_else(Problem::not_found)?;
    if !order.status.leads_to(OrderStatus::Cancelled) {
        let (current, allowed) = (order.status, OrderStatus::PendingDocuments);
        let detail = format!("The order is {current}; it can be cancelled only while it is {allowed}.");
        return Err(Problem::state_conflict(detail));
    }
    settle::cancel(tx, &app, &mut order).await?;
    Ok(Json(order.into()))
}
