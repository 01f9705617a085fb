//! Saved cards over the wire.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::MethodRow;
use platform::outside::payments::Brand;
use values::{Change, PaymentMethodId, Rfc3339, Text};

#[derive(Serialize, JsonSchema)]
pub struct PaymentMethod {
    pub id: PaymentMethodId,
    pub brand: Brand,
    #[schemars(length(equal = 4))]
    pub last4: String,
    #[schemars(range(min = 1, max = 12))]
    pub exp_month: i64,
    pub exp_year: i64,
    pub is_default: bool,
    pub created_at: Rfc3339,
}

impl From<MethodRow> for PaymentMethod {
    fn from(row: MethodRow) -> Self {
        let MethodRow { id, brand, last4, exp_month, exp_year, is_default, created_at, .. } = row;
        PaymentMethod { id, brand, last4, exp_month, exp_year, is_default, created_at: Rfc3339(created_at) }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentMethodCreateRequest {
    /// Where the payer goes after the checkout: an address of an origin that the carrier allows.
    pub return_url: Text<1, 2000>,
}

#[derive(Serialize, JsonSchema)]
pub struct PaymentMethodCreateResponse {
    /// Where the card is shown; open it in a browser. Open for a day.
    #[schemars(url)]
    pub checkout_url: String,
    /// The provider's name for the checkout.
    pub order_id: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PaymentMethodUpdate {
    /// True takes the place of the default before; the default itself cannot be unset.
    #[serde(default)]
    pub is_default: Change<bool>,
}
