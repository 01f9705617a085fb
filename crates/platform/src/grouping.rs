//! Collects what is asked for at the same time, so that it is done together: the rows that it changes and the commit that
//! it waits for are mostly the same.
//!
//! Two groups are under way at most. While one is in the database, those who were answered with the other ask again: were
//! all in one group, either the database or the requests would always wait.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Maximum size of a group.
const MAX_SIZE: usize = 128;
const MAX_GROUPS: usize = 2;
/// Fewer than this many are one group.
const MIN_TO_SPLIT: usize = 8;
/// How often other tasks may run without another question before those that wait are answered.
const MAX_TURNS: usize = 32;
/// Maximum number that wait here; more wait to get in.
const MAX_WAITING: usize = 1024;

/// Questions, and who waits for the answer.
type Waiting<Q, A> = Vec<(Q, oneshot::Sender<A>)>;

pub struct Grouping<Q, A>(mpsc::Sender<(Q, oneshot::Sender<A>)>);

impl<Q: Send + 'static, A: Send + 'static> Grouping<Q, A> {
    /// Serves the queue until it is dropped, in a task of its own: a request that goes away does not stop the others.
    /// `answer` answers the questions of a group, in their order.
    pub fn start<F: Future<Output = Vec<A>> + Send + 'static>(
        answer: impl Fn(Vec<Q>) -> F + Send + 'static,
    ) -> Grouping<Q, A> {
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        tokio::spawn(serve(receiver, answer));
        Grouping(sender)
    }

    /// None if it was not answered, such as after a panic.
    pub async fn ask(&self, question: Q) -> Option<A> {
        let (sender, answer) = oneshot::channel();
        self.0.send((question, sender)).await.ok()?;
        answer.await.ok()
    }
}

async fn serve<Q: Send + 'static, A: Send + 'static, F: Future<Output = Vec<A>> + Send + 'static>(
    mut receiver: mpsc::Receiver<(Q, oneshot::Sender<A>)>,
    answer: impl Fn(Vec<Q>) -> F,
) {
    let (mut groups, mut waiting) = (JoinSet::new(), Vec::new());
    // Questions that are being answered, and all that were asked when the last group began.
    let (mut in_groups, mut asked) = (0, 0);
    loop {
        if groups.is_empty() && !waiting.is_empty() {
            gather(&mut receiver, &mut waiting, asked).await;
        }
        let size = match waiting.len() + in_groups {
            few if few < MIN_TO_SPLIT => waiting.len(),
            all => all.div_ceil(MAX_GROUPS),
        };
        let is_due = groups.is_empty() || (groups.len() < MAX_GROUPS && waiting.len() >= size);
        if is_due && !waiting.is_empty() {
            asked = waiting.len() + in_groups;
            let group: Waiting<Q, A> = waiting.drain(..size).collect();
            let (questions, senders): (Vec<Q>, Vec<_>) = group.into_iter().unzip();
            let answers = AssertUnwindSafe(answer(questions)).catch_unwind();
            in_groups += size;
            groups.spawn(async move {
                match answers.await {
                    // Does nothing for a request that has gone away.
                    Ok(answers) => senders.into_iter().zip(answers).for_each(|(sender, it)| drop(sender.send(it))),
                    Err(_) => tracing::error!(size, "answering a group panicked"),
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
            Some(ended) = groups.join_next() => in_groups -= ended.unwrap_or_default(),
        }
    }
    groups.join_all().await;
}

/// Lets other tasks run as long as that brings more questions, up to this many. Those who are answered together ask again
/// together: the first of them alone would make all others wait for its commit.
async fn gather<Q, A>(
    receiver: &mut mpsc::Receiver<(Q, oneshot::Sender<A>)>,
    waiting: &mut Waiting<Q, A>,
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
    async fn everybody_gets_the_answer_to_their_own_question_and_no_more_than_two_groups_are_under_way() {
        let (now, most, largest) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let seen = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&largest));
        let grouping = Arc::new(Grouping::start(move |questions: Vec<usize>| {
            let (now, most, largest) = seen.clone();
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                largest.fetch_max(questions.len(), Ordering::SeqCst);
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, Ordering::SeqCst);
                questions.into_iter().map(|it| it * 2).collect()
            }
        }));
        let clients = (0..300).map(|client| {
            let grouping = Arc::clone(&grouping);
            tokio::spawn(async move {
                for round in 0..20 {
                    assert_eq!(grouping.ask(client * 100 + round).await, Some((client * 100 + round) * 2));
                }
            })
        });
        future::try_join_all(clients).await.unwrap();
        assert_eq!(most.load(Ordering::SeqCst), MAX_GROUPS);
        assert!((2..=MAX_SIZE).contains(&largest.load(Ordering::SeqCst)));
    }

    #[tokio::test]
    async fn those_who_ask_at_the_same_time_come_to_be_in_two_groups_of_the_same_size() {
        let sizes = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (seen, gate) = (Arc::clone(&sizes), Arc::new(Semaphore::new(0)));
        let opened = Arc::clone(&gate);
        let grouping = Arc::new(Grouping::start(move |questions: Vec<usize>| {
            let (seen, gate) = (Arc::clone(&seen), Arc::clone(&gate));
            async move {
                // One group at a time, as in a database with one writer.
                gate.acquire().await.unwrap().forget();
                seen.lock().unwrap().push(questions.len());
                questions
            }
        }));
        let clients = (0..32).map(|client| {
            let grouping = Arc::clone(&grouping);
            tokio::spawn(async move {
                for _ in 0..40 {
                    grouping.ask(client).await.unwrap();
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
        let grouping = Grouping::start(|questions: Vec<bool>| async move {
            assert!(questions.iter().all(|is_good| *is_good));
            questions
        });
        assert_eq!(grouping.ask(true).await, Some(true));
        assert_eq!(grouping.ask(false).await, None);
        assert_eq!(grouping.ask(true).await, Some(true));
    }
}
