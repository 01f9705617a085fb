//! A transaction to run, with its body, input and the caller that waits for its result.
//!
//! The engines see it through a trait object: otherwise their code would be compiled once for every body.

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;
use tracing::{Instrument, Span};
use values::Time;

use super::Body;
use super::conn::Conn;
use super::error::{DbError, Result};

/// Which of the transactions that wait for SQLite's one writer goes first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Priority {
    Normal,
    /// Takes turns with all the others.
    Bulk,
}

pub(super) trait Transaction: Send {
    /// Runs the body and returns whether to commit.
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool>;

    /// Turns the result into this error, unless the body already failed with its own.
    fn fail(&mut self, why: DbError);

    /// Sends the result to the caller, if it still waits. A commit stands either way.
    fn reply(self: Box<Self>);
}

struct Typed<I, T, E> {
    /// What the caller's log lines have in common, so have those of the body, which runs elsewhere.
    span: Span,
    now: Time,
    input: I,
    body: Body<I, T, E>,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

/// The transaction without its types, and its result to wait for.
pub(super) fn erase<I, T, E>(now: Time, input: I, body: Body<I, T, E>) -> (Box<dyn Transaction>, Outcome<T, E>)
where
    I: Send + Sync + 'static,
    T: Send + 'static,
    E: From<DbError> + Send + 'static,
{
    let (answer, answered) = oneshot::channel();
    (Box::new(Typed { span: Span::current(), now, input, body, outcome: None, answer }), Outcome(answered))
}

impl<I, T, E> Transaction for Typed<I, T, E>
where
    I: Send + Sync,
    T: Send,
    E: From<DbError> + Send,
{
    fn run<'c>(&'c mut self, conn: &'c mut Conn) -> BoxFuture<'c, bool> {
        let span = self.span.clone();
        let run = async move {
            conn.set_now(self.now);
            let outcome = (self.body)(conn, &self.input).await;
            self.outcome.insert(conn.fail_if_aborted(outcome)).is_ok()
        };
        Box::pin(run.instrument(span))
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

/// The result of a transaction, once there is one.
pub(super) struct Outcome<T, E>(oneshot::Receiver<Result<T, E>>);

impl<T, E: From<DbError>> Outcome<T, E> {
    pub(super) async fn wait(self) -> Result<T, E> {
        self.0.await.unwrap_or_else(|_| Err(DbError::unavailable("the database has been closed").into()))
    }
}
