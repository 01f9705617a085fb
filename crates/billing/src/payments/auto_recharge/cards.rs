//! The part of saved cards that auto-recharge needs.

use std::future::Future;

use uuid::Uuid;

use crate::payments::{self, ChargeOutcome, NewCharge, PaymentStatus};
use api::problem::Code;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::JobError;
use values::{AccountId, Money, PaymentMethodId};

/// A charge of a saved card.
#[derive(Clone, Debug)]
pub struct Charge {
    /// Idempotency key: repeating a charge with the same id leads to the same payment.
    pub id: Uuid,
    pub account: AccountId,
    pub payment_method: Uuid,
    pub amount: Money,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    /// The money was credited to the balance.
    Paid,
    Declined {
        reason: Option<String>,
    },
    /// The provider has not decided.
    Pending,
}

impl From<ChargeOutcome> for Outcome {
    fn from(charged: ChargeOutcome) -> Self {
        match charged.status {
            PaymentStatus::Completed => Outcome::Paid,
            PaymentStatus::Pending => Outcome::Pending,
            PaymentStatus::Failed | PaymentStatus::Expired => Outcome::Declined { reason: charged.decline },
        }
    }
}

pub trait Cards: Sync {
    fn charge(&self, app: &App, charge: &Charge) -> impl Future<Output = Result<Outcome, JobError>> + Send;
}

/// The cards that customers have saved with the payment provider.
pub struct SavedCards;

impl Cards for SavedCards {
    async fn charge(&self, app: &App, charge: &Charge) -> Result<Outcome, JobError> {
        let Charge { id: key, account, payment_method, amount } = charge.clone();
        let new = NewCharge { account, method: PaymentMethodId::new(payment_method), amount, key };
        match payments::charge(app, new).await {
            Ok(charged) => Ok(charged.into()),
            Err(problem) if matches!(problem.code(), Code::NotFound | Code::StateConflict) => {
                // A charge that was sent before may still succeed. Without one, every attempt with this card would end
                // alike.
                let sent = payments::find_charge(&mut *app.db.read().await?, account, key).await?;
                let reason = match problem.code() {
                    Code::NotFound => "the card was deleted",
                    _ => "the card is saved at another payment provider",
                };
                Ok(sent.map_or_else(|| Outcome::Declined { reason: Some(reason.into()) }, Outcome::from))
            }
            Err(problem) => Err(JobError::Failed(format!("{problem:?}"))),
        }
    }
}

/// The outcome of the charge with this id.
pub async fn outcome(conn: &mut Conn, account: AccountId, id: Uuid) -> Result<Outcome, DbError> {
    Ok(payments::find_charge(conn, account, id).await?.map_or(Outcome::Pending, Outcome::from))
}

/// Whether the account has saved this card.
pub async fn is_own_card(conn: &mut Conn, account: AccountId, card: Uuid) -> Result<bool, DbError> {
    let found = payments::find_method(conn, PaymentMethodId::new(card)).await?;
    Ok(found.is_some_and(|method| method.account_id == account))
}
