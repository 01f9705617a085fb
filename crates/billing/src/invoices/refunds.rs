//! Refunds after the month of a charge was invoiced, of number orders that fail and of calls that customers dispute:
//! nothing is refunded twice, and VAT is refunded at the rate at which it was charged.
//!
//! An order or a call is invoiced in the month it was charged. If it is refunded later, the refund is on the invoice of
//! that later month, at the rate of the first invoice. If the first invoice was credited before, the credit note returned the
//! money and there is no refund; if it is credited afterwards, the credit note covers the rest. If the first invoice is
//! void, its VAT was returned with that, and no invoice lists the refund. If it is voided after the later invoice
//! returned that VAT, nothing is left to return, until the later invoice is voided or credited too.

use std::collections::BTreeMap;
use std::ops::Range;

use uuid::Uuid;

use super::month::Month;
use super::rules::InvoiceStatus;
use super::store::{self, InvoiceRow, RefundedCharge};
use crate::vat::Decision;
use api::problem::Problem;
use db::{Conn, DbError};
use identity::balance::CURRENCY;
use platform::ledger::{self, Kind};
use values::{AccountId, Currency, Money, Time};

const BATCH: i64 = 500;
const BEGINNING: Time = Time::from_millis(i64::MIN);
const END: Time = Time::from_millis(i64::MAX);

/// What is refunded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refunded {
    /// A number order that failed.
    Number,
    /// A call that the customer disputed.
    Call,
}

impl Refunded {
    fn kind(self) -> Kind {
        match self {
            Refunded::Number => Kind::NumberRefund,
            Refunded::Call => Kind::CallCredit,
        }
    }
}

/// A refund, without VAT.
struct Refund {
    what: Refunded,
    net: Money,
    charged_at: Time,
    refunded_at: Time,
}

/// A refund at another VAT rate than that of the month it happened in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CarriedRefund {
    pub what: Refunded,
    /// The refunded amount; positive.
    pub net: Money,
    /// The VAT it was charged with; none if no invoice may list it.
    pub vat: Option<Decision>,
}

/// Whether a credit note returned what was charged at that time. Locks the month's invoice, so it cannot be credited
/// meanwhile.
pub async fn was_credited(conn: &mut Conn, account: AccountId, charged_at: Time) -> Result<bool, DbError> {
    let invoice = store::lock_month(conn, account, CURRENCY, Month::of(charged_at)).await?;
    Ok(invoice.is_some_and(|invoice| invoice.status == InvoiceStatus::Credited))
}

/// What was refunded of an invoice after its month.
pub async fn refunded_since(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let refunds = for_invoice(conn, invoice).await?;
    total(refunds.iter(), invoice.currency)
}

/// The part of that for which a later invoice that is in force has returned the VAT.
pub async fn invoiced_since(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let mut invoiced = Vec::new();
    for refund in for_invoice(conn, invoice).await? {
        let (account, month) = (invoice.account_id, Month::of(refund.refunded_at));
        let later = store::lock_month(conn, account, invoice.currency, month).await?;
        if later.is_some_and(|later| later.status.is_in_force()) {
            invoiced.push(refund);
        }
    }
    total(invoiced.iter(), invoice.currency)
}

/// The VAT that an invoice returned for charges of earlier months whose invoices were voided afterwards. Once it is
/// voided or credited itself, nothing else returns this VAT.
pub async fn vat_of_void_months(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Money, Problem> {
    let InvoiceRow { account_id, currency, month, .. } = *invoice;
    let mut nets: BTreeMap<Month, Money> = BTreeMap::new();
    for Refund { net, charged_at, .. } in
        refunds(conn, account_id, currency, BEGINNING..month.start(), month.start()..month.end()).await?
    {
        let sum = nets.entry(Month::of(charged_at)).or_insert(Money::zero(currency));
        *sum = sum.add(net).map_err(Problem::internal)?;
    }
    let mut vat = Money::zero(currency);
    for (charged, net) in nets {
        let first = store::lock_month(conn, account_id, currency, charged).await?;
        let Some(first) = first.filter(|first| first.status == InvoiceStatus::Void) else { continue };
        // If voiding the first invoice posted nothing, all of its VAT had been returned before.
        let voided = ledger::find(conn, Kind::InvoiceVoid, &first.id.to_string()).await?;
        if voided.is_none_or(|line| line.at > invoice.created_at) {
            vat = first.facts.rate.on(net).and_then(|more| vat.add(more)).map_err(Problem::internal)?;
        }
    }
    Ok(vat)
}

/// Refunds of a month for charges of earlier months that were at another rate, or that no invoice may list.
pub async fn carried_refunds(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    month: Month,
    today: Decision,
) -> Result<Vec<CarriedRefund>, Problem> {
    let mut carried = Vec::new();
    let refunds = refunds(conn, account, currency, BEGINNING..month.start(), month.start()..month.end()).await?;
    for Refund { what, net, charged_at, .. } in refunds {
        let first = store::lock_month(conn, account, currency, Month::of(charged_at)).await?;
        let vat = match first {
            Some(invoice) if invoice.status == InvoiceStatus::Void => None,
            Some(invoice) => Some(Decision { category: invoice.facts.category, rate: invoice.facts.rate }),
            None => Some(today),
        };
        if vat != Some(today) {
            carried.push(CarriedRefund { what, net, vat });
        }
    }
    Ok(carried)
}

async fn for_invoice(conn: &mut Conn, invoice: &InvoiceRow) -> Result<Vec<Refund>, Problem> {
    let InvoiceRow { account_id, currency, month, .. } = *invoice;
    refunds(conn, account_id, currency, month.start()..month.end(), month.end()..END).await
}

async fn refunds(
    conn: &mut Conn,
    account: AccountId,
    currency: Currency,
    charged: Range<Time>,
    refunded: Range<Time>,
) -> Result<Vec<Refund>, Problem> {
    let mut refunds = Vec::new();
    if currency != CURRENCY {
        return Ok(refunds);
    }
    for what in [Refunded::Number, Refunded::Call] {
        let mut after = Uuid::nil();
        loop {
            let (charged, refunded) = (charged.clone(), refunded.clone());
            let page = match what {
                Refunded::Number => store::list_failed_orders(conn, account, charged, refunded, after, BATCH).await?,
                Refunded::Call => store::list_credited_calls(conn, account, charged, refunded, after, BATCH).await?,
            };
            for RefundedCharge { id, charged_at, refunded_at } in &page {
                after = *id;
                // An order whose invoice was credited has no refund.
                if let Some(line) = ledger::find(conn, what.kind(), &id.to_string()).await? {
                    let (charged_at, refunded_at) = (*charged_at, *refunded_at);
                    refunds.push(Refund { what, net: line.amount, charged_at, refunded_at });
                }
            }
            if i64::try_from(page.len()).is_ok_and(|length| length < BATCH) {
                break;
            }
        }
    }
    Ok(refunds)
}

fn total<'r>(refunds: impl Iterator<Item = &'r Refund>, currency: Currency) -> Result<Money, Problem> {
    refunds.map(|refund| refund.net).try_fold(Money::zero(currency), Money::add).map_err(Problem::internal)
}
