//! Rented numbers: the DIDs of a customer, the trunk of each, and the monthly renewals.
//!
//! A rental starts when its order becomes active and renews every month from that day (`renew`). It ends when the
//! customer releases the number or after three failed renewals in a row; the number then returns to the inventory,
//! after the DID supplier has deactivated it (`return_to_supplier`).

mod renew;
mod return_to_supplier;
mod rules;
mod search;
mod store;
mod types;

pub use renew::{RENEW, RENEWAL_REMINDER, renew_job, renewal_reminder_job};
pub use return_to_supplier::{RETURN_TO_SUPPLIER, return_to_supplier, return_to_supplier_job};
pub use store::{default_trunk, is_on_trunk, lock_trunks_shared};

use uuid::Uuid;

use crate::inventory::{NumberCapability, NumberType, Regulatory, StockId};
use api::answer::{Json, NoContent};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::faults::Faults;
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::events::{self, EventType};
use identity::names::Names;
use identity::notifications::{NumberActive, notify};
use identity::onboarding;
use platform::app::App;
use rules::add_months;
use search::NumberCursor;
use store::NumberRow;
pub use types::Did;
use types::{DidUpdate, NumberFilters, NumberId};
use values::{AccountId, Country, E164, TrunkId, Words};

/// The number of an order that became active.
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

/// Starts the rental of a number; the order has paid the first month.
pub async fn start_rental(conn: &mut Conn, new: NewNumber) -> Result<(), DbError> {
    let now = conn.now();
    let paid_until = add_months(now, 1);
    let number = NumberRow {
        id: conn.new_id(),
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
        next_renewal_at: paid_until,
        try_at: paid_until,
        failures: 0,
        released_at: None,
    };
    store::insert(conn, &number).await?;
    let account = number.account_id;
    let notification =
        NumberActive { number_id: number.id.uuid(), order_id: number.order_id, e164: number.e164.clone() };
    notify(conn, account, &notification).await?;
    events::record(conn, account, EventType::NumberActive, &Did::from(number)).await?;
    Ok(())
}

pub async fn list(mut ctx: ReadCtx, listing: Listing<NumberFilters, NumberCursor>) -> Result<Page<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    page_of(&mut ctx, account, listing).await
}

/// The same for the team, of any customer.
pub async fn list_of_customer(
    mut ctx: ReadCtx,
    Path(customer): Path<AccountId>,
    listing: Listing<NumberFilters, NumberCursor>,
) -> Result<Page<Did>, Problem> {
    onboarding::require_customer(&mut ctx, customer).await?;
    page_of(&mut ctx, customer, listing).await
}

async fn page_of(
    conn: &mut Conn,
    account: AccountId,
    listing: Listing<NumberFilters, NumberCursor>,
) -> Result<Page<Did>, Problem> {
    let page = search::page(conn, account, &listing.filters, listing.after.as_ref(), listing.limit as usize).await?;
    let names = Names::of_trunks(conn, page.rows.iter().map(|row| row.trunk_id)).await?;
    listing.page_with_next(page.rows, page.next, |row| Did { trunk_name: names.get(row.trunk_id.uuid()), ..row.into() })
}

pub async fn list_of_trunk(
    mut ctx: ReadCtx,
    Path(trunk): Path<TrunkId>,
    listing: Listing<Unfiltered, NewestFirst<NumberId>>,
) -> Result<Page<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    if !store::owns_trunk(&mut ctx, account, trunk).await? {
        return Err(Problem::not_found());
    }
    let rows = store::list_of_trunk(&mut ctx, trunk, listing.before(), listing.fetch()).await?;
    let names = Names::of_trunks(&mut ctx, [trunk]).await?;
    listing.page(
        rows,
        |row| (row.since, row.id),
        |row| Did { trunk_name: names.get(row.trunk_id.uuid()), ..row.into() },
    )
}

pub async fn show(mut ctx: ReadCtx, Path(id): Path<NumberId>) -> Result<Json<Did>, Problem> {
    let account = ctx.principal()?.account_id;
    let number = store::find(&mut ctx, account, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(number.into()))
}

/// Checks that a request names a trunk of this account.
pub async fn check_trunk(
    conn: &mut Conn,
    account: AccountId,
    trunk: TrunkId,
    faults: &mut Faults,
) -> Result<(), DbError> {
    let is_own = store::owns_trunk(conn, account, trunk).await?;
    faults.unless(is_own, "trunk_id", "does not name a trunk of this account");
    Ok(())
}

/// Moves a number to another trunk.
pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<NumberId>,
    Body(update): Body<DidUpdate>,
) -> Result<Committed<Json<Did>>, Problem> {
    ctx.audit_note("number_id", id.to_string());
    ctx.commit((id, update), |tx, (id, update)| Box::pin(apply_update(tx, *id, update))).await
}

async fn apply_update(tx: &mut Tx<'_>, id: NumberId, update: &DidUpdate) -> Result<Json<Did>, Problem> {
    let account = tx.ctx.principal()?.account_id;
    onboarding::require_approved(tx, account).await?;
    lock_trunks_shared(tx, account).await?;
    let mut number = lock_own(tx, id).await?;
    tx.expect_version(&Did::from(number.clone()))?;
    let mut faults = Faults::default();
    check_trunk(tx, account, update.trunk_id, &mut faults).await?;
    faults.into_result()?;
    number.trunk_id = update.trunk_id;
    store::move_to_trunk(tx, id, number.trunk_id).await?;
    Ok(Json(number.into()))
}

/// Releases a number. The rest of its month is not refunded.
pub async fn delete(ctx: RequestCtx, Path(id): Path<NumberId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("number_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let (app, account) = (tx.ctx.app.clone(), tx.ctx.principal()?.account_id);
            onboarding::require_active(tx, account).await?;
            let number = lock_own(tx, *id).await?;
            release(tx, &app, &number, "released by the customer").await?;
            Ok(NoContent)
        })
    })
    .await
}

/// The caller's number, locked until the commit.
async fn lock_own(tx: &mut Tx<'_>, id: NumberId) -> Result<NumberRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    let number = store::lock(tx, id).await?.filter(|number| number.account_id == account);
    number.ok_or_else(Problem::not_found)
}

/// Ends the rental of a locked number.
async fn release(conn: &mut Conn, app: &App, number: &NumberRow, reason: &str) -> Result<(), DbError> {
    store::release(conn, number.id, reason).await?;
    events::record(conn, number.account_id, EventType::NumberReleased, &Did::from(number.clone())).await?;
    return_to_supplier(conn, app, number.stock_id, &number.e164, number.order_id).await
}
