//! What recharging asks of saved cards, and nothing more.

use std::future::Future;

use uuid::Uuid;

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::jobs::JobError;
use crate::values::{AccountId, Money};

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

pub trait Cards: Sync {
    fn charge(&self, app: &App, charge: &Charge) -> impl Future<Output = Result<Outcome, JobError>> + Send;
}

/// The cards that customers have saved with the payment provider.
pub struct SavedCards;

impl Cards for SavedCards {
    async fn charge(&self, _: &App, charge: &Charge) -> Result<Outcome, JobError> {
        Err(JobError::Hopeless(format!("there is no card {}", charge.payment_method)))
    }
}

/// Whether the account has saved this card.
pub async fn is_own(_: &mut Conn, _: AccountId, _: Uuid) -> Result<bool, DbError> {
    Ok(false)
}
