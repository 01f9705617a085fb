//! Saved cards: entered at a checkout, stored at the provider, charged by auto-recharge.
//!
//! The first card of an account becomes its default, and from then on exactly one card is the default. Changes take a
//! lock on the account, so they are made one after the other.

mod store;
mod types;

pub use store::{MethodRow, erase, find, lock, provider_customer_of};

use super::rules::Purpose;
use super::topups::{new_payment, open_checkout};
use super::types::return_url;
use api::answer::{Created, Json, NoContent};
use api::checks::Checked;
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::{Body, Path};
use api::page::{Listing, NewestFirst, Page, Unfiltered};
use api::problem::Problem;
use db::{Conn, DbError};
use identity::{accounts, onboarding};
use platform::outside::payments::{Order, Provider};
use types::{PaymentMethod, PaymentMethodCreateRequest, PaymentMethodCreateResponse, PaymentMethodUpdate};
use values::{AccountId, Change, PaymentMethodId};

/// Saved cards per account.
const MAX_CARDS: i64 = 20;

pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, NewestFirst<PaymentMethodId>>,
) -> Result<Page<PaymentMethod>, Problem> {
    let account = ctx.principal()?.account_id;
    let rows = store::list(&mut ctx, account, listing.before(), listing.fetch()).await?;
    listing.page(rows, |row| (row.created_at, row.id), PaymentMethod::from)
}

/// Opens a checkout to save a card, in the steps of a top-up.
pub async fn create(
    ctx: RequestCtx,
    Body(Checked(request)): Body<Checked<PaymentMethodCreateRequest>>,
) -> Result<Committed<Created<PaymentMethodCreateResponse>>, Problem> {
    let return_url = return_url(&ctx.app, Some(&request.return_url))?;
    let new = new_payment(&ctx, Purpose::Card, None)?;
    let opened = open_checkout(&ctx, new, return_url, |conn, account| Box::pin(check_can_add_card(conn, account)));
    let (id, checkout) = opened.await?;
    ctx.commit((id, checkout), |tx, (id, checkout)| {
        Box::pin(async move {
            super::store::set_order_id(tx, *id, &checkout.order_id).await?;
            Ok(Created(PaymentMethodCreateResponse {
                checkout_url: checkout.checkout_url.clone(),
                order_id: checkout.order_id.clone(),
            }))
        })
    })
    .await
}

async fn check_can_add_card(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    onboarding::require_active(conn, account).await?;
    if store::count(conn, account).await? >= MAX_CARDS {
        return Err(Problem::state_conflict(format!(
            "The account has {MAX_CARDS} saved cards already. Delete one first."
        )));
    }
    Ok(())
}

/// Saves the card of an order, if the provider stored it. The first one becomes the default.
pub async fn save(conn: &mut Conn, account: AccountId, provider: Provider, order: &Order) -> Result<(), DbError> {
    let now = conn.now();
    let Some(saved) = &order.card else {
        tracing::warn!(order_id = order.id, %account, "payment provider did not save the card");
        return Ok(());
    };
    accounts::lock(conn, account).await?;
    let id: PaymentMethodId = conn.new_id();
    let method = MethodRow {
        id,
        account_id: account,
        provider,
        provider_customer: order.customer.clone(),
        token: saved.token.clone(),
        brand: saved.card.brand,
        last4: saved.card.last4.clone(),
        exp_month: saved.card.exp_month,
        exp_year: saved.card.exp_year,
        is_default: !store::has_default(conn, account).await?,
        card: order.paid_with.clone(),
        created_at: now,
    };
    store::insert(conn, &method).await
}

pub async fn update(
    ctx: RequestCtx,
    Path(id): Path<PaymentMethodId>,
    Body(request): Body<PaymentMethodUpdate>,
) -> Result<Committed<Json<PaymentMethod>>, Problem> {
    ctx.audit_note("payment_method_id", id.to_string());
    ctx.commit((id, request), |tx, (id, request)| {
        Box::pin(async move {
            let mut method = lock_own(tx, *id).await?;
            tx.expect_version(&PaymentMethod::from(method.clone()))?;
            match request.is_default {
                Change::Set(true) if !method.is_default => {
                    store::make_default(tx, method.account_id, method.id).await?;
                    method.is_default = true;
                }
                Change::Set(false) if method.is_default => {
                    return Err(Problem::state_conflict(
                        "This card is the default. Make another card the default instead.",
                    ));
                }
                _ => {}
            }
            Ok(Json(method.into()))
        })
    })
    .await
}

pub async fn delete(ctx: RequestCtx, Path(id): Path<PaymentMethodId>) -> Result<Committed<NoContent>, Problem> {
    ctx.audit_note("payment_method_id", id.to_string());
    ctx.commit(id, |tx, id| {
        Box::pin(async move {
            let method = lock_own(tx, *id).await?;
            if method.is_default && store::count(tx, method.account_id).await? > 1 {
                return Err(Problem::resource_in_use("This card is the default. Make another card the default first."));
            }
            if store::is_auto_recharge_card(tx, &method).await? {
                return Err(Problem::resource_in_use(
                    "Auto-recharge charges this card. Choose another card for it, or switch it off, first.",
                ));
            }
            if store::is_being_charged(tx, *id).await? {
                return Err(Problem::resource_in_use("This card is being charged. Try again in a few minutes."));
            }
            store::clear_from_auto_recharge(tx, &method).await?;
            store::delete(tx, *id).await?;
            Ok(NoContent)
        })
    })
    .await
}

/// The caller's card, locked until the commit together with the account's other cards.
async fn lock_own(tx: &mut Tx<'_>, id: PaymentMethodId) -> Result<MethodRow, Problem> {
    let account = tx.ctx.principal()?.account_id;
    onboarding::require_active(tx, account).await?;
    accounts::lock(tx, account).await?;
    let method = store::lock(tx, id).await?;
    method.filter(|method| method.account_id == account).ok_or_else(Problem::not_found)
}
