//! The checkout of the sandbox payment provider over the API, for the portal's screen: what there is to pay, and the
//! payer's choice. It does what the page of `sandbox` does, and like that one needs no token: whoever has the order's id,
//! which cannot be guessed, may pay once.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::sandbox::valid_card;
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::problem::Problem;
use identity::portal;
use platform::app::App;
use platform::outside::payments::sandbox::cards::{TEST_CARDS, pay, year_and_month};
use platform::outside::payments::sandbox::{CheckoutView, Choice, Sandbox};
use platform::outside::payments::{OrderState, Payments};
use values::{Invalid, Money, Text, Time, text_enum};

text_enum! {
    /// What a checkout is for.
    pub enum SandboxCheckoutKind {
        /// An amount is paid.
        Topup = "topup",
        /// A card is verified or saved; nothing is charged.
        Card = "card",
    }
}

text_enum! {
    /// Status of a checkout.
    pub enum SandboxCheckoutStatus {
        /// It waits for its payer.
        Pending = "pending",
        /// The payment, or the card, was accepted.
        Completed = "completed",
        /// The card was declined.
        Failed = "failed",
        /// The payer cancelled, or a day went by.
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// What a payer chooses.
    pub enum SandboxCheckoutAction {
        /// Pay with a card, or have it verified.
        Pay = "pay",
        /// Go back without a payment.
        Cancel = "cancel",
    }
}

impl From<OrderState> for SandboxCheckoutStatus {
    fn from(state: OrderState) -> Self {
        match state {
            OrderState::Pending | OrderState::Processing => SandboxCheckoutStatus::Pending,
            OrderState::Completed => SandboxCheckoutStatus::Completed,
            OrderState::Failed => SandboxCheckoutStatus::Failed,
            OrderState::Cancelled => SandboxCheckoutStatus::Cancelled,
        }
    }
}

/// Card number of the sandbox.
#[derive(Serialize, JsonSchema)]
pub struct SandboxCard {
    /// Number to pay with.
    #[schemars(example = "4242424242424242")]
    number: &'static str,
    /// What becomes of a payment with it.
    #[schemars(example = "Visa, pays")]
    label: &'static str,
}

/// Checkout of the sandbox payment provider.
#[derive(Serialize, JsonSchema)]
pub struct SandboxCheckout {
    /// Id of the order.
    order_id: String,
    /// What the checkout is for.
    kind: SandboxCheckoutKind,
    /// Amount to pay; null if nothing is charged.
    amount: Option<Money>,
    /// Name of the operator, who is paid.
    #[schemars(example = "Carrier BV")]
    merchant: String,
    /// Status of the checkout.
    status: SandboxCheckoutStatus,
    /// URL to send the payer to afterwards.
    #[schemars(url)]
    return_url: String,
    /// Numbers that the sandbox knows.
    cards: Vec<SandboxCard>,
}

/// Choice of a payer.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxCheckoutSubmit {
    /// Whether to pay or to cancel.
    action: SandboxCheckoutAction,
    /// Number of the card to pay with; spaces and hyphens are ignored. Without it, one that pays.
    #[serde(default)]
    #[schemars(example = "4242424242424242")]
    card_number: Option<Text<1, 40>>,
}

impl Checks for SandboxCheckoutSubmit {
    fn check(given: &Given<'_>) {
        given.check("card_number", |number: Text<1, 40>| {
            must(card_choice(Some(number), given.now).is_ok(), "must be a valid card number")
        });
    }
}

/// Checkout after its payer's choice.
#[derive(Serialize, JsonSchema)]
pub struct SandboxCheckoutOutcome {
    /// Status of the checkout.
    status: SandboxCheckoutStatus,
    /// URL to send the payer to.
    #[schemars(url)]
    return_url: String,
}

pub async fn show(mut ctx: ReadCtx, Path(OrderId(order_id)): Path<OrderId>) -> Result<Json<SandboxCheckout>, Problem> {
    let app = ctx.request.app.clone();
    let CheckoutView { state, amount, return_url, .. } =
        sandbox(&app)?.view(&mut ctx, &order_id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(SandboxCheckout {
        order_id,
        kind: amount.map_or(SandboxCheckoutKind::Card, |_| SandboxCheckoutKind::Topup),
        amount,
        merchant: portal::operator_name(&mut ctx).await?,
        status: state.into(),
        return_url,
        cards: TEST_CARDS.iter().map(|(number, label)| SandboxCard { number, label }).collect(),
    }))
}

/// A second choice, or a late one, changes nothing; its payer is sent back all the same.
pub async fn submit(
    ctx: RequestCtx,
    Path(OrderId(order_id)): Path<OrderId>,
    Body(Checked(request)): Body<Checked<SandboxCheckoutSubmit>>,
) -> Result<Committed<Json<SandboxCheckoutOutcome>>, Problem> {
    sandbox(&ctx.app)?;
    let choice = match request.action {
        SandboxCheckoutAction::Cancel => Choice::Cancelled,
        SandboxCheckoutAction::Pay => card_choice(request.card_number, ctx.now).map_err(Problem::internal)?,
    };
    ctx.commit((order_id, choice), |tx, (order_id, choice)| {
        Box::pin(async move {
            let app = tx.ctx.app.clone();
            let sandbox = sandbox(&app)?;
            sandbox.settle_in(tx, order_id, choice).await?;
            let view = sandbox.view(tx, order_id).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(SandboxCheckoutOutcome { status: view.state.into(), return_url: view.return_url }))
        })
    })
    .await
}

/// Another provider has a checkout of its own.
fn sandbox(app: &App) -> Result<&Sandbox, Problem> {
    match &app.payments {
        Payments::Sandbox(sandbox) => Ok(sandbox),
        Payments::Revolut(_) => Err(Problem::not_found()),
    }
}

/// What becomes of a payment with this card.
fn card_choice(number: Option<Text<1, 40>>, now: Time) -> Result<Choice, &'static str> {
    pay(&valid_card(number.map(Text::into_string), now), year_and_month(now))
}

/// Id of an order: hexadecimal digits.
pub struct OrderId(String);

impl OrderId {
    const MAX_LENGTH: usize = 64;
}

impl FromStr for OrderId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_id =
            (1..=OrderId::MAX_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(OrderId(text.to_owned())) } else { Err(Invalid::because("must be hexadecimal digits")) }
    }
}

impl JsonSchema for OrderId {
    fn schema_name() -> Cow<'static, str> {
        "OrderId".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": "^[0-9a-fA-F]{1,64}$",
            "description": "Id of the order, as in `checkout_url`.",
        })
    }
}
