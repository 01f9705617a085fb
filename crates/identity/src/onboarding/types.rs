//! Request and response types of onboarding. Times are Unix seconds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::AccountStatus;
use super::store::{OnboardingAccount, TrafficProfileRow};
use api::checks::{Checks, Given, must};
use values::{AccountId, Change, Country, E164, Email, NewPassword, OWN_WORDS_REASON, Text, UnixSeconds, text_enum};

/// Request for access to the private beta.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignupRequest {
    /// Email address of the contact person.
    pub email: Email,
    /// Legal name of the company.
    pub company: Text<1, 200>,
    /// Expected traffic in free text, such as `100,000 minutes per month`.
    pub expected_volume: Text<0, 200>,
}

/// Confirmation of a signup.
#[derive(Serialize, JsonSchema)]
pub struct SignupResponse {
    /// Id of the account; the response is the same when the email address is already known.
    pub signup_id: AccountId,
}

/// Signup for the private beta with a password.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BetaSignupRequest {
    /// Legal name of the company.
    pub legal_name: Text<1, 200>,
    /// Trading name of the company, if it differs.
    #[serde(default)]
    pub trading_name: Option<Text<0, 200>>,
    /// Country of the company, as an ISO 3166-1 alpha-2 code.
    pub country: Country,
    /// Full name of the contact person.
    pub contact_name: Text<1, 100>,
    /// Email address of the contact person, who signs in with it.
    pub contact_email: Email,
    /// Phone number of the contact person in E.164 format.
    #[serde(default)]
    pub contact_phone: Option<E164>,
    /// Password of the contact person, 12 to 200 characters, not a common one.
    pub password: NewPassword<12, 200>,
}

impl Checks for BetaSignupRequest {
    fn check(given: &Given<'_>) {
        type Password = NewPassword<12, 200>;
        given.check_with("password", "contact_email", |password: Password, email: Email| {
            must(!password.repeats(Some(&email), None), OWN_WORDS_REASON)
        });
        given.check_with("password", "legal_name", |password: Password, name: Text<1, 200>| {
            must(!password.repeats(None, Some(&name)), OWN_WORDS_REASON)
        });
    }
}

/// Confirmation of a signup; the same when the email address is already known.
#[derive(Serialize, JsonSchema)]
pub struct BetaSignupResponse {
    /// What happens next, as a sentence.
    pub message: String,
}

/// Signup details of an account and its status in the private beta.
#[derive(Serialize, JsonSchema)]
pub struct MyAccountResponse {
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
    /// When the account was created (Unix seconds).
    pub created_at: UnixSeconds,
}

/// Changes to the signup details; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MyAccountUpdate {
    /// Trading name of the company; null removes it.
    #[serde(default)]
    trading_name: Change<Option<Text<1, 200>>>,
    /// Country of the company, as an ISO 3166-1 alpha-2 code; it decides about VAT and cannot be changed once KYB is
    /// submitted.
    #[serde(default)]
    country: Change<Country>,
    /// Full name of the contact person; the user's name changes with it.
    #[serde(default)]
    contact_name: Change<Text<1, 100>>,
    /// Phone number of the contact person in E.164 format; null removes it.
    #[serde(default)]
    contact_phone: Change<Option<E164>>,
}

impl MyAccountUpdate {
    pub fn apply(&self, account: &mut OnboardingAccount) {
        let MyAccountUpdate { trading_name, country, contact_name, contact_phone } = self.clone();
        if let Change::Set(name) = trading_name {
            account.trading_name = name.map(Text::into_string);
        }
        if let Change::Set(name) = contact_name {
            account.contact_name = name.into_string();
        }
        country.apply(&mut account.country);
        contact_phone.apply(&mut account.contact_phone);
    }
}

/// Waitlist position of an account.
#[derive(Serialize, JsonSchema)]
pub struct MyWaitlistResponse {
    /// Position on the waitlist, counted from 1; null while the account is not on it.
    pub position: Option<i64>,
    /// Number of accounts on the waitlist.
    pub total: i64,
    /// Status of the account in the private beta.
    pub status: AccountStatus,
}

text_enum! {
    /// Type of traffic that an account sends: `conversational` (calls between people), `call_center`, `dialer`
    /// (automatic dialling), `a2p` (automated calls from an application), `wholesale_transit` (calls of other
    /// operators) or `other`.
    pub enum TrafficType {
        Conversational = "conversational",
        CallCenter = "call_center",
        Dialer = "dialer",
        A2p = "a2p",
        WholesaleTransit = "wholesale_transit",
        Other = "other",
    }
}

/// Traffic that an account expects to send.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrafficProfileRequest {
    /// Expected call minutes per month.
    #[schemars(range(min = 0, max = 9_007_199_254_740_991i64))]
    pub estimated_minutes_per_month: i64,
    /// Countries that calls go to, as ISO 3166-1 alpha-2 codes, at most 250.
    #[schemars(length(max = 250))]
    pub target_countries: Vec<Country>,
    /// Types of traffic, at most 20.
    #[schemars(length(max = 20))]
    pub traffic_types: Vec<TrafficType>,
    /// Anything else the team should know, up to 2000 characters.
    #[serde(default)]
    pub notes: Option<Text<0, 2000>>,
}

/// Traffic that an account expects to send.
#[derive(Serialize, JsonSchema)]
pub struct TrafficProfileResponse {
    /// Expected call minutes per month.
    pub estimated_minutes_per_month: i64,
    /// Countries that calls go to, as ISO 3166-1 alpha-2 codes.
    pub target_countries: Vec<Country>,
    /// Types of traffic.
    pub traffic_types: Vec<TrafficType>,
    /// Anything else the team should know; null when there is nothing.
    pub notes: Option<Text<0, 2000>>,
    /// When the profile was first saved (Unix seconds).
    pub created_at: UnixSeconds,
    /// When the profile was last changed (Unix seconds).
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
