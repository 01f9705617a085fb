//! Request and response types of the beta queue. Times are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::store::SignupRow;
use billing::card_check::{CardStatus, CardVerification};
use identity::compliance::{DocumentRow, IntakeRow, IntakeStatus};
use identity::kyb::KybStatus;
use identity::onboarding::{AccountStatus, OnboardingAccount, TrafficType};
use platform::outside::payments::Brand;
use values::{AccountId, Country, DocKind, E164, Email, KybId, Text, UnixSeconds, text_enum};

text_enum! {
    /// Status of the latest KYB intake of an account; `none` when there is no intake.
    pub enum KybColumn {
        None = "none",
        Open = "open",
        Submitted = "submitted",
        Approved = "approved",
        Rejected = "rejected",
    }
}

impl From<Option<IntakeStatus>> for KybColumn {
    fn from(status: Option<IntakeStatus>) -> Self {
        match status.map(KybStatus::from) {
            None => KybColumn::None,
            Some(KybStatus::Open) => KybColumn::Open,
            Some(KybStatus::Submitted) => KybColumn::Submitted,
            Some(KybStatus::Approved) => KybColumn::Approved,
            Some(KybStatus::Rejected) => KybColumn::Rejected,
        }
    }
}

text_enum! {
    /// Status of the card verification of an account; `none` when it has not started.
    pub enum CardColumn {
        None = "none",
        PendingVerification = "pending_verification",
        Completing = "completing",
        Verified = "verified",
        VerificationFailed = "verification_failed",
    }
}

impl From<Option<CardStatus>> for CardColumn {
    fn from(status: Option<CardStatus>) -> Self {
        match status {
            None => CardColumn::None,
            Some(CardStatus::PendingVerification) => CardColumn::PendingVerification,
            Some(CardStatus::Completing) => CardColumn::Completing,
            Some(CardStatus::Verified) => CardColumn::Verified,
            Some(CardStatus::VerificationFailed) => CardColumn::VerificationFailed,
        }
    }
}

/// Beta signup in the team's list.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaListItem {
    /// Id of the account.
    pub id: AccountId,
    /// Id of the customer's account as a plain UUID, as in all lists of the team.
    pub customer_id: Uuid,
    /// Name of the customer; the same as `legal_name`.
    pub customer_name: String,
    /// Legal name of the company.
    pub legal_name: String,
    /// Trading name of the company; null when it has none.
    pub trading_name: Option<String>,
    /// Country of the company, as an ISO 3166-1 alpha-2 code; `ZZ` until it is set.
    pub country: Country,
    /// Email address of the contact person.
    pub contact_email: Email,
    /// Status of the account in the private beta.
    pub status: AccountStatus,
    /// Position on the waitlist, counted from 1; null while the account is not on it.
    pub waitlist_position: Option<i64>,
    /// Status of the latest KYB intake.
    pub kyb_status: KybColumn,
    /// Status of the card verification.
    pub card_status: CardColumn,
    /// Whether the account has saved a traffic profile.
    pub traffic_profile_present: bool,
    /// When the account signed up (Unix seconds).
    pub created_at: UnixSeconds,
}

impl From<SignupRow> for AdminBetaListItem {
    fn from(row: SignupRow) -> Self {
        let SignupRow {
            id,
            legal_name,
            trading_name,
            country,
            contact_email,
            status,
            waitlist_position,
            kyb_status,
            card_status,
            traffic_profile_present,
            created_at,
        } = row;
        AdminBetaListItem {
            id,
            customer_id: id.uuid(),
            customer_name: legal_name.clone(),
            legal_name,
            trading_name,
            country,
            contact_email,
            status,
            waitlist_position,
            kyb_status: kyb_status.into(),
            card_status: card_status.into(),
            traffic_profile_present,
            created_at: created_at.into(),
        }
    }
}

/// Numbers of beta signups.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaStatsResponse {
    /// All signups, whatever their status.
    pub total: i64,
    /// Signups that wait for a decision: in signup, with a card pending, or on the waitlist.
    pub pending: i64,
    /// Signups approved in the last seven days.
    pub approved_this_week: i64,
    /// Signups declined in the last seven days.
    pub declined_this_week: i64,
}

