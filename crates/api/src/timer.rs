//! The timer of a connection.
//!
//! Hyper asks for a new timer while it waits for a request and drops it when the request arrives. All of them share
//! one tokio timer, which is not reset each time: if it fires early, it is set again. So a busy connection rarely
//! touches the timer wheel that all connections share.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::time::Instant;

#[derive(Clone)]
pub struct ConnectionTimer(Arc<Mutex<Pin<Box<tokio::time::Sleep>>>>);

impl Default for ConnectionTimer {
    fn default() -> ConnectionTimer {
        ConnectionTimer(Arc::new(Mutex::new(Box::pin(tokio::time::sleep(Duration::ZERO)))))
    }
}

impl Timer for ConnectionTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { timer: self.clone(), deadline: Instant::now() + duration })
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { timer: self.clone(), deadline: deadline.into() })
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into()
    }
}

struct Wait {
    timer: ConnectionTimer,
    deadline: Instant,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut timer = self.timer.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if timer.is_elapsed() || timer.deadline() > self.deadline {
                timer.as_mut().reset(self.deadline);
            }
            ready!(timer.as_mut().poll(context));
            if timer.deadline() >= self.deadline {
                return Poll::Ready(());
            }
        }
    }
}

impl Sleep for Wait {}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SOON: Duration = Duration::from_millis(1);
    const LATE: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn a_dropped_sleep_does_not_change_when_the_next_one_ends() {
        let timer = ConnectionTimer::default();
        let wait = |duration| Wait { timer: timer.clone(), deadline: Instant::now() + duration };
        for dropped in [SOON, LATE, SOON] {
            assert_eq!(wait(dropped).now_or_never(), None);
            let next = wait(5 * SOON);
            let deadline = next.deadline;
            next.await;
            assert!(Instant::now() >= deadline);
            assert_eq!(wait(LATE).now_or_never(), None);
        }
    }
}
