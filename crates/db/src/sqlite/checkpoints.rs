//! Copies the WAL to the database file, beside the writer.
//!
//! SQLite by itself does it in the commit that finds the WAL long enough, and everybody who waits for the writer would wait
//! for thousands of pages and two syncs. Here another thread copies them while the writer goes on. The next commit copies
//! only what came meanwhile, after which the WAL can begin anew.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use rusqlite::Connection;

use super::connect;
use crate::conn::Access;
use crate::error::{DbError, Result};

/// Pages in the WAL at which it is copied.
const WAL_PAGES: i32 = 4000;
/// Pages more at which it is copied again while a reader keeps it from beginning anew.
const MORE_PAGES: i32 = 1000;

/// Nothing is to be done.
const IDLE: u8 = 0;
/// The thread copies the WAL.
const COPYING: u8 = 1;
/// It has, and the next commit copies the rest.
const COPIED: u8 = 2;
const STOPPED: u8 = 3;

/// The thread, which ends when this is dropped.
pub(super) struct Checkpoints {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Takes the checkpoints of the writer's connection over.
    pub(super) fn start(writer: &mut Connection, path: PathBuf, lock_timeout: Duration) -> Result<Checkpoints> {
        let state = Arc::new(AtomicU8::new(IDLE));
        let mut copier = Copier { path, lock_timeout, connection: None, state: Arc::clone(&state) };
        let run = move || copier.run();
        let thread = std::thread::Builder::new().name("sqlite-wal".into()).spawn(run).map_err(DbError::other)?;
        let mut wal = Wal { state: Arc::clone(&state), copier: thread.thread().clone(), pages: 0, due: WAL_PAGES };
        writer.wal_hook(Some(move |open: &mut rusqlite::hooks::Wal, pages| {
            if wal.has_rest(pages) {
                // As far as readers allow; the commit itself is done.
                let _ = open.checkpoint();
            }
            Ok(())
        }))?;
        Ok(Checkpoints { state, thread: Some(thread) })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.state.store(STOPPED, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// The WAL as the writer sees it.
struct Wal {
    state: Arc<AtomicU8>,
    copier: Thread,
    /// Its length after the last commit.
    pages: i32,
    /// The length at which it is copied next.
    due: i32,
}

impl Wal {
    /// Is told its length after each commit, and answers whether the rest is to be copied.
    fn has_rest(&mut self, pages: i32) -> bool {
        if pages < self.pages {
            self.due = WAL_PAGES;
        }
        self.pages = pages;
        // At any length: a WAL that began anew since its copy has no rest.
        let is_copied = self.state.compare_exchange(COPIED, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if pages < self.due {
            return false;
        }
        if is_copied {
            self.due = pages.saturating_add(MORE_PAGES);
        } else if self.state.compare_exchange(IDLE, COPYING, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.copier.unpark();
        }
        is_copied
    }
}

struct Copier {
    path: PathBuf,
    lock_timeout: Duration,
    /// Opened when it is needed first.
    connection: Option<Connection>,
    state: Arc<AtomicU8>,
}

impl Copier {
    fn run(&mut self) {
        loop {
            match self.state.load(Ordering::Acquire) {
                STOPPED => return,
                COPYING => {
                    if let Err(error) = self.copy() {
                        tracing::warn!(%error, "the WAL could not be copied; the writer will");
                    }
                    let _ = self.state.compare_exchange(COPYING, COPIED, Ordering::AcqRel, Ordering::Acquire);
                }
                _ => std::thread::park(),
            }
        }
    }

    /// Copies the pages that no reader needs as they were.
    fn copy(&mut self) -> Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(connect(&self.path, self.lock_timeout, Access::ReadWrite)?),
        };
        Ok(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wal() -> Wal {
        Wal { state: Arc::new(AtomicU8::new(IDLE)), copier: std::thread::current(), pages: 0, due: WAL_PAGES }
    }

    #[test]
    fn a_long_wal_is_copied_by_the_thread_and_its_rest_by_the_next_commit() {
        let mut wal = wal();
        assert!(!wal.has_rest(WAL_PAGES - 1));
        assert_eq!(wal.state.load(Ordering::Acquire), IDLE);
        assert!(!wal.has_rest(WAL_PAGES));
        assert_eq!(wal.state.load(Ordering::Acquire), COPYING);
        assert!(!wal.has_rest(WAL_PAGES + 10), "the thread is at it");
        wal.state.store(COPIED, Ordering::Release);
        assert!(wal.has_rest(WAL_PAGES + 20));
        assert_eq!(wal.state.load(Ordering::Acquire), IDLE);
    }

    #[test]
    fn a_wal_that_a_reader_keeps_is_copied_again_after_a_thousand_pages_more() {
        let mut wal = wal();
        assert!(!wal.has_rest(WAL_PAGES));
        wal.state.store(COPIED, Ordering::Release);
        assert!(wal.has_rest(WAL_PAGES));
        assert!(!wal.has_rest(WAL_PAGES + MORE_PAGES - 1));
        assert_eq!(wal.state.load(Ordering::Acquire), IDLE);
        assert!(!wal.has_rest(WAL_PAGES + MORE_PAGES));
        assert_eq!(wal.state.load(Ordering::Acquire), COPYING);
    }

    #[test]
    fn a_wal_that_began_anew_is_copied_at_its_usual_length() {
        let mut wal = wal();
        assert!(!wal.has_rest(9 * WAL_PAGES));
        wal.state.store(COPIED, Ordering::Release);
        assert!(wal.has_rest(9 * WAL_PAGES));
        assert!(!wal.has_rest(1));
        assert!(!wal.has_rest(WAL_PAGES));
        assert_eq!(wal.state.load(Ordering::Acquire), COPYING);
    }

    #[test]
    fn a_wal_that_began_anew_after_its_copy_is_copied_by_the_thread_again() {
        let mut wal = wal();
        assert!(!wal.has_rest(WAL_PAGES));
        wal.state.store(COPIED, Ordering::Release);
        assert!(!wal.has_rest(1));
        assert!(!wal.has_rest(WAL_PAGES), "not in the commit");
        assert_eq!(wal.state.load(Ordering::Acquire), COPYING);
    }
}
