//! Ends an order: with a rented number, or with a refund.

use super::rules::{OrderStatus, next_try_at};
use super::store::{self, OrderRow};
use super::types::OrderId;
use crate::inventory;
use crate::rented::{self, NewNumber};
use api::problem::Problem;
use billing::invoices;
use db::Conn;
use identity::balance::CURRENCY;
use identity::compliance;
use identity::notifications::{NumberFailed, notify};
use platform::app::App;
use platform::ledger::{self, Book, Entry};
use platform::outside::did_supplier::Activation;
use values::Money;

/// Applies the response of the DID supplier to an order. An order that has ended stays as it is.
pub async fn settle(conn: &mut Conn, app: &App, id: OrderId, activation: &Activation) -> Result<(), Problem> {
    let now = conn.now();
    let order = store::lock(conn, id).await?.ok_or_else(Problem::not_found)?;
    if order.status != OrderStatus::Provisioning {
        return Ok(());
    }
    match activation {
        Activation::Active => activate(conn, order).await,
        Activation::Pending => Ok(store::schedule_retry(conn, id, next_try_at(order.tries, now)).await?),
        Activation::Refused(reason) => fail(conn, app, order, reason, NumberReturn::Withdrawn).await,
    }
}

async fn activate(conn: &mut Conn, mut order: OrderRow) -> Result<(), Problem> {
    let group = inventory::find_group(conn, order.group_id).await?.ok_or_else(Problem::not_found)?;
    let number = NewNumber {
        account_id: order.account_id,
        order_id: order.id.uuid(),
        stock_id: order.stock_id,
        trunk_id: order.trunk_id,
        e164: order.e164.clone(),
        country: group.country,
        kind: group.kind,
        capabilities: group.capabilities,
        regulatory: group.regulatory,
        monthly: order.monthly,
    };
    rented::start_rental(conn, number).await?;
    order.status = OrderStatus::Active;
    order.try_at = None;
    Ok(store::update_status(conn, &order).await?)
}

/// Where the number of a failed or cancelled order goes.
#[derive(Clone, Copy)]
pub enum NumberReturn {
    /// The DID supplier was not asked: the number is free again.
    Free,
    /// The DID supplier refused it: the number is withdrawn until the team offers it again.
    Withdrawn,
    /// The DID supplier may have activated it: it must be deactivated first.
    ToSupplier,
}

/// Fails a locked order and refunds it.
pub async fn fail(
    conn: &mut Conn,
    app: &App,
    mut order: OrderRow,
    reason: &str,
    number_return: NumberReturn,
) -> Result<(), Problem> {
    order.status = OrderStatus::Failed;
    order.failure_reason = Some(reason.to_owned());
    let refunded = refund(conn, app, &mut order, number_return).await?;
    let (order_id, e164) = (order.id.uuid(), order.e164);
    let notification = NumberFailed { order_id, e164, reason: reason.to_owned(), refunded };
    Ok(notify(conn, order.account_id, &notification).await?)
}

/// Cancels a locked order for the customer and refunds it.
pub async fn cancel(conn: &mut Conn, app: &App, order: &mut OrderRow) -> Result<(), Problem> {
    order.status = OrderStatus::Cancelled;
    refund(conn, app, order, NumberReturn::Free).await.map(drop)
}

/// Stores the final status, refunds the charge and then returns the number.
async fn refund(
    conn: &mut Conn,
    app: &App,
    order: &mut OrderRow,
    number_return: NumberReturn,
) -> Result<Money, Problem> {
    order.try_at = None;
    store::update_status(conn, order).await?;
    if let Some(intake) = order.intake_id {
        compliance::close(conn, intake, "The number order has ended.").await?;
    }
    let mut charged = Money::from_nanos(order.setup.saturating_add(order.monthly), CURRENCY);
    if charged.is_positive() && invoices::was_credited(conn, order.account_id, order.created_at).await? {
        // The credit note of its invoice has refunded it already.
        charged = Money::zero(CURRENCY);
    }
    if charged.is_positive() {
        let (kind, name) = (ledger::Kind::NumberRefund, order.id.to_string());
        let entry = Entry::credit(order.account_id, kind, name, &[(Book::Refunds, charged)])?;
        ledger::credit(conn, &entry.with_note(format!("{}, not delivered", order.e164))).await?;
    }
    match number_return {
        NumberReturn::Free => inventory::return_to_inventory(conn, order.stock_id).await?,
        NumberReturn::Withdrawn => inventory::withdraw(conn, order.stock_id).await?,
        NumberReturn::ToSupplier => {
            rented::return_to_supplier(conn, app, order.stock_id, &order.e164, order.id.uuid()).await?;
        }
    }
    Ok(charged)
}
