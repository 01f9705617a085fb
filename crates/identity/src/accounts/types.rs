//! Request and response types of accounts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::AccountRow;
use values::{Change, Country, Invalid, Locale, Rfc3339, Stored, Text, text_enum};

text_enum! {
    /// Onboarding status of an account: `signup_pending` (signed up), `docs_requested` (KYB documents are missing),
    /// `under_review` (KYB was submitted), `approved` (may order numbers and place calls) or `suspended` (may only
    /// read, top up and write to support).
    pub enum OnboardingStatus {
        SignupPending = "signup_pending",
        DocsRequested = "docs_requested",
        UnderReview = "under_review",
        Approved = "approved",
        Suspended = "suspended",
    }
}

text_enum! {
    /// Result of the check of a VAT id: `not_verified` (not checked yet), `pending` (the check is running), `valid`,
    /// `invalid`, or `exempt` (the team decided that the customer is exempt from VAT).
    pub enum VatStatus {
        NotVerified = "not_verified",
        Pending = "pending",
        Exempt = "exempt",
        Valid = "valid",
        Invalid = "invalid",
    }
}

/// Postal address of a company.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// Street and house number, or P.O. box.
    pub line1: Text<1, 200>,
    /// Second address line, such as a building or floor; omitted when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line2: Option<Text<1, 200>>,
    /// City or town.
    pub city: Text<1, 100>,
    /// Postal code in the format of the country.
    pub postal_code: Text<1, 20>,
    /// Country, as an ISO 3166-1 alpha-2 code.
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

/// Account manager: the operator's contact person for an account.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AssignedManager {
    /// Id of the account manager.
    pub id: Uuid,
    /// Full name of the account manager.
    pub name: String,
    /// Email address of the account manager.
    pub email: String,
}

/// Company that signs in and pays.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Account {
    /// Id of the account.
    pub id: Uuid,
    /// Legal name of the company.
    pub company_name: Text<1, 200>,
    /// Preferred locale of the account, such as `nl` or `nl-BE`.
    pub locale: Locale,
    /// Address of the company; null until it is set.
    pub postal_address: Option<Address>,
    /// Address on invoices; null when invoices use `postal_address`.
    pub invoice_address: Option<Address>,
    /// VAT id with its country prefix, such as `NL123456789B01`; null when the company has none.
    pub vat_id: Option<Text<1, 20>>,
    /// Result of the check of `vat_id`.
    pub vat_status: VatStatus,
    /// Onboarding status of the account.
    pub onboarding_status: OnboardingStatus,
    /// Contact person at the operator; null when none is assigned.
    pub account_manager: Option<AssignedManager>,
    /// When the account was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the account was last changed (RFC 3339, UTC).
    pub updated_at: Rfc3339,
}

impl From<AccountRow> for Account {
    fn from(row: AccountRow) -> Self {
        // Destructured, so that a new column does not compile until it is handled here.
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

/// Changes to an account; fields that are left out stay as they are.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountUpdate {
    /// Legal name of the company.
    #[serde(default)]
    company_name: Change<Text<1, 200>>,
    /// Preferred locale of the account, such as `nl` or `nl-BE`.
    #[serde(default)]
    locale: Change<Locale>,
    /// Address of the company; null removes it.
    #[serde(default)]
    postal_address: Change<Option<Address>>,
    /// Address on invoices; null makes invoices use `postal_address`.
    #[serde(default)]
    invoice_address: Change<Option<Address>>,
    /// VAT id with its country prefix; a new value is checked again, null removes it.
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
            // The status was of the old id.
            if account.vat_id != vat_id {
                account.vat_status = VatStatus::NotVerified;
            }
            account.vat_id = vat_id;
        }
    }
}
