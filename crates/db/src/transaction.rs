//! A transaction on its way: what to run, and who waits for the outcome.
//!
//! Engines see it without its types. Every transaction has its own, and what drives them would otherwise be compiled
//! once for each.

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::Body;
use super::conn::Conn;
use super::error::{DbError, Result};

pub(super) trait Transaction: Send {
    /// Runs it and says whether its changes may stay.
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool>;

    /// It came to nothing after all. A reason of its own stands before this one.
    fn fail(&mut self, why: DbError);

    /// Tells the caller. One that has gone away is not told, but its transaction stands.
    fn reply(self: Box<Self>);
}

struct Typed<I, T, E> {
    input: I,
    body: Body<I, T, E>,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

/// The job, and where its outcome will come out.
pub(super) fn erase<I, T, E>(input: I, body: Body<I, T, E>) -> (Box<dyn Transaction>, Outcome<T, E>)
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    E: From<DbError> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    (Box::new(Typed { input, body, outcome: None, answer }), Outcome(answered))
}

impl<I, T, E> Transaction for Typed<I, T, E>
where
    I: Send + Sync,
    T: Send,
    E: From<DbError> + Send,
{
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool> {
        Box::pin(async move {
            let outcome = (self.body)(conn, &self.input).await;
            self.outcome.insert(conn.fail_if_aborted(outcome)).is_ok()
        })
    }

    fn fail(&mut self, why: DbError) {
        if !matches!(self.outcome, Some(Err(_))) {
            self.outcome = Some(Err(why.into()));
        }
    }

    fn reply(self: Box<Self>) {
        let outcome = self.outcome.unwrap_or_else(|| Err(DbError::Aborted.into()));
        let _ = self.answer.send(outcome);
    }
}

/// What a job will come to.
pub(super) struct Outcome<T, E>(oneshot::Receiver<Result<T, E>>);

impl<T, E: From<DbError>> Outcome<T, E> {
    pub(super) async fn wait(self) -> Result<T, E> {
        self.0.await.unwrap_or_else(|_| Err(DbError::unavailable("the database has been closed").into()))
    }
}
