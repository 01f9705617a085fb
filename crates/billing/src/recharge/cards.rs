//! What recharging asks of saved cards, and nothing more.

use std::future::Future;

use uuid::Uuid;

use crate::payments::{self, Charged, NewCharge, PaymentStatus};
use api::problem::Code;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::JobError;
use values::{AccountId, Money, PaymentMethodId};

/// A payment that nobody has to be there for.
#[derive(Clone, Debug)]
pub struct Charge {
    /// The same when we ask again: there is one payment under it.
    pub id: Uuid,
    pub account: AccountId,
    pub payment_method: Uuid,
    pub amount: Money,
}

#[derive(Clone, Debug)]
pub enum Outcome {
    /// The money is on the balance.
    Paid,
    Declined {
        reason: Option<String>,
    },
    /// Nobody knows yet.
    Pending,
}

impl From<Charged> for Outcome {
    fn from(charged: Charged) -> Self {
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
            Err(problem) if problem.code() == Code::NotFound => {
                Ok(Outcome::Declined { reason: Some("the card was taken away".into()) })
            }
            Err(problem) => Err(JobError::Failed(format!("{problem:?}"))),
        }
    }
}

/// What became of the charge of this id.
pub async fn outcome(conn: &mut Conn, account: AccountId, id: Uuid) -> Result<Outcome, DbError> {
    Ok(payments::find_charge(conn, account, id).await?.map_or(Outcome::Pending, Outcome::from))
}

/// Whether the account has saved this card.
pub async fn is_own(conn: &mut Conn, account: AccountId, card: Uuid) -> Result<bool, DbError> {
    let found = payments::find_method(conn, PaymentMethodId::new(card)).await?;
    Ok(found.is_some_and(|method| method.account_id == account))
}
