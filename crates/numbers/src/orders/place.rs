//! Taking an order: one transaction that takes a number, charges for it and writes the order down.

use super::rules::{OrderStatus, ask_again};
use super::store::{self, AskedBy, OrderRow};
use super::types::{AreaOrder, NumberOrderCreate, OrderId};
use crate::inventory::{self, GroupRow, NumberType, Regulatory};
use crate::rented;
use api::idempotency::RequestFingerprint;
use api::problem::Problem;
use db::Conn;
use identity::balance::CURRENCY;
use identity::{compliance, onboarding};
use platform::app::App;
use platform::ledger::{self, Book, Entry};
use values::{AccountId, Money, Time, TrunkId};

/// Groups of one area that are tried, those that cost least first.
const GROUPS_AT_MOST: i64 = 20;

/// What is asked for.
#[derive(Clone)]
pub enum Wanted {
    Group(NumberOrderCreate),
    Area(AreaOrder, NumberType),
}

/// Who asks for it, and under which key.
#[derive(Clone)]
pub struct Request {
    pub app: App,
    pub account: AccountId,
    pub wanted: Wanted,
    pub mark: RequestFingerprint,
    pub now: Time,
}

impl Request {
    fn asked_by(&self) -> AskedBy {
        match self.wanted {
            Wanted::Group(_) => AskedBy::Group,
            Wanted::Area(..) => AskedBy::Area,
        }
    }
}

/// The order of this request: the one it began before, or a new one. Either all of it happens or nothing.
pub async fn place(conn: &mut Conn, request: &Request) -> Result<OrderRow, Problem> {
    let Request { account, mark, now, .. } = request;
    if let Some(begun) = store::begun_by(conn, *account, request.asked_by(), mark, *now).await? {
        mark.check_same_body(&begun.request_digest)?;
        return Ok(begun);
    }
    onboarding::require_approved(conn, *account).await?;
    rented::hold_trunks(conn, *account).await?;
    let trunk = trunk(conn, request).await?;
    for group in groups(conn, request).await? {
        if let Some(order) = order_from(conn, request, trunk, &group).await? {
            return Ok(order);
        }
    }
    Err(exhausted(&request.wanted))
}

fn exhausted(wanted: &Wanted) -> Problem {
    Problem::inventory_exhausted(match wanted {
        Wanted::Group(_) => "No number of this group is free any more.",
        Wanted::Area(..) => "No number of this area is free; look at /numbers/inventory for those that are.",
    })
}

async fn trunk(conn: &mut Conn, request: &Request) -> Result<TrunkId, Problem> {
    match &request.wanted {
        Wanted::Group(wanted) => match rented::owns_trunk(conn, request.account, wanted.trunk_id).await? {
            true => Ok(wanted.trunk_id),
            false => Err(Problem::invalid("trunk_id", "names no trunk of yours")),
        },
        Wanted::Area(..) => rented::default_trunk(conn, request.account).await?.ok_or_else(|| {
            Problem::state_conflict("The account has no trunk that the number's calls could go to; make one first.")
        }),
    }
}

async fn groups(conn: &mut Conn, request: &Request) -> Result<Vec<GroupRow>, Problem> {
    match &request.wanted {
        Wanted::Group(wanted) => {
            let group = inventory::group(conn, wanted.inventory_id).await?;
            let unknown = || Problem::invalid("inventory_id", "names no group of numbers");
            group.map(|group| vec![group]).ok_or_else(unknown)
        }
        Wanted::Area(area, kind) => {
            Ok(inventory::groups_of_area(conn, area.country, *kind, &area.area_code, GROUPS_AT_MOST).await?)
        }
    }
}

/// An order of a number of this group, if one is free.
async fn order_from(
    conn: &mut Conn,
    request: &Request,
    trunk_id: TrunkId,
    group: &GroupRow,
) -> Result<Option<OrderRow>, Problem> {
    let Request { app, account, mark, now, .. } = request;
    let Some(number) = inventory::take(conn, group.id, *now).await? else { return Ok(None) };
    let id = OrderId::new(app.entropy.uuid(*now));
    let is_ready = group.regulatory == Regulatory::Api;
    let intake_id = match is_ready {
        true => None,
        false => {
            let documents = group.regulatory.required_documents();
            Some(compliance::open_regulatory(conn, app, *account, id.uuid(), &documents, *now).await?)
        }
    };
    let order = OrderRow {
        id,
        account_id: *account,
        group_id: group.id,
        stock_id: number.id,
        trunk_id,
        e164: number.e164,
        status: if is_ready { OrderStatus::Provisioning } else { OrderStatus::PendingDocuments },
        setup: group.setup,
        monthly: group.monthly,
        intake_id,
        failure_reason: None,
        asked_by: request.asked_by(),
        request_key: Some(mark.key),
        request_digest: mark.body_digest.to_vec(),
        // Whoever asks for the order also asks the carrier; this is for when it cannot.
        try_at: is_ready.then(|| ask_again(0, *now)),
        tries: 0,
        provisioning_at: is_ready.then_some(*now),
        created_at: *now,
        updated_at: *now,
    };
    if !store::insert(conn, &order).await? {
        return Err(conn.retry_conflict().into());
    }
    charge(conn, app, &order, *now).await?;
    inventory::count(conn, group.id, -1).await?;
    Ok(Some(order))
}

/// Setup and the first month.
async fn charge(conn: &mut Conn, app: &App, order: &OrderRow, now: Time) -> Result<(), Problem> {
    let parts = [(Book::NumberSetup, order.setup), (Book::NumberRental, order.monthly)];
    let parts: Vec<(Book, Money)> = parts
        .into_iter()
        .filter(|(_, nanos)| *nanos > 0)
        .map(|(book, nanos)| (book, Money::from_nanos(nanos, CURRENCY)))
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    let entry = Entry::charge(order.account_id, ledger::Kind::NumberOrder, order.id.to_string(), &parts)?;
    let note = format!("{}, setup and first month", order.e164);
    ledger::debit(conn, app.entropy, &entry.with_note(note), now).await?;
    Ok(())
}
