//! Request and response types of card verification.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::CardStatus;
use super::store::CardVerification;
use crate::payments::check_return_url;
use api::checks::{Checks, Given};
use platform::outside::payments::Brand;
use values::{CardVerificationId, Text};

/// A card verification to start; the body may be omitted.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardSetupRequest {
    /// URL to send the payer to after the checkout; its origin must be one that the operator allows. Without it, the
    /// portal.
    #[serde(default)]
    pub return_url: Option<Text<1, 2000>>,
}

impl Checks for CardSetupRequest {
    fn check(given: &Given<'_>) {
        check_return_url(given);
    }
}

/// A card verification that waits for the card to be entered; nothing is charged.
#[derive(Serialize, JsonSchema)]
pub struct CardSetupResponse {
    /// Checkout page to open in a browser; it expires after 24 hours.
    #[schemars(url)]
    pub checkout_url: String,
    /// Id of the card verification, which `GET /me/payment-method` returns too.
    pub payment_method_id: CardVerificationId,
}

/// The newest verified card of the account, or else its newest card verification.
#[derive(Serialize, JsonSchema)]
pub struct MyPaymentMethodResponse {
    /// Id of the card verification.
    id: CardVerificationId,
    /// Status of the card verification.
    status: CardStatus,
    /// Card brand; null until the provider reports it.
    brand: Option<Brand>,
    /// Last four digits of the card number; null until the provider reports them.
    #[schemars(length(equal = 4))]
    last4: Option<String>,
    /// Month in which the card expires, from 1 to 12; null until the provider reports it.
    #[schemars(range(min = 1, max = 12))]
    exp_month: Option<i64>,
    /// Year in which the card expires, with four digits; null until the provider reports it.
    exp_year: Option<i64>,
}

impl From<CardVerification> for MyPaymentMethodResponse {
    fn from(row: CardVerification) -> Self {
        let CardVerification { id, status, brand, last4, exp_month, exp_year } = row;
        MyPaymentMethodResponse { id, status, brand, last4, exp_month, exp_year }
    }
}
