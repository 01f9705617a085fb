//! Authorization requests that arrive at the same time are decided together; see [`platform::grouping`].

use std::sync::Arc;

use super::group::{Outcome, authorize};
use super::{Attempt, Refusal};
use api::problem::{Code, Problem};
use platform::grouping::Grouping;

pub struct Queue(Grouping<Arc<Attempt>, Outcome>);

impl Queue {
    pub fn start() -> Queue {
        Queue(Grouping::start(decide))
    }

    pub async fn authorize(&self, attempt: Attempt) -> Outcome {
        let attempt = Arc::new(attempt);
        if attempt.is_foreign() {
            return authorize_one(attempt).await;
        }
        self.0.submit(attempt).await.unwrap_or_else(|| Err(not_decided()))
    }
}

fn not_decided() -> Refusal {
    Refusal::Problem(Problem::internal("authorization decision was not made"))
}

async fn authorize_one(attempt: Arc<Attempt>) -> Outcome {
    authorize(vec![attempt]).await?.pop().unwrap_or_else(|| Err(not_decided()))
}

/// Decides together. If that fails, one by one, so that a call that cannot be decided fails alone.
async fn decide(attempts: Vec<Arc<Attempt>>) -> Vec<Outcome> {
    let failure = match authorize(attempts.clone()).await {
        Ok(outcomes) => return outcomes,
        Err(failure) => failure,
    };
    if attempts.len() == 1 {
        return vec![Err(failure)];
    }
    let cause = if let Refusal::Problem(problem) = &failure { problem.cause() } else { None };
    tracing::warn!(calls = attempts.len(), ?cause, "joint authorization failed, deciding one by one");
    let mut is_unavailable = is_unavailable(&failure);
    let mut outcomes = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        // Do not wait again for a database that was unavailable a moment ago.
        let outcome = match is_unavailable {
            true => Err(Refusal::Problem(Problem::unavailable("The database is unavailable; try again."))),
            false => authorize_one(attempt).await,
        };
        is_unavailable = outcome.as_ref().is_err_and(self::is_unavailable);
        outcomes.push(outcome);
    }
    outcomes
}

fn is_unavailable(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Problem(problem) if problem.code() == Code::ServiceUnavailable)
}
