//! How an order ends: with a number, or with its money back.

use super::rules::{OrderStatus, ask_again};
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
use values::{Money, Time};

/// Takes note of what the carrier says of an order. One that has ended stays as it is.
pub async fn settle(
    conn: &mut Conn,
    app: &App,
    id: OrderId,
    activation: &Activation,
    now: Time,
) -> Result<(), Problem> {
    let order = store::lock(conn, id).await?.ok_or_else(Problem::not_found)?;
    if order.status != OrderStatus::Provisioning {
        return Ok(());
    }
    match activation {
        Activation::Active => activate(conn, app, order, now).await,
        Activation::Pending => Ok(store::try_later(conn, id, ask_again(order.tries, now)).await?),
        Activation::Refused(reason) => fail(conn, app, order, reason, Fate::Withdrawn, now).await,
    }
}

async fn activate(conn: &mut Conn, app: &App, mut order: OrderRow, now: Time) -> Result<(), Problem> {
    let group = inventory::group(conn, order.group_id).await?.ok_or_else(Problem::not_found)?;
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
    rented::begin(conn, app, number, now).await?;
    order.status = OrderStatus::Active;
    order.try_at = None;
    Ok(store::move_on(conn, &order, now).await?)
}

/// What becomes of the number of an order that came to nothing.
#[derive(Clone, Copy)]
pub enum Fate {
    /// Nobody was told of it: it is free again.
    Free,
    /// The carrier does not want it let: it waits until the team has looked at it.
    Withdrawn,
    /// The carrier may have let it work, and has to hear that it is not needed.
    HandedBack,
}

/// Ends an order that is locked with its money back.
pub async fn fail(
    conn: &mut Conn,
    app: &App,
    mut order: OrderRow,
    reason: &str,
    fate: Fate,
    now: Time,
) -> Result<(), Problem> {
    order.status = OrderStatus::Failed;
    order.failure_reason = Some(reason.to_owned());
    let refunded = undo(conn, app, &mut order, fate, now).await?;
    let (order_id, e164) = (order.id.uuid(), order.e164);
    let news = NumberFailed { order_id, e164, reason: reason.to_owned(), refunded };
    Ok(notify(conn, app.entropy, order.account_id, &news, now).await?)
}

/// Ends an order that is locked because its customer does not want it any more.
pub async fn cancel(conn: &mut Conn, app: &App, order: &mut OrderRow, now: Time) -> Result<(), Problem> {
    order.status = OrderStatus::Cancelled;
    undo(conn, app, order, Fate::Free, now).await.map(drop)
}

/// Moves the order to its end, and gives back what it took: the money, and then the number.
async fn undo(conn: &mut Conn, app: &App, order: &mut OrderRow, fate: Fate, now: Time) -> Result<Money, Problem> {
    order.try_at = None;
    store::move_on(conn, order, now).await?;
    if let Some(intake) = order.intake_id {
        compliance::close(conn, intake, "The order that it was for has ended.", now).await?;
    }
    let mut charged = Money::from_nanos(order.setup.saturating_add(order.monthly), CURRENCY);
    if charged.is_positive() && invoices::was_credited(conn, order.account_id, order.created_at).await? {
        // It went back with the invoice that it was on.
        charged = Money::zero(CURRENCY);
    }
    if charged.is_positive() {
        let (kind, name) = (ledger::Kind::NumberRefund, order.id.to_string());
        let entry = Entry::credit(order.account_id, kind, name, &[(Book::Refunds, charged)])?;
        ledger::credit(conn, app.entropy, &entry.with_note(format!("{}, not delivered", order.e164)), now).await?;
    }
    match fate {
        Fate::Free => inventory::give_back(conn, order.stock_id, now).await?,
        Fate::Withdrawn => inventory::withdraw(conn, order.stock_id, now).await?,
        Fate::HandedBack => {
            rented::hand_back(conn, app, order.stock_id, &order.e164, order.id.uuid(), now).await?;
        }
    }
    Ok(charged)
}
