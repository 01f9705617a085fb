//! Request and response types of customers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::CustomerRow;
use crate::account_managers::AccountManagerId;
use api::answer::Volatile;
use api::checks::{Checks, Given, must};
use billing::vat::{Ruling, VatTreatment};
use identity::accounts::{OnboardingStatus, VatStatus};
use identity::balance::CURRENCY;
use values::{Change, Email, ExactMoney, Money, Rfc3339, Text};

/// Customer as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminCustomer {
    /// Id of the account.
    pub id: Uuid,
    /// Id of the account, again, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; the same as `company_name`.
    pub customer_name: Text<1, 200>,
    /// Legal name of the company.
    pub company_name: Text<1, 200>,
    /// Email address of the contact person.
    pub contact_email: Email,
    /// Onboarding status of the account.
    pub onboarding_status: OnboardingStatus,
    /// Status that the account returns to when it is reinstated; null unless it is suspended.
    pub suspended_from: Option<OnboardingStatus>,
    /// Reason for the suspension, as shown to the customer; null when none was given.
    pub suspension_reason: Option<String>,
    /// Id of the account manager; null when none is assigned.
    pub account_manager_id: Option<AccountManagerId>,
    /// Usage charged on the last 30 UTC days, today included.
    pub monthly_spend_30d: ExactMoney,
    /// Current balance.
    pub balance: ExactMoney,
    /// Result of the check of the VAT id.
    pub vat_status: VatStatus,
    /// VAT treatment that the team set instead of the one the rules give; null when the rules apply.
    pub vat_treatment: Option<VatTreatment>,
    /// Whether the customer resells telecommunication services, which matters for VAT.
    pub telecom_reseller: bool,
    /// When the account was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl Volatile for AdminCustomer {
    const FIELDS: &'static [&'static str] = &["monthly_spend_30d", "balance"];
}

impl AdminCustomer {
    pub fn new(row: CustomerRow, spend: Money) -> AdminCustomer {
        AdminCustomer {
            id: row.id.uuid(),
            customer_id: row.id.uuid(),
            customer_name: row.company_name.clone(),
            company_name: row.company_name,
            contact_email: row.contact_email,
            onboarding_status: row.onboarding_status,
            suspended_from: row.suspended_from,
            suspension_reason: row.suspension_reason,
            account_manager_id: row.account_manager_id,
            monthly_spend_30d: spend.into(),
            balance: Money::from_nanos(row.balance, CURRENCY).into(),
            vat_status: row.vat_status,
            vat_treatment: row.vat_treatment,
            telecom_reseller: row.telecom_reseller,
            created_at: row.created_at.into(),
        }
    }
}

/// Changes to a customer; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCustomerUpdate {
    /// `suspended` suspends the account; the status of `suspended_from` reinstates it.
    #[serde(default)]
    pub onboarding_status: Change<OnboardingStatus>,
    /// Reason for the suspension; shown to the customer, and only allowed together with `suspended`.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
    /// Id of an active account manager; null removes the assignment.
    #[serde(default)]
    pub account_manager_id: Change<Option<AccountManagerId>>,
    /// VAT treatment to use instead of the one the rules give; null applies the rules.
    #[serde(default)]
    pub vat_treatment: Change<Option<VatTreatment>>,
    /// Result of the check of the VAT id, as the team decided from the VAT evidence.
    #[serde(default)]
    pub vat_status: Change<VatStatus>,
    /// Whether the customer resells telecommunication services.
    #[serde(default)]
    pub telecom_reseller: Change<bool>,
}

impl Checks for AdminCustomerUpdate {
    fn check(given: &Given<'_>) {
        type Status = Option<OnboardingStatus>;
        given.check_with("reason", "onboarding_status", |_: Text<1, 500>, status: Status| {
            let is_suspended = status == Some(OnboardingStatus::Suspended);
            must(is_suspended, "is only allowed together with the onboarding_status suspended")
        });
    }
}

impl AdminCustomerUpdate {
    pub fn ruling(&self) -> Ruling {
        Ruling { status: self.vat_status, treatment: self.vat_treatment, is_reseller: self.telecom_reseller }
    }
}
