//! Cards over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rules::CardStatus;
use super::store::Shown;
use platform::outside::payments::Brand;
use values::CardVerificationId;

/// Nothing needs to be said.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardSetupRequest {}

#[derive(Serialize, JsonSchema)]
pub struct CardSetupResponse {
    /// Where the card is shown; open it in a browser.
    #[schemars(url)]
    pub checkout_url: String,
    pub payment_method_id: CardVerificationId,
}

#[derive(Serialize, JsonSchema)]
pub struct MyPaymentMethodResponse {
    id: CardVerificationId,
    status: CardStatus,
    brand: Option<Brand>,
    #[schemars(length(equal = 4))]
    last4: Option<String>,
    #[schemars(range(min = 1, max = 12))]
    exp_month: Option<i64>,
    exp_year: Option<i64>,
}

impl From<Shown> for MyPaymentMethodResponse {
    fn from(shown: Shown) -> Self {
        let Shown { id, status, brand, last4, exp_month, exp_year } = shown;
        MyPaymentMethodResponse { id, status, brand, last4, exp_month, exp_year }
    }
}
