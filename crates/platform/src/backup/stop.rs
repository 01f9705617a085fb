//! Interrupting a backup.

use std::io;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tells a backup to stop: it then fails.
#[derive(Clone, Default)]
pub struct Stop(Arc<StopState>);

#[derive(Default)]
struct StopState {
    is_requested: AtomicBool,
    /// The program that the backup waits for.
    program: Mutex<Option<Child>>,
}

impl Stop {
    pub fn request(&self) {
        self.0.is_requested.store(true, Ordering::SeqCst);
        self.kill_program();
    }

    pub(super) fn check(&self) -> io::Result<()> {
        let is_requested = self.0.is_requested.load(Ordering::SeqCst);
        if is_requested { Err(io::Error::other("the backup was interrupted")) } else { Ok(()) }
    }

    /// Kills this program too, until it is [taken back](Stop::take_program).
    pub(super) fn watch_program(&self, program: Child) {
        *self.program() = Some(program);
        if self.check().is_err() {
            self.kill_program();
        }
    }

    pub(super) fn take_program(&self) -> Option<Child> {
        self.program().take()
    }

    fn kill_program(&self) {
        if let Some(program) = self.program().as_mut() {
            // It fails if the program has ended.
            let _ = program.kill();
        }
    }

    fn program(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
