//! Collects calls that are asked about at the same time. While some are decided, others wait here, and are then decided
//! together: the rows that they change and the commit that they wait for are mostly the same.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};

use super::group::{Outcome, authorize};
use super::{Attempt, Refusal};
use api::problem::{Code, Problem};

/// Maximum number of calls in one transaction.
const MAX_TOGETHER: usize = 128;
/// How often other tasks may run without another call before those that wait are decided.
const MAX_TURNS: usize = 32;
/// Maximum number of calls that wait here; more wait to get in.
const MAX_WAITING: usize = 1024;

pub struct Queue(mpsc::Sender<Waiting>);

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
    /// Serves the queue until it is dropped, in a task of its own: a request that goes away does not stop the others.
    pub fn start() -> Queue {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        tokio::spawn(serve(receiver));
        Queue(sender)
    }

    pub async fn authorize(&self, attempt: Attempt) -> Outcome {
        let attempt = Arc::new(attempt);
        if attempt.is_foreign() {
            return authorize_one(attempt).await;
        }
        let (outcome, decided) = oneshot::channel();
        // If it cannot be sent, it is dropped and will not be decided.
        let _ = self.0.send(Waiting { attempt, outcome }).await;
        decided.await.unwrap_or_else(|_| Err(not_decided()))
    }
}

/// Decides on those that wait, again and again. A panic fails those that it hit.
async fn serve(mut receiver: mpsc::Receiver<Waiting>) {
    let (mut waiting, mut last) = (Vec::new(), 0);
    while receiver.recv_many(&mut waiting, MAX_TOGETHER).await > 0 {
        gather(&mut receiver, &mut waiting, last).await;
        last = waiting.len();
        if AssertUnwindSafe(decide(std::mem::take(&mut waiting))).catch_unwind().await.is_err() {
            tracing::error!("joint authorization panicked");
        }
    }
}

/// Lets other tasks run as long as that brings more calls, up to as many as were decided together before. Those who are
/// answered together ask again together: the first of them alone would make all others wait for its commit.
async fn gather(receiver: &mut mpsc::Receiver<Waiting>, waiting: &mut Vec<Waiting>, last: usize) {
    let mut turns = 0;
    while waiting.len() < last && turns < MAX_TURNS {
        tokio::task::yield_now().await;
        turns += 1;
        while waiting.len() < MAX_TOGETHER
            && let Ok(next) = receiver.try_recv()
        {
            waiting.push(next);
            turns = 0;
        }
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
