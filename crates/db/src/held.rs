//! Which tasks hold a connection.
//!
//! A connection that is held while another service is awaited is missing for everybody else for as long as that service
//! hangs. So everything that leaves the process begins with [`assert_no_connection_held`], which debug builds check, and
//! so every test. Tasks are told apart by their id: what one task does concurrently must not mix the two.

#[cfg(debug_assertions)]
use std::collections::HashMap;
#[cfg(debug_assertions)]
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

#[cfg(debug_assertions)]
use tokio::task::{Id, try_id};

#[cfg(debug_assertions)]
static HELD: LazyLock<Mutex<HashMap<Id, usize>>> = LazyLock::new(Mutex::default);

#[cfg(debug_assertions)]
fn held() -> MutexGuard<'static, HashMap<Id, usize>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says, until it is dropped, that the current task holds a connection.
pub(crate) struct Hold(#[cfg(debug_assertions)] Option<Id>);

#[cfg(debug_assertions)]
impl Hold {
    pub(crate) fn new() -> Hold {
        let task = try_id();
        if let Some(task) = task {
            *held().entry(task).or_default() += 1;
        }
        Hold(task)
    }
}

#[cfg(debug_assertions)]
impl Drop for Hold {
    fn drop(&mut self) {
        let Some(task) = self.0 else { return };
        let mut held = held();
        match held.get_mut(&task) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(held.remove(&task)),
        }
    }
}

#[cfg(not(debug_assertions))]
impl Hold {
    pub(crate) fn new() -> Hold {
        Hold()
    }
}

/// Panics in debug builds if the current task holds a connection. Call it before anything outside is awaited.
#[track_caller]
pub fn assert_no_connection_held() {
    #[cfg(debug_assertions)]
    {
        let count = try_id().and_then(|task| held().get(&task).copied()).unwrap_or(0);
        assert!(count == 0, "another service is called while {count} database connections are held");
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn a_connection_held_by_the_task_is_noticed() {
        let outcome = tokio::spawn(async {
            let _held = Hold::new();
            assert_no_connection_held();
        });
        assert!(outcome.await.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn a_returned_connection_and_that_of_another_task_are_not() {
        let outcome = tokio::spawn(async {
            let held = Hold::new();
            tokio::spawn(async { assert_no_connection_held() }).await.unwrap();
            drop(held);
            assert_no_connection_held();
        });
        outcome.await.unwrap();
    }
}
