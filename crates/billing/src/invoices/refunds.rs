//! Number orders that came to nothing after their month was invoiced: nothing goes back twice, and the VAT goes back at
//! the rate at which it was charged.
//!
//! An order is invoiced in the month it was placed in. Should it fail later, its refund is part of the invoice of that
//! later month, at the rate of the first invoice. If that one was credited before, the money went back with it and there
//! is no refund; if it is credited afterwards, the credit note is for the rest. If it is void, its VAT went back with
//! that, and no invoice speaks of the refund. If it becomes void after the later one gave that VAT back, there is nothing
//! left to give, until the later one is void or credited too.

use std::collections::BTreeMap;
use std::ops::Range;

use uuid::Uuid;

use super::month::Month;
use super::rules::InvoiceStatus;
use super::store::{self, InvoiceRow};
use crate::vat::Decision;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use platform::ledger::{self, Kind};
use values::{AccountId, Currency, Money, Time};

const BATCH: i64 = 500;
const BEGINNING: Time = Time::from_millis(i64::MIN);
const END: Time = Time::from_millis(i64::MAX);

/// A refund of an order, which had cost as much.
struct Refund {
    net: Money,
    ordered_at: Time,
    ended_at: Time,
}

/// A refund that is not at the rate of the month it happened in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// What went back, above zero.
    pub net: Money,
    /// At which rate it was charged; none if no invoice is to speak of it.
    pub vat: Option<Decision>,
}

/// Whether what was charged then went back with a credit note. Nobody credits that month's invoice before we commit.
pub async fn was_credited(conn: &mut Conn, account: AccountId, charged_at: Time) -> Result<bool, DbError> {
    let invoice = store::find_month_to_change(conn, account, CURRENCY, Month::of(charged_at)).await?;
    Ok(invoice.is_some_and(|invoice| invoice.status == InvoiceStatus::Credited))
}

/// What was refunded of an invoice after its month.
pub async fn since(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let refunds = of_invoice(conn, invoice).await?;
    total(refunds.iter(), invoice.currency)
}

/// What of it an invoice of a later month that is in force has given the VAT back for.
pub async fn invoiced_since(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let mut invoiced = Vec::new();
    for refund in of_invoice(conn, invoice).await? {
        let (account, month) = (invoice.account_id, Month::of(refund.ended_at));
        let later = store::find_month_to_change(conn, account, invoice.currency, month).await?;
        if later.is_some_and(|later| later.status.is_in_force()) {
            invoiced.push(refund);
        }
    }
    total(invoiced.iter(), invoice.currency)
}

/// The VAT that an invoice gave back for orders of earlier months whose invoices became void afterwards. Once it is taken
/// back itself, nothing else gives this VAT back.
pub async fn vat_of_void(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let InvoiceRow { account_id, currency, month, .. } = *invoice;
    let mut nets: BTreeMap<Month, Money> = BTreeMap::new();
    for Refund { net, ordered_at, .. } in
        refunds(conn, account_id, currency, BEGINNING..month.start(), month.start()..month.end()).await?
    {
        let sum = nets.entry(Month::of(ordered_at)).or_insert(Money::zero(currency));
        *sum = sum.add(net).map_err(Problem::internal)?;
    }
    let mut vat = Money::zero(currency);
    for (ordered, net) in nets {
        let first = store::find_month_to_change(conn, account_id, currency, ordered).await?;
        let Some(first) = first.filter(|first| first.status == InvoiceStatus::Void) else { continue };
        // Where nothing went back with the void invoice, all of it had gone back before.
        let voided = ledger::find(conn, Kind::InvoiceVoid, &first.id.to_string()).await?;
        if voided.is_none_or(|line| line.at > invoice.created_at) {
            vat = first.facts.rate.on(net).and_then(|more| vat.add(more)).map_err(Problem::internal)?;
        }
    }
    Ok(vat)
}

/// The refunds of a month for orders of earlier ones that were charged at another rate than this, or are not invoiced.
pub async fn carried(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    month: Month,
    today: Decision,
) -> Result<Vec<Carried>, Problem> {
    let mut carried = Vec::new();
    let refunds = refunds(conn, account, currency, BEGINNING..month.start(), month.start()..month.end()).await?;
    for Refund { net, ordered_at, .. } in refunds {
        let first = store::find_month_to_change(conn, account, currency, Month::of(ordered_at)).await?;
        let vat = match first {
            Some(invoice) if invoice.status == InvoiceStatus::Void => None,
            Some(invoice) => Some(Decision { category: invoice.facts.category, rate: invoice.facts.rate }),
            None => Some(today),
        };
        if vat != Some(today) {
            carried.push(Carried { net, vat });
        }
    }
    Ok(carried)
}

async fn of_invoice(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Vec<Refund>, Problem> {
    let InvoiceRow { account_id, currency, month, .. } = *invoice;
    refunds(conn, account_id, currency, month.start()..month.end(), month.end()..END).await
}

async fn refunds(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    ordered: Range<Time>,
    ended: Range<Time>,
) -> Result<Vec<Refund>, Problem> {
    let (mut refunds, mut after) = (Vec::new(), Uuid::nil());
    if currency != CURRENCY {
        return Ok(refunds);
    }
    loop {
        let page = store::undone_orders(conn, account, ordered.clone(), ended.clone(), after, BATCH).await?;
        for order in &page {
            after = order.id;
            // One whose invoice was credited has none.
            if let Some(line) = ledger::find(conn, Kind::NumberRefund, &order.id.to_string()).await? {
                refunds.push(Refund { net: line.amount, ordered_at: order.ordered_at, ended_at: order.ended_at });
            }
        }
        if i64::try_from(page.len()).is_ok_and(|length| length < BATCH) {
            return Ok(refunds);
        }
    }
}

fn total<'r>(refunds: impl Iterator<Item = &'r Refund>, currency: Currency) -> Result<Money, Problem> {
    refunds.map(|refund| refund.net).try_fold(Money::zero(currency), Money::add).map_err(Problem::internal)
}
