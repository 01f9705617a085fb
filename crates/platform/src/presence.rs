//! This node, and the edges that called it since it last reported them. `backoffice` writes both to the database.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use db::Entropy;
use values::Time;

/// More edges than an installation has; further ones are not listed.
const MAX_EDGES: usize = 1000;

pub struct Presence {
    pub node_id: Uuid,
    pub started_at: Time,
    edges: Mutex<BTreeMap<String, Time>>,
}

impl Presence {
    pub fn new(now: Time) -> Presence {
        Presence { node_id: Entropy.uuid(now), started_at: now, edges: Mutex::default() }
    }

    /// Notes that an edge called.
    pub fn saw_edge(&self, edge: &str, now: Time) {
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(seen_at) = edges.get_mut(edge) {
            *seen_at = now;
        } else if edges.len() < MAX_EDGES {
            edges.insert(edge.to_owned(), now);
        }
    }

    /// The edges that called since this was asked last, and when.
    pub fn take_edges(&self) -> BTreeMap<String, Time> {
        std::mem::take(&mut *self.edges.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_reported_once_with_its_last_call() {
        let presence = Presence::new(Time::from_seconds(0));
        presence.saw_edge("edge-1", Time::from_seconds(1));
        presence.saw_edge("edge-1", Time::from_seconds(2));
        assert_eq!(presence.take_edges(), [("edge-1".to_owned(), Time::from_seconds(2))].into());
        assert!(presence.take_edges().is_empty());
    }
}
