//! The beta queue over the wire. Times here are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::Listed;
use billing::card_check::{CardStatus, CardVerification};
use identity::compliance::{DocumentRow, IntakeRow, IntakeStatus};
use identity::kyb::KybStatus;
use identity::onboarding::{AccountStatus, Prospect, TrafficType};
use platform::outside::payments::Brand;
use values::{AccountId, Country, DocKind, E164, Email, KybId, Text, UnixSeconds, text_enum};

text_enum! {
    /// How far a prospect's business verification is.
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
    /// How far a prospect's card verification is.
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

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaListItem {
    pub id: AccountId,
    pub legal_name: String,
    pub trading_name: Option<String>,
    pub country: Country,
    pub contact_email: Email,
    pub status: AccountStatus,
    pub waitlist_position: Option<i64>,
    pub kyb_status: KybColumn,
    pub card_status: CardColumn,
    pub traffic_profile_present: bool,
    pub created_at: UnixSeconds,
}

impl From<Listed> for AdminBetaListItem {
    fn from(listed: Listed) -> Self {
        let Listed {
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
        } = listed;
        AdminBetaListItem {
            id,
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

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaStatsResponse {
    pub total: i64,
    /// In signup, with a card pending, or on the waitlist.
    pub pending: i64,
    pub approved_this_week: i64,
    pub declined_this_week: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaAccount {
    pub id: AccountId,
    pub legal_name: String,
    pub trading_name: Option<String>,
    pub country: Country,
    pub vat_id: Option<String>,
    pub contact_name: String,
    pub contact_email: Email,
    pub contact_phone: Option<E164>,
    pub status: AccountStatus,
    pub waitlist_position: Option<i64>,
    pub waitlist_joined_at: Option<UnixSeconds>,
    pub reviewer_note: Option<String>,
    /// What it said it would send, if it signed up with nothing but that.
    pub expected_volume: Option<String>,
    pub created_at: UnixSeconds,
    pub updated_at: UnixSeconds,
}

impl AdminBetaAccount {
    pub fn new(prospect: Prospect, waitlist_position: Option<i64>) -> Self {
        AdminBetaAccount {
            id: prospect.account_id,
            legal_name: prospect.company_name,
            trading_name: prospect.trading_name,
            country: prospect.country,
            vat_id: prospect.vat_id,
            contact_name: prospect.contact_name,
            contact_email: prospect.contact_email,
            contact_phone: prospect.contact_phone,
            status: prospect.beta_status,
            waitlist_position,
            waitlist_joined_at: prospect.waitlist_joined_at.map(UnixSeconds),
            reviewer_note: prospect.reviewer_note,
            expected_volume: prospect.expected_volume,
            created_at: prospect.created_at.into(),
            updated_at: prospect.updated_at.into(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaTrafficProfile {
    pub estimated_minutes_per_month: i64,
    pub target_countries: Vec<Country>,
    pub traffic_types: Vec<TrafficType>,
    pub notes: Option<Text<0, 2000>>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaKybIntake {
    pub id: KybId,
    pub status: KybStatus,
    pub required_docs: Vec<DocKind>,
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

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaPaymentMethod {
    pub status: CardStatus,
    pub brand: Option<Brand>,
    #[schemars(length(equal = 4))]
    pub last4: Option<String>,
}

impl From<CardVerification> for AdminBetaPaymentMethod {
    fn from(shown: CardVerification) -> Self {
        AdminBetaPaymentMethod { status: shown.status, brand: shown.brand, last4: shown.last4 }
    }
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaDetail {
    pub account: AdminBetaAccount,
    pub traffic_profile: Option<AdminBetaTrafficProfile>,
    pub kyb_intake: Option<AdminBetaKybIntake>,
    pub payment_method: Option<AdminBetaPaymentMethod>,
    pub user_emails: Vec<Email>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminBetaActionRequest {
    /// Shown to the prospect in the mail, and kept with the account.
    #[serde(default)]
    pub reviewer_note: Option<Text<0, 2000>>,
}
