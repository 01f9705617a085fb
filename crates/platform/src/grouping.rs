//! Collects requests that arrive at the same time and processes them in groups: the rows that they change and the commit
//! that they wait for are mostly the same.
//!
//! Two groups are in flight at most. While one is in the database, the clients of the other send their next requests: with
//! all of them in one group, either the database or the clients would always wait.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Maximum size of a group.
const MAX_SIZE: usize = 128;
const MAX_GROUPS: usize = 2;
/// Fewer than this many are one group: two small ones that wait for the same rows take twice as long, on every node.
const MIN_TO_SPLIT: usize = 16;
/// How often other tasks may run without another request before those that wait are processed.
const MAX_TURNS: usize = 32;
/// Maximum number that wait here; more wait to get in.
const MAX_WAITING: usize = 1024;

/// Requests, and who waits for the outcome.
type Waiting<R, O> = Vec<(R, oneshot::Sender<O>)>;

pub struct Grouping<R, O>(mpsc::Sender<(R, oneshot::Sender<O>)>);

impl<R: Send + 'static, O: Send + 'static> Grouping<R, O> {
    /// Serves the queue until it is dropped, in a task of its own: a request that goes away does not stop the others.
    /// `process` returns the outcomes of a group's requests, in their order.
    pub fn start<F: Future<Output = Vec<O>> + Send + 'static>(
        process: impl Fn(Vec<R>) -> F + Send + 'static,
    ) -> Grouping<R, O> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        tokio::spawn(serve(receiver, process));
        Grouping(sender)
    }

    /// None if it was not processed, such as after a panic.
    pub async fn submit(&self, request: R) -> Option<O> {
        let (sender, outcome) = oneshot::channel();
        self.0.send((request, sender)).await.ok()?;
        outcome.await.ok()
    }
}

async fn serve<R: Send + 'static, O: Send + 'static, F: Future<Output = Vec<O>> + Send + 'static>(
    mut receiver: mpsc::Receiver<(R, oneshot::Sender<O>)>,
    process: impl Fn(Vec<R>) -> F,
) {
    let (mut groups, mut waiting) = (JoinSet::new(), Vec::new());
    // Requests in flight, and all that were there when the last group began.
    let (mut in_flight, mut last_total) = (0, 0);
    loop {
        if groups.is_empty() && !waiting.is_empty() {
            gather(&mut receiver, &mut waiting, last_total).await;
        }
        let size = match waiting.len() + in_flight {
            few if few < MIN_TO_SPLIT => waiting.len(),
            all => all.div_ceil(MAX_GROUPS),
        };
        let is_due = groups.is_empty() || (groups.len() < MAX_GROUPS && waiting.len() >= size);
        if is_due && !waiting.is_empty() {
            last_total = waiting.len() + in_flight;
            let group: Waiting<R, O> = waiting.drain(..size).collect();
            let (requests, senders): (Vec<R>, Vec<_>) = group.into_iter().unzip();
            let outcomes = AssertUnwindSafe(process(requests)).catch_unwind();
            in_flight += size;
            groups.spawn(async move {
                match outcomes.await {
                    // Does nothing for a client that has gone away.
                    Ok(outcomes) => senders.into_iter().zip(outcomes).for_each(|(sender, it)| drop(sender.send(it))),
                    Err(_) => tracing::error!(size, "processing a group of requests panicked"),
                }
                size
            });
            continue;
        }
        let room = MAX_SIZE.saturating_sub(waiting.len());
        tokio::select! {
            received = receiver.recv_many(&mut waiting, room), if room > 0 => {
                if received == 0 {
                    break;
                }
            }
            Some(ended) = groups.join_next() => in_flight -= ended.unwrap_or_default(),
        }
    }
    groups.join_all().await;
}

/// Lets other tasks run as long as that brings more requests, up to this many. Clients that were answered together send
/// their next requests together: the first of them alone would make all others wait for its commit.
async fn gather<R, O>(
    receiver: &mut mpsc::Receiver<(R, oneshot::Sender<O>)>,
    waiting: &mut Waiting<R, O>,
    wanted: usize,
) {
    let mut turns = 0;
    while waiting.len() < wanted && turns < MAX_TURNS {
        tokio::task::yield_now().await;
        turns += 1;
        while waiting.len() < MAX_SIZE
            && let Ok(next) = receiver.try_recv()
        {
            waiting.push(next);
            turns = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn every_request_gets_its_own_outcome_and_two_groups_at_most_are_in_flight() {
        let (now, most, largest) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let seen = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&largest));
        let grouping = Arc::new(Grouping::start(move |requests: Vec<usize>| {
            let (now, most, largest) = seen.clone();
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                largest.fetch_max(requests.len(), Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                requests.into_iter().map(|it| it * 2).collect()
            }
        }));
        let clients = (0..300).map(|client| {
            let grouping = Arc::clone(&grouping);
            tokio::spawn(async move {
                for round in 0..20 {
                    assert_eq!(grouping.submit(client * 100 + round).await, Some((client * 100 + round) * 2));
                }
            })
        });
        future::try_join_all(clients).await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), MAX_GROUPS);
        assert!((2..=MAX_SIZE).contains(&largest.load(Ordering::SeqCst)));
    }

    #[tokio::test]
    async fn concurrent_requests_settle_into_two_groups_of_the_same_size() {
        let sizes = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (seen, gate) = (Arc::clone(&sizes), Arc::new(Semaphore::new(0)));
        let opened = Arc::clone(&gate);
        let grouping = Arc::new(Grouping::start(move |requests: Vec<usize>| {
            let (seen, gate) = (Arc::clone(&seen), Arc::clone(&gate));
            async move {
                // One group at a time, as in a database with one writer.
                gate.acquire().await.unwrap().forget();
                seen.lock().unwrap().push(requests.len());
                requests
            }
        }));
        let clients = (0..32).map(|client| {
            let grouping = Arc::clone(&grouping);
            tokio::spawn(async move {
                for _ in 0..40 {
                    grouping.submit(client).await.unwrap();
                }
            })
        });
        let writer = tokio::spawn(async move {
            loop {
                for _ in 0..200 {
                    tokio::task::yield_now().await;
                }
                opened.add_permits(1);
            }
        });
        future::try_join_all(clients).await.unwrap();
        writer.abort();
        let sizes = sizes.lock().unwrap();
        let settled = sizes.get(4..40).unwrap();
        assert!(settled.iter().all(|size| *size == 16), "{sizes:?}");
    }

    #[tokio::test]
    async fn a_panic_fails_those_that_it_hit_and_no_other() {
        let grouping = Grouping::start(|requests: Vec<bool>| async move {
            assert!(requests.iter().all(|is_good| *is_good));
            requests
        });
        assert_eq!(grouping.submit(true).await, Some(true));
        assert_eq!(grouping.submit(false).await, None);
        assert_eq!(grouping.submit(true).await, Some(true));
    }
}
