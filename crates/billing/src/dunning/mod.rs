//! Dunning: the customers whom the team should speak to about money.
//!
//! Whoever finds a reason calls [`raise`] in the transaction of its finding, and [`settle`] once it is over; the list
//! is those who have one. Reasons are rows of their own rather than a query over balances, invoices and recharges: a
//! balance changes with every call, and an index that follows it would cost every call something.

mod store;

pub use store::{Reason, raise, settle};

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

/// A customer with a reason to speak to it.
#[derive(Serialize, JsonSchema)]
pub struct AdminDunning {
    pub id: Uuid,
    pub company_name: Text<1, 200>,
    pub contact_email: Email,
    pub onboarding_status: OnboardingStatus,
    pub account_manager_id: Option<Uuid>,
    pub monthly_spend_30d: ExactMoney,
    pub balance: ExactMoney,
    pub created_at: Rfc3339,
    pub reasons: Vec<DunningReason>,
}

#[derive(Serialize, JsonSchema)]
pub struct DunningReason {
    pub reason: Reason,
    pub since: Rfc3339,
}

/// The newest customers first.
pub async fn list(mut ctx: ReadCtx, listing: Listing<Unfiltered, AccountId>) -> Result<Page<AdminDunning>, Problem> {
    let now = ctx.request.now;
    let after = listing.after.unwrap_or(AccountId::new(Uuid::max()));
    let debtors = store::list(&mut ctx, CURRENCY, after, listing.fetch()).await?;
    let mut rows = Vec::with_capacity(debtors.len());
    for debtor in debtors {
        let spend = ledger::spend(&mut ctx, debtor.id, CURRENCY, 30, now).await?;
        let reasons = store::reasons(&mut ctx, debtor.id).await?;
        rows.push((debtor, spend, reasons));
    }
    listing.page(rows, |(debtor, ..)| debtor.id, shown)
}

fn shown((debtor, spend, reasons): (Debtor, Money, Vec<(Reason, Time)>)) -> AdminDunning {
    let reasons = reasons.into_iter().map(|(reason, since)| DunningReason { reason, since: since.into() });
    AdminDunning {
        id: debtor.id.uuid(),
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
