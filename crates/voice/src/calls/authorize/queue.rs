//! Calls of one trunk take from the same rows, so those who ask at the same time would wait for each other's commits.
//! Instead they wait here while one is decided on, and then go together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use tokio::sync::oneshot;

use super::{Asked, Refusal, Source, begin, begin_together};
use crate::calls::types::Allowed;
use api::problem::{Code, Problem};
use values::TrunkId;

/// How many are decided on in one transaction.
const TOGETHER: usize = 64;

type Outcome = Result<Allowed, Refusal>;
/// Calls with the same place are allowed by the same facts.
type Place = (TrunkId, Option<String>);

/// Who waits at each place where decisions are being made; as many as requests are being answered, and no more.
#[derive(Default)]
pub struct Queue(Mutex<HashMap<Place, Vec<Waiting>>>);

struct Waiting {
    asked: Arc<Asked>,
    outcome: oneshot::Sender<Outcome>,
}

impl Waiting {
    /// Unless whoever asked has gone away.
    fn hear(self, outcome: Outcome) {
        let _ = self.outcome.send(outcome);
    }
}

impl Queue {
    pub async fn begin(self: &Arc<Queue>, asked: Asked) -> Outcome {
        let asked = Arc::new(asked);
        let Source::Trunk(trunk) = asked.source else { return begin(asked).await };
        let place = (trunk, asked.zone.clone());
        let (outcome, decided) = oneshot::channel();
        let waiting = Waiting { asked, outcome };
        let is_first = match self.places().entry(place.clone()) {
            Entry::Occupied(mut others) => {
                others.get_mut().push(waiting);
                false
            }
            Entry::Vacant(place) => {
                place.insert(vec![waiting]);
                true
            }
        };
        if is_first {
            // A caller who goes away takes nobody along.
            tokio::spawn(Arc::clone(self).serve(place));
        }
        decided.await.unwrap_or_else(|_| Err(Refusal::Problem(Problem::internal("a decision was never made"))))
    }

    /// Decides for all at this place, until nobody waits there.
    async fn serve(self: Arc<Queue>, place: Place) {
        let work = async {
            while let Some(next) = self.next(&place) {
                decide(next).await;
            }
        };
        if AssertUnwindSafe(work).catch_unwind().await.is_err() {
            self.places().remove(&place);
        }
    }

    fn next(&self, place: &Place) -> Option<Vec<Waiting>> {
        let mut places = self.places();
        let waiting = places.get_mut(place)?;
        if waiting.is_empty() {
            places.remove(place);
            return None;
        }
        let number = waiting.len().min(TOGETHER);
        Some(waiting.drain(..number).collect())
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Place, Vec<Waiting>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Together if they can all begin, and otherwise one by one.
async fn decide(waiting: Vec<Waiting>) {
    let mut is_away = false;
    if waiting.len() > 1 {
        match begin_together(waiting.iter().map(|it| Arc::clone(&it.asked)).collect()).await {
            Ok(allowed) => return waiting.into_iter().zip(allowed).for_each(|(it, allowed)| it.hear(Ok(allowed))),
            Err(Refusal::Behind(versions)) => {
                return waiting.into_iter().for_each(|it| it.hear(Err(Refusal::Behind(versions))));
            }
            Err(Refusal::Problem(problem)) => {
                is_away = problem.code() == Code::ServiceUnavailable;
                tracing::warn!(calls = waiting.len(), cause = ?problem.cause(), "calls could not be decided on together");
            }
            Err(Refusal::Short | Refusal::Denied(_) | Refusal::DaySpent(_)) => {}
        }
    }
    for it in waiting {
        // Nobody waits for a database that has kept somebody before them waiting in vain.
        let outcome = match is_away {
            true => Err(Refusal::Problem(Problem::unavailable("The database does not answer; try again."))),
            false => begin(Arc::clone(&it.asked)).await,
        };
        is_away |= matches!(&outcome, Err(Refusal::Problem(why)) if why.code() == Code::ServiceUnavailable);
        it.hear(outcome);
    }
}
