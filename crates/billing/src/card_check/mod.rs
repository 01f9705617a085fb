//! Card verification: during onboarding a prospect enters a card at the payment provider. Nothing is charged.
//!
//! `POST /me/card-setup` stores a verification and returns the checkout URL (`start`). The provider decides the
//! outcome: a webhook or the poll job fetches the order (`apply`), and the verification ends once, verified or failed,
//! by the table in `rules`. Onboarding gets the event, and a verified card is saved as a payment method.
//! `GET /me/payment-method` shows the status.

mod apply;
mod rules;
mod start;
mod store;
mod types;

pub use apply::{POLL, apply_order, poll_job};
pub use rules::CardStatus;
pub use start::start;
pub use store::{CardVerification, find_current, mark_completing};

use api::answer::Json;
use api::context::ReadCtx;
use api::problem::Problem;
use types::MyPaymentMethodResponse;

pub async fn show(mut ctx: ReadCtx) -> Result<Json<MyPaymentMethodResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let verification = store::find_current(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(verification.into()))
}
