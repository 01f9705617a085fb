//! Onboarding over the wire. Times here are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::AccountStatus;
use super::store::{Prospect, TrafficProfileRow};
use values::{AccountId, Change, Country, E164, Email, Secret, Text, UnixSeconds, text_enum};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignupRequest {
    pub email: Email,
    pub company: Text<1, 200>,
    pub expected_volume: Text<0, 200>,
}

#[derive(Serialize, JsonSchema)]
pub struct SignupResponse {
    pub signup_id: AccountId,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BetaSignupRequest {
    pub legal_name: Text<1, 200>,
    #[serde(default)]
    pub trading_name: Option<Text<0, 200>>,
    pub country: Country,
    pub contact_name: Text<1, 100>,
    pub contact_email: Email,
    #[serde(default)]
    pub contact_phone: Option<E164>,
    pub password: Secret<12, 200>,
}

#[derive(Serialize, JsonSchema)]
pub struct BetaSignupResponse {
    pub message: String,
}

#[derive(Serialize, JsonSchema)]
pub struct MyAccountResponse {
    pub id: AccountId,
    pub legal_name: String,
    pub trading_name: Option<String>,
    pub country: Country,
    pub vat_id: Option<String>,
    pub contact_name: String,
    pub contact_email: Email,
    pub contact_phone: Option<E164>,
    pub status: AccountStatus,
    /// Null until the account enters the waitlist.
    pub waitlist_position: Option<i64>,
    pub waitlist_joined_at: Option<UnixSeconds>,
    pub created_at: UnixSeconds,
}

/// What a signup may have left open.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MyAccountUpdate {
    #[serde(default)]
    trading_name: Change<Option<Text<1, 200>>>,
    /// Where the company is. Its VAT hangs on that, so it stays once papers are submitted.
    #[serde(default)]
    country: Change<Country>,
    #[serde(default)]
    contact_name: Change<Text<1, 100>>,
    #[serde(default)]
    contact_phone: Change<Option<E164>>,
}

impl MyAccountUpdate {
    pub fn apply(&self, prospect: &mut Prospect) {
        let MyAccountUpdate { trading_name, country, contact_name, contact_phone } = self.clone();
        if let Change::Set(name) = trading_name {
            prospect.trading_name = name.map(Text::into_string);
        }
        if let Change::Set(name) = contact_name {
            prospect.contact_name = name.into_string();
        }
        country.apply(&mut prospect.country);
        contact_phone.apply(&mut prospect.contact_phone);
    }
}

#[derive(Serialize, JsonSchema)]
pub struct MyWaitlistResponse {
    pub position: Option<i64>,
    /// Accounts on the waitlist now.
    pub total: i64,
    pub status: AccountStatus,
}

text_enum! {
    /// What a prospect means to send.
    pub enum TrafficType {
        Conversational = "conversational",
        CallCenter = "call_center",
        Dialer = "dialer",
        A2p = "a2p",
        WholesaleTransit = "wholesale_transit",
        Other = "other",
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficProfileRequest {
    #[schemars(range(min = 0, max = 9_007_199_254_740_991i64))]
    pub estimated_minutes_per_month: i64,
    #[schemars(length(max = 250))]
    pub target_countries: Vec<Country>,
    #[schemars(length(max = 20))]
    pub traffic_types: Vec<TrafficType>,
    #[serde(default)]
    pub notes: Option<Text<0, 2000>>,
}

#[derive(Serialize, JsonSchema)]
pub struct TrafficProfileResponse {
    pub estimated_minutes_per_month: i64,
    pub target_countries: Vec<Country>,
    pub traffic_types: Vec<TrafficType>,
    pub notes: Option<Text<0, 2000>>,
    pub created_at: UnixSeconds,
    pub updated_at: UnixSeconds,
}

impl From<TrafficProfileRow> for TrafficProfileResponse {
    fn from(row: TrafficProfileRow) -> Self {
        let TrafficProfileRow {
            estimated_minutes_per_month,
            target_countries,
            traffic_types,
            notes,
            created_at,
            updated_at,
        } = row;
        TrafficProfileResponse {
            estimated_minutes_per_month,
            target_countries: target_countries.0,
            traffic_types: traffic_types.0,
            notes,
            created_at: created_at.into(),
            updated_at: updated_at.into(),
        }
    }
}
