//! Request and response types of saved cards.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::MethodRow;
use crate::payments::types::check_return_url;
use api::checks::{Checks, Given};
use platform::outside::payments::Brand;
use values::{Change, PaymentMethodId, Rfc3339, Text};

/// A saved card, stored at the payment provider.
#[derive(Serialize, JsonSchema)]
pub struct PaymentMethod {
    /// Id of the saved card.
    pub id: PaymentMethodId,
    /// Card brand.
    pub brand: Brand,
    /// Last four digits of the card number.
    #[schemars(length(equal = 4))]
    pub last4: String,
    /// Month in which the card expires, from 1 to 12.
    #[schemars(range(min = 1, max = 12))]
    pub exp_month: i64,
    /// Year in which the card expires, with four digits.
    pub exp_year: i64,
    /// Whether this is the default card of the account.
    pub is_default: bool,
    /// When the card was saved (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

impl From<MethodRow> for PaymentMethod {
    fn from(row: MethodRow) -> Self {
        let MethodRow { id, brand, last4, exp_month, exp_year, is_default, created_at, .. } = row;
        PaymentMethod { id, brand, last4, exp_month, exp_year, is_default, created_at: Rfc3339(created_at) }
    }
}

/// A card to save at the provider's checkout.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentMethodCreateRequest {
    /// URL to send the payer to after the checkout; its origin must be one that the operator allows.
    pub return_url: Text<1, 2000>,
}

impl Checks for PaymentMethodCreateRequest {
    fn check(given: &Given<'_>) {
        check_return_url(given);
    }
}

/// A checkout at which a card is entered; nothing is charged.
#[derive(Serialize, JsonSchema)]
pub struct PaymentMethodCreateResponse {
    /// Checkout page to open in a browser; it expires after 24 hours.
    #[schemars(url)]
    pub checkout_url: String,
    /// The payment provider's order id of the checkout.
    pub order_id: String,
}

/// Changes to a saved card; omitted fields stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentMethodUpdate {
    /// True makes this card the default instead of the current one; false is refused for the default card.
    #[serde(default)]
    pub is_default: Change<bool>,
}
