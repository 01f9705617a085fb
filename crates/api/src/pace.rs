//! How long the service waits for a client: a body must arrive at a minimum rate, and an answer must be read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Bytes per second that a body must have on average over each window.
const MIN_BODY_RATE: u64 = 1024;
/// An answer may stall for this many windows: the system's buffers make slow readers look as if they had stopped.
const ANSWER_WINDOWS: u32 = 3;

/// The minimum rate of one body.
pub struct BodyPace {
    window: Duration,
    arrived: u64,
    timer: Option<Pin<Box<Sleep>>>,
}

impl BodyPace {
    pub fn new(window: Duration) -> BodyPace {
        BodyPace { window, arrived: 0, timer: None }
    }

    pub fn add(&mut self, bytes: usize) {
        self.arrived = self.arrived.saturating_add(bytes as u64);
    }

    /// To be called while the client has nothing to read: ready once it was too slow.
    pub fn poll_too_slow(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let enough = (self.window.as_secs_f64() * MIN_BODY_RATE as f64) as u64;
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.window)));
        loop {
            ready!(timer.as_mut().poll(context));
            if self.arrived < enough {
                return Poll::Ready(());
            }
            self.arrived = 0;
            timer.as_mut().reset(Instant::now() + self.window);
        }
    }
}

/// The deadline of writes to one connection, which begins anew whenever the client reads.
pub struct WriteDeadline {
    limit: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl WriteDeadline {
    pub fn new(window: Duration) -> WriteDeadline {
        WriteDeadline { limit: window * ANSWER_WINDOWS, timer: None }
    }

    /// The outcome of a write, or an error if the client has not read for too long.
    pub fn watch<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.timer = None;
            return written;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.limit)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt;

    use super::*;

    const WINDOW: Duration = Duration::from_millis(5);

    #[tokio::test]
    async fn a_body_is_too_slow_in_the_first_window_that_brings_too_little() {
        let mut pace = BodyPace::new(WINDOW);
        pace.add(3);
        poll_fn(|context| pace.poll_too_slow(context)).await;
        assert_eq!(pace.arrived, 3);
        let mut pace = BodyPace::new(WINDOW);
        pace.add(1000);
        poll_fn(|context| pace.poll_too_slow(context)).await;
        assert_eq!(pace.arrived, 0, "the first window brought enough");
    }

    #[tokio::test]
    async fn a_write_fails_only_without_progress() {
        let mut deadline = WriteDeadline::new(WINDOW);
        let waits = poll_fn(|context| deadline.watch::<()>(context, Poll::Pending)).now_or_never();
        assert!(waits.is_none() && deadline.timer.is_some());
        let progress = poll_fn(|context| deadline.watch(context, Poll::Ready(Ok(1)))).await;
        assert!(progress.is_ok() && deadline.timer.is_none());
        let stalled = poll_fn(|context| deadline.watch::<()>(context, Poll::Pending)).await;
        assert_eq!(stalled.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut));
    }
}
