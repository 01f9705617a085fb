//! Decides on calls of one trunk together. They change the same rows, so requests at the same time would wait for each
//! other's commits; instead they queue here while one decision is made, and are then decided in one transaction.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::{Attempt, Refusal, Source, authorize_one, authorize_together};
use crate::calls::types::Allowed;
use api::problem::{Code, Problem};
use values::TrunkId;

/// Maximum number of calls in one transaction.
const MAX_TOGETHER: usize = 64;

type Outcome = Result<Allowed, Refusal>;
/// Trunk and zone: calls with the same key have the same context.
type QueueKey = (TrunkId, Option<String>);

/// Attempts that wait, by key. A key is present while a task serves it. Bounded by the number of requests in progress.
#[derive(Default)]
pub struct Queue(Mutex<HashMap<QueueKey, Vec<Waiting>>>);

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
        let Source::Trunk(trunk, _) = attempt.source else { return authorize_one(attempt).await };
        let key = (trunk, attempt.zone.clone());
        let (outcome, decided) = oneshot::channel();
        let waiting = Waiting { attempt, outcome };
        let is_first = match self.keys().entry(key.clone()) {
            Entry::Occupied(mut others) => {
                others.get_mut().push(waiting);
                false
            }
            Entry::Vacant(entry) => {
                entry.insert(vec![waiting]);
                true
            }
        };
        if is_first {
            // A task of its own, so that a request that goes away does not stop the others.
            tokio::spawn(Arc::clone(self).serve(key));
        }
        decided
            .await
            .unwrap_or_else(|_| Err(Refusal::Problem(Problem::internal("authorization decision was not made"))))
    }

    /// Decides on all attempts of a key, until none waits.
    async fn serve(self: Arc<Queue>, key: QueueKey) {
        let work = async {
            while let Some(next) = self.next(&key) {
                decide(next).await;
            }
        };
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            self.keys().remove(&key);
        }
    }

    fn next(&self, key: &QueueKey) -> Option<Vec<Waiting>> {
        let mut keys = self.keys();
        let waiting = keys.get_mut(key)?;
        if waiting.is_empty() {
            keys.remove(key);
            return None;
        }
        let number = waiting.len().min(MAX_TOGETHER);
        Some(waiting.drain(..number).collect())
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<QueueKey, Vec<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decides together if all may begin, otherwise one by one.
async fn decide(waiting: Vec<Waiting>) {
    let mut is_unavailable = false;
    if waiting.len() > 1 {
        match authorize_together(waiting.iter().map(|it| Arc::clone(&it.attempt)).collect()).await {
            Ok(allowed) => return waiting.into_iter().zip(allowed).for_each(|(it, allowed)| it.send(Ok(allowed))),
            Err(Refusal::Behind(versions)) => {
                return waiting.into_iter().for_each(|it| it.send(Err(Refusal::Behind(versions))));
            }
            Err(Refusal::Problem(problem)) => {
                is_unavailable = problem.code() == Code::ServiceUnavailable;
                let cause = problem.cause();
                tracing::warn!(calls = waiting.len(), ?cause, "joint authorization failed, deciding one by one");
            }
            Err(Refusal::Short | Refusal::Moved | Refusal::Denied(_) | Refusal::FraudCap(_)) => {}
        }
    }
    for it in waiting {
        // Do not wait again for a database that was unavailable a moment ago.
        let outcome = match is_unavailable {
            true => Err(Refusal::Problem(Problem::unavailable("The database is unavailable; try again."))),
            false => authorize_one(Arc::clone(&it.attempt)).await,
        };
        is_unavailable |= matches!(&outcome, Err(Refusal::Problem(why)) if why.code() == Code::ServiceUnavailable);
        it.send(outcome);
    }
}
