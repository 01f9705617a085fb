//! The beta queue over the wire. Times here are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::onboarding::{AccountStatus, Prospect, TrafficType};
use crate::values::{AccountId, Country, E164, Email, KybId, Text, UnixSeconds, text_enum};

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
    pub status: KybColumn,
    pub required_docs: Vec<String>,
    pub uploaded_docs: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaPaymentMethod {
    pub status: CardColumn,
    pub brand: Option<String>,
    pub last4: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AdminBetaDetail {
    pub account: AdminBetaAccount,
    pub traffic_profile: Option<AdminBetaTrafficProfile>,
    pub kyb_intake: Option<AdminBetaKybIntake>,
    pub payment_method: Option<AdminBetaPaymentMethod>,
    pub user_emails: Vec<Email>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminBetaActionRequest {
    /// Shown to the prospect in the mail, and kept with the account.
    #[serde(default)]
    pub reviewer_note: Option<Text<0, 2000>>,
}
