//! Accounts over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::AccountRow;
use values::{Change, Country, Invalid, Locale, Rfc3339, Stored, Text, text_enum};

text_enum! {
    /// Where an account stands on its way to being a customer.
    pub enum OnboardingStatus {
        SignupPending = "signup_pending",
        DocsRequested = "docs_requested",
        UnderReview = "under_review",
        Approved = "approved",
        Suspended = "suspended",
    }
}

text_enum! {
    /// What is known of a VAT id.
    pub enum VatStatus {
        NotVerified = "not_verified",
        Pending = "pending",
        Exempt = "exempt",
        Valid = "valid",
        Invalid = "invalid",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    pub line1: Text<1, 200>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line2: Option<Text<1, 200>>,
    pub city: Text<1, 100>,
    pub postal_code: Text<1, 20>,
    pub country: Country,
}

impl Stored for Address {
    type Raw = String;

    fn to_raw(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    fn from_raw(raw: String) -> Result<Self, Invalid> {
        serde_json::from_str(&raw).map_err(|error| Invalid(error.to_string().into()))
    }
}

/// The person at the carrier who looks after an account.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AssignedManager {
    pub id: Uuid,
    pub name: String,
    pub email: String,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Account {
    pub id: Uuid,
    pub company_name: Text<1, 200>,
    pub locale: Locale,
    pub postal_address: Option<Address>,
    pub invoice_address: Option<Address>,
    pub vat_id: Option<Text<1, 20>>,
    pub vat_status: VatStatus,
    pub onboarding_status: OnboardingStatus,
    pub account_manager: Option<AssignedManager>,
    pub created_at: Rfc3339,
    pub updated_at: Rfc3339,
}

impl From<AccountRow> for Account {
    fn from(row: AccountRow) -> Self {
        // Named one by one, so that a new column cannot be forgotten here.
        let AccountRow {
            id,
            company_name,
            locale,
            postal_address,
            invoice_address,
            vat_id,
            vat_status,
            onboarding_status,
            manager_id,
            manager_name,
            manager_email,
            created_at,
            updated_at,
        } = row;
        let manager = || Some(AssignedManager { id: manager_id?, name: manager_name?, email: manager_email? });
        Account {
            id: id.uuid(),
            company_name,
            locale,
            postal_address,
            invoice_address,
            vat_id,
            vat_status,
            onboarding_status,
            account_manager: manager(),
            created_at: created_at.into(),
            updated_at: updated_at.into(),
        }
    }
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountUpdate {
    #[serde(default)]
    company_name: Change<Text<1, 200>>,
    #[serde(default)]
    locale: Change<Locale>,
    #[serde(default)]
    postal_address: Change<Option<Address>>,
    #[serde(default)]
    invoice_address: Change<Option<Address>>,
    #[serde(default)]
    vat_id: Change<Option<Text<1, 20>>>,
}

impl AccountUpdate {
    pub fn apply(&self, account: &mut AccountRow) {
        let AccountUpdate { company_name, locale, postal_address, invoice_address, vat_id } = self.clone();
        company_name.apply(&mut account.company_name);
        locale.apply(&mut account.locale);
        postal_address.apply(&mut account.postal_address);
        invoice_address.apply(&mut account.invoice_address);
        if let Change::Set(vat_id) = vat_id {
            // What was known of another id says nothing about this one.
            if account.vat_id != vat_id {
                account.vat_status = VatStatus::NotVerified;
            }
            account.vat_id = vat_id;
        }
    }
}
