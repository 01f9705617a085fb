//! Customers over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::CustomerRow;
use crate::account_managers::AccountManagerId;
use billing::vat::{Ruling, VatTreatment};
use identity::accounts::{OnboardingStatus, VatStatus};
use identity::balance::CURRENCY;
use values::{Change, Email, ExactMoney, Money, Rfc3339, Text};

/// A customer as the team sees it.
#[derive(Serialize, JsonSchema)]
pub struct AdminCustomer {
    pub id: Uuid,
    pub company_name: Text<1, 200>,
    pub contact_email: Email,
    pub onboarding_status: OnboardingStatus,
    /// What it returns to when it is reinstated; null unless it is suspended.
    pub suspended_from: Option<OnboardingStatus>,
    /// Why it is suspended, as it was told.
    pub suspension_reason: Option<String>,
    pub account_manager_id: Option<AccountManagerId>,
    /// What was used on the last 30 UTC days, today among them.
    pub monthly_spend_30d: ExactMoney,
    pub balance: ExactMoney,
    pub vat_status: VatStatus,
    /// What the team has decided in place of the rules.
    pub vat_treatment: Option<VatTreatment>,
    /// Whether it sells telecommunication on.
    pub telecom_reseller: bool,
    pub created_at: Rfc3339,
}

impl AdminCustomer {
    pub fn new(row: CustomerRow, spend: Money) -> AdminCustomer {
        AdminCustomer {
            id: row.id.uuid(),
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

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCustomerUpdate {
    /// `suspended`, or what it was before it was suspended.
    #[serde(default)]
    pub onboarding_status: Change<OnboardingStatus>,
    /// Told to the customer when it is suspended, and kept until it is reinstated.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
    #[serde(default)]
    pub account_manager_id: Change<Option<AccountManagerId>>,
    #[serde(default)]
    pub vat_treatment: Change<Option<VatTreatment>>,
    #[serde(default)]
    pub vat_status: Change<VatStatus>,
    #[serde(default)]
    pub telecom_reseller: Change<bool>,
}

impl AdminCustomerUpdate {
    pub fn ruling(&self) -> Ruling {
        Ruling { status: self.vat_status, treatment: self.vat_treatment, is_reseller: self.telecom_reseller }
    }
}