/// Account of a beta signup.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaAccount {
    /// Id of the account.
    pub id: AccountId,
    /// Legal name of the company.
    pub legal_name: String,
    /// Trading name of the company; null when it has none.
    pub trading_name: Option<String>,
    /// Country of the company, as an ISO 3166-1 alpha-2 code; `ZZ` until it is set.
    pub country: Country,
    /// VAT id with its country prefix; null when the company has none.
    pub vat_id: Option<String>,
    /// Full name of the contact person.
    pub contact_name: String,
    /// Email address of the contact person.
    pub contact_email: Email,
    /// Phone number of the contact person in E.164 format; null when it is not set.
    pub contact_phone: Option<E164>,
    /// Status of the account in the private beta.
    pub status: AccountStatus,
    /// Position on the waitlist, counted from 1; null while the account is not on it.
    pub waitlist_position: Option<i64>,
    /// When the account joined the waitlist (Unix seconds); null until then.
    pub waitlist_joined_at: Option<UnixSeconds>,
    /// Note of the last decision; null when there is none.
    pub reviewer_note: Option<String>,
    /// Expected traffic in free text from `POST /signup`; null for other signups.
    pub expected_volume: Option<String>,
    /// When the account signed up (Unix seconds).
    pub created_at: UnixSeconds,
    /// When the status last changed (Unix seconds).
    pub updated_at: UnixSeconds,
}

impl AdminBetaAccount {
    pub fn new(account: OnboardingAccount, waitlist_position: Option<i64>) -> Self {
        AdminBetaAccount {
            id: account.account_id,
            legal_name: account.company_name,
            trading_name: account.trading_name,
            country: account.country,
            vat_id: account.vat_id,
            contact_name: account.contact_name,
            contact_email: account.contact_email,
            contact_phone: account.contact_phone,
            status: account.beta_status,
            waitlist_position,
            waitlist_joined_at: account.waitlist_joined_at.map(UnixSeconds),
            reviewer_note: account.reviewer_note,
            expected_volume: account.expected_volume,
            created_at: account.created_at.into(),
            updated_at: account.updated_at.into(),
        }
    }
}

/// Traffic that the account expects to send.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaTrafficProfile {
    /// Expected call minutes per month.
    pub estimated_minutes_per_month: i64,
    /// Countries that calls go to, as ISO 3166-1 alpha-2 codes.
    pub target_countries: Vec<Country>,
    /// Types of traffic.
    pub traffic_types: Vec<TrafficType>,
    /// Notes of the customer; null when there are none.
    pub notes: Option<Text<0, 2000>>,
}

/// Latest KYB intake of the account.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaKybIntake {
    /// Id of the KYB intake.
    pub id: KybId,
    /// Status of the KYB intake.
    pub status: KybStatus,
    /// Kinds of which at least one document is needed before the intake can be submitted.
    pub required_docs: Vec<DocKind>,
    /// Kinds among `required_docs` that have a document which was not rejected.
    pub uploaded_docs: Vec<DocKind>,
}

impl AdminBetaKybIntake {
    pub fn new(intake: IntakeRow, documents: &[DocumentRow]) -> Self {
        AdminBetaKybIntake {
            id: KybId::new(intake.id.uuid()),
            status: intake.status.into(),
            uploaded_docs: intake.uploaded(documents),
            required_docs: intake.required_docs.0,
        }
    }
}

/// Card of the account.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaPaymentMethod {
    /// Status of the card verification.
    pub status: CardStatus,
    /// Brand of the card; null until the payment provider reports it.
    pub brand: Option<Brand>,
    /// Last four digits of the card number; null until the payment provider reports them.
    #[schemars(length(equal = 4))]
    pub last4: Option<String>,
}

impl From<CardVerification> for AdminBetaPaymentMethod {
    fn from(shown: CardVerification) -> Self {
        AdminBetaPaymentMethod { status: shown.status, brand: shown.brand, last4: shown.last4 }
    }
}

/// Beta signup with everything the team decides by.
#[derive(Serialize, JsonSchema)]
pub struct AdminBetaDetail {
    /// The account.
    pub account: AdminBetaAccount,
    /// Expected traffic; null until the customer saves it.
    pub traffic_profile: Option<AdminBetaTrafficProfile>,
    /// Latest KYB intake; null when there is none.
    pub kyb_intake: Option<AdminBetaKybIntake>,
    /// Verified card, or the latest attempt; null when card verification has not started.
    pub payment_method: Option<AdminBetaPaymentMethod>,
    /// Email addresses of the account's users, at most 100.
    pub user_emails: Vec<Email>,
}

/// Decision about a beta signup.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminBetaActionRequest {
    /// Note to the customer; it is part of the mail about the decision and stored with the account.
    #[serde(default)]
    pub reviewer_note: Option<Text<0, 2000>>,
}
