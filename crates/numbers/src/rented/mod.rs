//! Numbers: what a customer was let, where their calls go, and what they cost each month.
//!
//! A number begins when its order is done and is paid for by the month, from that day on (`renew`). It ends when its
//! customer gives it back or has not paid for it three times, and then goes back to the stock (`hand_back`).

mod hand_back;
mod renew;
mod rules;
mod store;
mod types;

pub use hand_back::{HAND_BACK, hand_back, hand_back_job};
pub use renew::{LOOK_AHEAD, RENEW, look_ahead_job, renew_job};
pub use store::{default_trunk, hold_trunks, is_on_trunk, owns_trunk};

use uuid::Uuid;

use crate::inventory::{NumberCapability, NumberType, Regulatory, StockId};
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::notifications::{NumberActive, notify};
use identity::onboarding;
use platform::app::App;
use rules::end_of_month;
use store::NumberRow;
use types::{Did, DidUpdate, NumberId};
use values::{AccountId, Country, E164, Time, TrunkId, Words};

/// A number that an order came to.
pub struct NewNumber {
    pub account_id: AccountId,
    pub order_id: Uuid,
    pub stock_id: StockId,
    pub trunk_id: TrunkId,
    pub e164: E164,
    pub country: Country,
    pub kind: NumberType,
    pub capabilities: Words<NumberCapability>,
    pub regulatory: Regulatory,
    pub monthly: i64,
}

/// Lets a customer have a number whose first month is paid for.
pub async fn begin(conn: &mut Conn, app: &App, new: NewNumber, now: Time) -> Result<(), DbError> {
    let end = end_of_month(now, 1);
    let number = NumberRow {
        id: NumberId::new(app.entropy.uuid(now)),
        account_id: new.account_id,
        order_id: new.order_id,
        stock_id: new.stock_id,
        trunk_id: new.trunk_id,
        e164: new.e164,
        country: new.country,
        kind: new.kind,
        capabilities: new.capabilities,
        regulatory: new.regulatory,
        monthly: new.monthly,
        since: now,
        months_paid: 1,
        next_renewal_at: end,
        try_at: end,
        failures: 0,
        released_at: None,
    };
    store::insert(conn, &number).await?;
    let news = NumberActive { number_id: number.id.uuid(), order_id: number.order_id, e164: number.e164 };
    notify(conn, app.entropy, number.account_id, &news, now).await
}

/// Where a list goes on.
type Position = (i64, NumberId);

fn resume(after: Option<Position>) -> (Time, NumberId) {
    let (at, id) = after.unwrap_or((i64::MAX, NumberId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

fn position(row: &NumberRow) -> Position {
    (row.since.millis(), row.id)
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, Position>) -> Result<Page<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    let rows = store::list(&mut ctx, account, resume(listing.after), listing.fetch()).await?;
    listing.page(rows, position, Did::from)
}

pub async fn list_of_trunk(
    mut ctx: ReadCtx,
    Path(trunk): Path<TrunkId>,
    listing: Listing<Unfiltered, Position>,
) -> Result<Page<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    if !owns_trunk(&mut ctx, account, trunk).await? {
        return Err(Problem::not_found());
    }
    let rows = store::list_of_trunk(&mut ctx, trunk, resume(listing.after), listing.fetch()).await?;
    listing.page(rows, position, Did::from)
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<NumberId>) -> Result<Json<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    let number = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(number.into()))
}

/// Sends a number's calls to another trunk.
pub async fn change(
    ctx: RequestCtx,
    Path(id): Path<NumberId>,
    Body(wanted): Body<DidUpdate>,
) -> Result<Committed<Json<Did>>, Problem> {
    ctx.audit_note("number_id", id.to_string());
    ctx.commit((id, wanted), |tx, (id, wanted)| Box::pin(rewrite(tx, *id, wanted))).await
}

async fn rewrite(tx: &mut Tx<'_>, id: NumberId, wanted: &DidUpdate) -> Result<Json<Did>, Problem> {
    let account = tx.ctx.principal()?.account_id;
    onboarding::require_approved(tx, account).await?;
    hold_trunks(tx, account).await?;
    let mut number = own(tx, id).await?;
    tx.expect_version(&Did::from(number.clone()))?;
    if !owns_trunk(tx, account, wanted.trunk_id).await? {
        return Err(Problem::invalid("trunk_id", "names no trunk of yours"));
    }
    number.trunk_id = wanted.trunk_id;
    store::move_to_trunk(tx, id, number.trunk_id).await?;
    Ok(Json(number.into()))
}

/// Gives a number back. What is left of its month is not.
pub async fn remove(ctx: RequestCtx, Path(id): Path<NumberId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("number_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (app, now, account) = (tx.ctx.app.clone(), tx.ctx.now, tx.ctx.principal()?.account_id);
            onboarding::require_active(tx, account).await?;
            let number = own(tx, *id).await?;
            release(tx, &app, &number, "its customer gave it back", now).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// The caller's number, held until the commit.
async fn own(tx: &mut Tx<'_>, id: NumberId) -> Result<NumberRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    let number = store::lock(tx, id).await?.filter(|number| number.account_id == account);
    number.ok_or_else(Problem::not_found)
}

/// Ends a number that is locked.
async fn release(conn: &mut Conn, app: &App, number: &NumberRow, reason: &str, now: Time) -> Result<(), DbError> {
    store::release(conn, number.id, reason, now).await?;
    hand_back(conn, app, number.stock_id, &number.e164, number.order_id, now).await
}
