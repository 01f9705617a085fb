//! Cards: a prospect shows one to the payment provider, so that the carrier knows there is one. Nothing is charged.
//!
//! `POST /me/card-setup` opens a verification and answers where to show the card (`setup`). What became of it is the
//! provider's to say: a callback tells us to look, and a job looks by itself now and then (`settle`). Either way the
//! order is fetched and the verification ends once, verified or failed, and onboarding hears of it. `rules` knows how a
//! verification moves. A card that was verified is saved among the payment methods. `GET /me/payment-method` shows how
//! far it is.

mod rules;
mod settle;
mod setup;
mod store;
mod types;

pub use rules::CardStatus;
pub use settle::{POLL, poll_job, settle};
pub use setup::set_up;
pub use store::{Shown, provider_called, shown};

use api::answer::Json;
use api::context::ReadCtx;
use api::problem::Problem;
use types::MyPaymentMethodResponse;

pub async fn payment_method(mut ctx: ReadCtx) -> Result<Json<MyPaymentMethodResponse>, Problem> {
    let account = ctx.principal()?.account_id;
    let shown = store::shown(&mut ctx, account).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(shown.into()))
}
