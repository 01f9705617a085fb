//! Places an order: one transaction allocates a number, charges for it and inserts the order.

use super::rules::{OrderStatus, next_try_at};
use super::store::{self, OrderRow, OrderSource};
use super::types::{AreaOrder, NumberOrder, NumberOrderCreate, OrderId};
use crate::inventory::{self, GroupRow, Regulatory};
use crate::rented;
use api::faults::Faults;
use api::idempotency::RequestFingerprint;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use identity::events::{self, EventType};
use identity::{compliance, onboarding};
use platform::ledger::{self, Book, Entry};
use values::{AccountId, Money, TrunkId};

/// How many groups of an area are tried, cheapest first.
const MAX_AREA_GROUPS: i64 = 20;

/// Where the number is taken from.
#[derive(Clone)]
pub enum Selection {
    Group(NumberOrderCreate),
    Area(AreaOrder),
}

/// An order request with its account and idempotency key.
#[derive(Clone)]
pub struct OrderRequest {
    pub account: AccountId,
    pub selection: Selection,
    pub mark: RequestFingerprint,
}

impl OrderRequest {
    fn source(&self) -> OrderSource {
        match self.selection {
            Selection::Group(_) => OrderSource::Group,
            Selection::Area(_) => OrderSource::Area,
        }
    }
}

/// The order of this request: the one that the same idempotency key placed before, or a new one.
pub async fn place(conn: &mut Conn, request: &OrderRequest) -> Result<OrderRow, Problem> {
    let account = &request.account;
    if let Some(existing) = find_placed(conn, request).await? {
        return Ok(existing);
    }
    onboarding::require_approved(conn, *account).await?;
    rented::lock_trunks_shared(conn, *account).await?;
    let (trunk, groups) = trunk_and_groups(conn, request).await?;
    for group in groups {
        if let Some(order) = order_from(conn, request, trunk, &group).await? {
            return Ok(order);
        }
    }
    // The same request, sent twice at once, may have taken the last number.
    find_placed(conn, request).await?.ok_or_else(|| exhausted(&request.selection))
}

/// The order that the same idempotency key placed before.
async fn find_placed(conn: &mut Conn, request: &OrderRequest) -> Result<Option<OrderRow>, Problem> {
    let OrderRequest { account, mark, .. } = request;
    let existing = store::find_by_key(conn, *account, request.source(), mark).await?;
    if let Some(existing) = &existing {
        mark.check_same_body(&existing.request_digest)?;
    }
    Ok(existing)
}

fn exhausted(selection: &Selection) -> Problem {
    Problem::inventory_exhausted(match selection {
        Selection::Group(_) => "No number of this inventory group is free. Order from another group.",
        Selection::Area(_) => "No number of this area is free. See /numbers/inventory for free numbers.",
    })
}

/// The trunk of the number, and the groups to take it from.
async fn trunk_and_groups(conn: &mut Conn, request: &OrderRequest) -> Result<(TrunkId, Vec<GroupRow>), Problem> {
    match &request.selection {
        Selection::Group(NumberOrderCreate { inventory_id, trunk_id }) => {
            let mut faults = Faults::default();
            rented::check_trunk(conn, request.account, *trunk_id, &mut faults).await?;
            let group = inventory::find_group(conn, *inventory_id).await?;
            faults.unless(group.is_some(), "inventory_id", "does not name an inventory group");
            faults.into_result()?;
            Ok((*trunk_id, group.into_iter().collect()))
        }
        Selection::Area(area) => {
            let none = || Problem::state_conflict("The account has no default trunk. Create a trunk first.");
            let trunk = rented::default_trunk(conn, request.account).await?.ok_or_else(none)?;
            Ok((trunk, groups_of_area(conn, area).await?))
        }
    }
}

async fn groups_of_area(conn: &mut Conn, area: &AreaOrder) -> Result<Vec<GroupRow>, DbError> {
    // As given first: in a few countries, such as Italy, the zero belongs to the number.
    let without_zero = area.area_code.strip_prefix('0').filter(|rest| !rest.is_empty());
    for area_code in [Some(area.area_code.as_str()), without_zero].into_iter().flatten() {
        let groups = inventory::groups_of_area(conn, area.country, area.kind, area_code, MAX_AREA_GROUPS).await?;
        if !groups.is_empty() {
            return Ok(groups);
        }
    }
    Ok(Vec::new())
}

/// Orders a number of this group, if one is free.
async fn order_from(
    conn: &mut Conn,
    request: &OrderRequest,
    trunk_id: TrunkId,
    group: &GroupRow,
) -> Result<Option<OrderRow>, Problem> {
    let OrderRequest { account, mark, .. } = request;
    let Some(number) = inventory::allocate(conn, group.id).await? else { return Ok(None) };
    let (id, now): (OrderId, _) = (conn.new_id(), conn.now());
    let is_unregulated = group.regulatory == Regulatory::Api;
    let intake_id = match is_unregulated {
        true => None,
        false => {
            let documents = group.regulatory.required_documents();
            Some(compliance::open_regulatory(conn, *account, id.uuid(), &documents).await?)
        }
    };
    let order = OrderRow {
        id,
        account_id: *account,
        group_id: group.id,
        stock_id: number.id,
        trunk_id,
        e164: number.e164,
        status: if is_unregulated { OrderStatus::Provisioning } else { OrderStatus::PendingDocuments },
        setup: group.setup,
        monthly: group.monthly,
        intake_id,
        failure_reason: None,
        asked_by: request.source(),
        request_key: Some(mark.key),
        request_digest: mark.body_digest.to_vec(),
        // The request itself asks the DID supplier; the job retries if that fails.
        try_at: is_unregulated.then(|| next_try_at(0, now)),
        tries: 0,
        provisioning_at: is_unregulated.then_some(now),
        created_at: now,
        updated_at: now,
    };
    if !store::insert(conn, &order).await? {
        return Err(conn.retry_conflict().into());
    }
    charge(conn, &order).await?;
    inventory::add_free(conn, group.id, -1).await?;
    events::record(conn, *account, EventType::NumberOrdered, &NumberOrder::from(order.clone())).await?;
    Ok(Some(order))
}

/// Charges setup and the first month.
async fn charge(conn: &mut Conn, order: &OrderRow) -> Result<(), Problem> {
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
    ledger::debit(conn, &entry.with_note(note)).await?;
    Ok(())
}
