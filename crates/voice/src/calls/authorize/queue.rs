//! Collects calls that are asked about at the same time. While some are decided, others wait here, and are then decided
//! together: the rows that they change and the commit that they wait for are mostly the same.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::group::{Outcome, authorize};
use super::{Attempt, Refusal};
use api::problem::{Code, Problem};

/// Maximum number of calls in one transaction.
const MAX_TOGETHER: usize = 128;

/// Bounded by the number of requests in progress.
#[derive(Default)]
pub struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Whether a task decides on those that wait.
    is_served: bool,
}

struct Waiting {
    attempt: Arc<Attempt>,
    outcome: oneshot::Sender<Outcome>,
}

impl Waiting {
    /// Does nothing if the request has gone away.
    fn send(self, outcome: Outcome) {
        let _ = self.outcome.send(outcome);
    }
}

impl Queue {
    pub async fn authorize(self: &Arc<Queue>, attempt: Attempt) -> Outcome {
        let attempt = Arc::new(attempt);
        if attempt.is_foreign() {
            return authorize_one(attempt).await;
        }
        let (outcome, decided) = oneshot::channel();
        if self.enter(Waiting { attempt, outcome }) {
            // A task of its own, so that a request that goes away does not stop the others.
            tokio::spawn(Arc::clone(self).serve());
        }
        decided.await.unwrap_or_else(|_| Err(not_decided()))
    }

    /// Whether a task must be started that serves the queue.
    fn enter(&self, waiting: Waiting) -> bool {
        let mut state = self.state();
        state.waiting.push(waiting);
        !std::mem::replace(&mut state.is_served, true)
    }

    /// Decides on all attempts, until none waits. A panic fails those that it hit.
    async fn serve(self: Arc<Queue>) {
        while let Some(next) = self.next() {
            if AssertUnwindSafe(decide(next)).catch_unwind().await.is_err() {
                tracing::error!("joint authorization panicked");
            }
        }
    }

    fn next(&self) -> Option<Vec<Waiting>> {
        let mut state = self.state();
        let number = state.waiting.len().min(MAX_TOGETHER);
        state.is_served = number > 0;
        (number > 0).then(|| state.waiting.drain(..number).collect())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_decided() -> Refusal {
    Refusal::Problem(Problem::internal("authorization decision was not made"))
}

async fn authorize_one(attempt: Arc<Attempt>) -> Outcome {
    authorize(vec![attempt]).await?.pop().unwrap_or_else(|| Err(not_decided()))
}

/// Decides together. If that fails, one by one, so that a call that cannot be decided fails alone.
async fn decide(mut waiting: Vec<Waiting>) {
    let failure = match authorize(waiting.iter().map(|it| Arc::clone(&it.attempt)).collect()).await {
        Ok(outcomes) => return waiting.into_iter().zip(outcomes).for_each(|(it, outcome)| it.send(outcome)),
        Err(failure) => failure,
    };
    if waiting.len() == 1
        && let Some(it) = waiting.pop()
    {
        return it.send(Err(failure));
    }
    let cause = if let Refusal::Problem(problem) = &failure { problem.cause() } else { None };
    tracing::warn!(calls = waiting.len(), ?cause, "joint authorization failed, deciding one by one");
    let mut is_unavailable = is_unavailable(&failure);
    for it in waiting {
        // Do not wait again for a database that was unavailable a moment ago.
        let outcome = match is_unavailable {
            true => Err(Refusal::Problem(Problem::unavailable("The database is unavailable; try again."))),
            false => authorize_one(Arc::clone(&it.attempt)).await,
        };
        is_unavailable = outcome.as_ref().is_err_and(self::is_unavailable);
        it.send(outcome);
    }
}

fn is_unavailable(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Problem(problem) if problem.code() == Code::ServiceUnavailable)
}
