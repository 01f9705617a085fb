//! The timer of a connection.
//!
//! Hyper asks for a new timer while it waits for a request, and drops it once the request is there. All of them share one
//! of the runtime's, which stays as it is when the next is asked for: it rings early then, and is set anew. So a busy
//! connection touches what all connections share once in a while, not twice a request.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::{Sleep, Timer};
use tokio::time::Instant;

#[derive(Clone)]
pub struct Alarm(Arc<Mutex<Pin<Box<tokio::time::Sleep>>>>);

impl Default for Alarm {
    fn default() -> Alarm {
        Alarm(Arc::new(Mutex::new(Box::pin(tokio::time::sleep(Duration::ZERO)))))
    }
}

impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { alarm: self.clone(), deadline: Instant::now() + duration })
    }

    fn sleep_until(&self, deadline: std::time::Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Wait { alarm: self.clone(), deadline: deadline.into() })
    }

    fn now(&self) -> std::time::Instant {
        Instant::now().into()
    }
}

struct Wait {
    alarm: Alarm,
    deadline: Instant,
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut alarm = self.alarm.0.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if alarm.is_elapsed() || alarm.deadline() > self.deadline {
                alarm.as_mut().reset(self.deadline);
            }
            ready!(alarm.as_mut().poll(context));
            if alarm.deadline() >= self.deadline {
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
    async fn a_wait_that_was_given_up_neither_hastens_nor_delays_the_next() {
        let alarm = Alarm::default();
        let wait = |duration| Wait { alarm: alarm.clone(), deadline: Instant::now() + duration };
        for given_up in [SOON, LATE, SOON] {
            assert_eq!(wait(given_up).now_or_never(), None);
            let next = wait(5 * SOON);
            let deadline = next.deadline;
            next.await;
            assert!(Instant::now() >= deadline);
            assert_eq!(wait(LATE).now_or_never(), None);
        }
    }
}
