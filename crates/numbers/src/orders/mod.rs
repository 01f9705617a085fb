//! Number orders: from a group of numbers to a number of one's own.
//!
//! One transaction takes a number from the stock, charges setup and the first month, and writes the order down (`place`).
//! Where the country demands documents the order waits for them (`documents`). Then the carrier is asked to let the
//! number work, outside of any transaction and under the order's id (`provision`), and what it says ends the order
//! once: with a number, or with all of its money back (`settle`). `rules` holds the table of states.
//!
//! A request whose carrier is away hears so; its order goes on, and the same request made again hears how.

mod documents;
mod place;
mod provision;
mod rules;
mod settle;
mod store;
mod types;

pub use documents::{EXPIRE, decided_job, expire_job};
pub use provision::{PROVISION, provision_job};

use uuid::Uuid;

use crate::inventory::NumberType;
use api::answer::{Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use identity::onboarding;
use place::{Request, Wanted, place};
use platform::outside::did_supplier::Activation;
use rules::OrderStatus;
use types::{AreaOrder, NumberOrder, NumberOrderCreate, NumberOrderDetail, OrderId, OrderStep};
use values::Time;

pub async fn create(
    ctx: RequestCtx,
    Body(wanted): Body<NumberOrderCreate>,
) -> Result<Committed<Created<NumberOrder>>, Problem> {
    order(ctx, Wanted::Group(wanted)).await
}

/// Any number of an area.
pub async fn create_in_area(
    ctx: RequestCtx,
    Body(wanted): Body<AreaOrder>,
) -> Result<Committed<Created<NumberOrder>>, Problem> {
    let kind = NumberType::from_alias(&wanted.kind).map_err(|invalid| Problem::invalid("type", invalid.to_string()))?;
    order(ctx, Wanted::Area(wanted, kind)).await
}

async fn order(ctx: RequestCtx, wanted: Wanted) -> Result<Committed<Created<NumberOrder>>, Problem> {
    let (app, now) = (ctx.app.clone(), ctx.now);
    let request =
        Request { app: app.clone(), account: ctx.principal()?.account_id, wanted, mark: ctx.fingerprint()?, now };
    let order = app.db.tx(request, |conn, request| Box::pin(place(conn, request))).await?;
    ctx.audit_note("order_id", order.id.to_string());
    ctx.audit_note("number", order.e164.to_string());
    let activation = match order.status {
        OrderStatus::Provisioning => Some(ask_carrier(&ctx, &order).await?),
        _ => None,
    };
    ctx.commit((order.id, activation), |tx, (id, activation)| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            if let Some(activation) = activation {
                settle::settle(tx, &app, *id, activation, now).await?;
            }
            let order = store::find(tx, *id).await?.ok_or_else(Problem::not_found)?;
            Ok(Created(order.into()))
        })
    })
    .await
}

async fn ask_carrier(ctx: &RequestCtx, order: &store::OrderRow) -> Result<Activation, Problem> {
    ctx.app.did_supplier.activate(&order.e164, order.id.uuid()).await.map_err(|error| {
        tracing::warn!(%error, request_id = ctx.request_id, "the carrier of a number does not answer");
        Problem::upstream_unavailable(
            "The carrier does not answer. The order goes on by itself; ask again with the same Idempotency-Key.",
        )
    })
}

/// Where a list goes on.
type Position = (i64, OrderId);

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Position>) -> Result<Page<NumberOrder>, Problem> {
    let account = ctx.principal()?.account_id;
    let (at, id) = listing.after.unwrap_or((i64::MAX, OrderId::new(Uuid::max())));
    let rows = store::list(&mut ctx, account, (Time::from_millis(at), id), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at.millis(), row.id), NumberOrder::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<OrderId>) -> Result<Json<NumberOrderDetail>, Problem> {
    let account = ctx.principal()?.account_id;
    let order = store::find(&mut ctx, id).await?.filter(|order| order.account_id == account);
    let order = order.ok_or_else(Problem::not_found)?;
    let history = store::steps(&mut ctx, id).await?.into_iter().map(OrderStep::from).collect();
    Ok(Json(NumberOrderDetail { order: order.into(), history }))
}

/// Takes an order back that still waits for documents.
pub async fn cancel(ctx: RequestCtx, Path(id): Path<OrderId>) -> Result<Committed<Json<NumberOrder>>, Problem> {
    ctx.audit_note("order_id", id.to_string());
    ctx.commit(id, |tx, id| Box::pin(take_back(tx, *id))).await
}

async fn take_back(tx: &mut Tx<'_>, id: OrderId) -> Result<Json<NumberOrder>, Problem> {
    let (app, now, account) = (tx.ctx.app.clone(), tx.ctx.now, tx.ctx.principal()?.account_id);
    onboarding::require_active(tx, account).await?;
    let order = store::lock(tx, id).await?.filter(|order| order.account_id == account);
    let mut order = order.ok_or_else(Problem::not_found)?;
    if !order.status.leads_to(OrderStatus::Cancelled) {
        let (current, allowed) = (order.status, OrderStatus::PendingDocuments);
        let detail = format!("The order is {current}; it can be cancelled only while it is {allowed}.");
        return Err(Problem::state_conflict(detail));
    }
    settle::cancel(tx, &app, &mut order, now).await?;
    Ok(Json(order.into()))
}
