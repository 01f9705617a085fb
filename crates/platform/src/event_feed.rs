//! The events that this node has read, for its open streams, and the places of those streams.
//!
//! One task of the node reads new events and hands them to all streams, so that a stream costs no query of its own
//! unless it is behind. A batch says which positions it covers: a stream that finds a gap reads the events itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Notify, broadcast, watch};

use values::{AccountId, UserId};

/// Batches that a slow stream may be behind before it has to read events itself.
const MAX_BEHIND: usize = 256;
/// Streams that a user may have open on one node.
pub const MAX_STREAMS: usize = 5;

/// An event as the streams send it.
pub struct FeedEvent {
    pub account: AccountId,
    pub position: i64,
    pub for_customer: Bytes,
    pub for_team: Bytes,
}

/// All listed events after one position and up to another.
pub struct FeedBatch {
    pub after: i64,
    pub through: i64,
    pub events: Vec<FeedEvent>,
}

#[derive(Clone)]
pub struct EventFeed {
    batches: broadcast::Sender<Arc<FeedBatch>>,
    /// Notified when this node has published events, or a stream was opened.
    news: Arc<Notify>,
    closing: watch::Sender<bool>,
    streams: Arc<Mutex<BTreeMap<UserId, usize>>>,
}

impl Default for EventFeed {
    fn default() -> Self {
        let (batches, _) = broadcast::channel(MAX_BEHIND);
        EventFeed { batches, news: Arc::default(), closing: watch::Sender::new(false), streams: Arc::default() }
    }
}

impl EventFeed {
    /// Whether a stream is open.
    pub fn has_streams(&self) -> bool {
        self.batches.receiver_count() > 0
    }

    pub fn send(&self, batch: FeedBatch) {
        // An error means that no stream is open.
        let _ = self.batches.send(Arc::new(batch));
    }

    pub fn subscribe(&self) -> broadcast::Receiver<Arc<FeedBatch>> {
        let batches = self.batches.subscribe();
        self.news.notify_one();
        batches
    }

    /// Makes the reader look for new events at once.
    pub fn announce(&self) {
        self.news.notify_one();
    }

    pub async fn wait_for_news(&self) {
        self.news.notified().await;
    }

    /// Ends all streams; new ones end at once.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// True once the streams end.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// A place for one more stream of this user, until it is dropped.
    pub fn enter(&self, user: UserId) -> Option<StreamPlace> {
        let mut streams = self.streams();
        let open = streams.entry(user).or_default();
        if *open >= MAX_STREAMS {
            return None;
        }
        *open += 1;
        Some(StreamPlace { feed: self.clone(), user })
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.streams().values().sum()
    }

    fn streams(&self) -> MutexGuard<'_, BTreeMap<UserId, usize>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of an open stream.
pub struct StreamPlace {
    feed: EventFeed,
    user: UserId,
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut streams = self.feed.streams();
        if let Some(open) = streams.get_mut(&self.user) {
            *open = open.saturating_sub(1);
            if *open == 0 {
                streams.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_user_has_five_places_and_gets_one_back_when_a_stream_ends() {
        let feed = EventFeed::default();
        let (one, other) = (UserId::new(Uuid::from_u128(1)), UserId::new(Uuid::from_u128(2)));
        let mut places: Vec<_> = (0..MAX_STREAMS).map(|_| feed.enter(one).unwrap()).collect();
        assert!(feed.enter(one).is_none());
        places.push(feed.enter(other).unwrap());
        places.remove(0);
        assert!(feed.enter(one).is_some());
        drop(places);
        assert_eq!(feed.open_streams(), 0);
    }
}
