//! Dunning: customers with a negative balance, an unpaid invoice or a failed auto-recharge (`/admin/dunning`).
//!
//! A feature calls [`raise`] in the transaction that finds a reason, and [`clear`] when it is over. Reasons are rows of
//! their own rather than a query over balances, invoices and recharges: a balance changes with every call, and an index
//! on it would slow down every call.

mod store;

pub use store::{DunningReasonCode as Reason, clear, raise};

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use api::context::ReadCtx;
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use identity::accounts::OnboardingStatus;
use identity::balance::CURRENCY;
use platform::ledger;
use store::Debtor;
use values::{AccountId, Email, ExactMoney, Money, Rfc3339, Text, Time};

/// A customer in dunning, with its reasons.
#[derive(Serialize, JsonSchema)]
pub struct AdminDunning {
    /// Id of the customer's account.
    pub id: Uuid,
    /// Id of the customer's account, again, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; the same as `company_name`.
    pub customer_name: Text<1, 200>,
    /// Name of the customer's company.
    pub company_name: Text<1, 200>,
    /// Email address of the customer's contact.
    pub contact_email: Email,
    /// Onboarding status of the account.
    pub onboarding_status: OnboardingStatus,
    /// Account manager of the customer; null when none is assigned.
    pub account_manager_id: Option<Uuid>,
    /// Spend of the last 30 days, without VAT.
    pub monthly_spend_30d: ExactMoney,
    /// Current balance; may be negative.
    pub balance: ExactMoney,
    /// When the account was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// Why the customer is in dunning, oldest reason first.
    pub reasons: Vec<DunningReason>,
}

/// A reason for dunning and since when it holds.
#[derive(Serialize, JsonSchema)]
pub struct DunningReason {
    /// What puts the customer in dunning.
    pub reason: Reason,
    /// Since when (RFC 3339, UTC).
    pub since: Rfc3339,
}

/// Newest customers first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, AccountId>) -> Result<Page<AdminDunning>, Problem> {
    let after = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let debtors = store::list(&mut ctx, CURRENCY, after, listing.fetch()).await?;
    let mut rows = Vec::with_capacity(debtors.len());
    for debtor in debtors {
        let spend = ledger::spend(&mut ctx, debtor.id, CURRENCY, 30).await?;
        let reasons = store::reasons(&mut ctx, debtor.id).await?;
        rows.push((debtor, spend, reasons));
    }
    listing.page(rows, |(debtor, ..)| debtor.id, to_response)
}

fn to_response((debtor, spend, reasons): (Debtor, Money, Vec<(Reason, Time)>)) -> AdminDunning {
    let reasons = reasons.into_iter().map(|(reason, since)| DunningReason { reason, since: since.into() });
    AdminDunning {
        id: debtor.id.uuid(),
        customer_id: debtor.id.uuid(),
        customer_name: debtor.company_name.clone(),
        company_name: debtor.company_name,
        contact_email: debtor.contact_email,
        onboarding_status: debtor.onboarding_status,
        account_manager_id: debtor.account_manager_id,
        monthly_spend_30d: spend.into(),
        balance: Money::from_nanos(debtor.balance, CURRENCY).into(),
        created_at: debtor.created_at.into(),
        reasons: reasons.collect(),
    }
}
