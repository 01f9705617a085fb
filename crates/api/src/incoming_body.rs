//! A request's body, and what happens to the part that no handler reads.
//!
//! A request is often rejected before its body has arrived. A small rest is then read and discarded, so that the
//! connection can be used again. With a large rest, the connection is closed after the response, but only once the client
//! stops sending or a timeout has passed: closing it immediately could lose the response.
//!
//! A body must arrive at a minimum rate, and its request gives up its place among the running ones while it waits. A
//! connection whose client does not read its response is closed.

use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use super::bare_answer::BareAnswers;
use super::concurrency::{LimitReached, Place};
use super::pace::{BodyPace, WriteDeadline};
use super::problem::Problem;
use super::tls::Transport;

/// Twice the largest upload.
const MAX_DISCARDED_BYTES: u64 = 32 * 1024 * 1024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection stays open after a response that the client may not have read yet.
const LINGER: Duration = Duration::from_secs(5);

/// A body as handlers read it. When it is dropped, the rest goes to its [`UnreadBody`].
pub struct IncomingBody {
    body: Option<Incoming>,
    rest: UnreadBody,
    pace: BodyPace,
    /// The place of its request.
    place: Option<Arc<Place>>,
}

/// Why a body cannot be read.
#[derive(Debug)]
pub enum BodyError {
    Interrupted(hyper::Error),
    TooSlow,
    /// It found no place to wait for its body, or to run after it.
    NoPlace(LimitReached),
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BodyError::Interrupted(error) => write!(f, "the body was interrupted: {error}"),
            BodyError::TooSlow => f.write_str("the body arrives too slowly"),
            BodyError::NoPlace(_) => f.write_str("too many requests wait for their bodies"),
        }
    }
}

impl Error for BodyError {}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Problem {
        Problem::from(&error)
    }
}

impl From<&BodyError> for Problem {
    fn from(error: &BodyError) -> Problem {
        match error {
            BodyError::Interrupted(_) => Problem::malformed("The body was interrupted."),
            BodyError::TooSlow => Problem::request_timeout(),
            BodyError::NoPlace(limit) => (*limit).into(),
        }
    }
}

impl BodyError {
    /// The error of a body inside that of a reader in between.
    pub fn inside<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e BodyError> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

/// The part of a body that was not read.
#[derive(Clone, Default)]
pub struct UnreadBody(Option<Arc<Mutex<Rest>>>);

#[derive(Default)]
enum Rest {
    #[default]
    None,
    Unread(Incoming),
    /// Its client is too slow to wait for more.
    GivenUp,
}

impl UnreadBody {
    fn set(&self, rest: Rest) {
        if let Some(slot) = &self.0 {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = rest;
        }
    }
}

/// The request with a body that keeps its rest, and that rest. `window` is the time over which its rate is measured.
pub fn track_unread(request: Request<Incoming>, window: Duration) -> (Request<IncomingBody>, UnreadBody) {
    // A client that sends `Expect: 100-continue` waits; reading the body would tell it to send.
    let is_sent = !request.body().is_end_stream() && !request.headers().contains_key(EXPECT);
    let rest = UnreadBody(is_sent.then(Arc::default));
    let tracked =
        |body| IncomingBody { body: Some(body), rest: rest.clone(), pace: BodyPace::new(window), place: None };
    (request.map(tracked), rest.clone())
}

impl IncomingBody {
    /// Gives up this place while the body is awaited.
    pub fn set_place(&mut self, place: Arc<Place>) {
        self.place = Some(place);
    }

    /// Waits for the client, in a place for that and not for too long.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<BodyError> {
        if let Some(Err(limit)) = self.place.as_ref().map(|place| place.wait_for_body()) {
            return Poll::Ready(BodyError::NoPlace(limit));
        }
        ready!(self.pace.poll_too_slow(context));
        self.rest.set(Rest::GivenUp);
        self.body = None;
        Poll::Ready(BodyError::TooSlow)
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            self.rest.set(Rest::Unread(body));
        }
        if let Some(place) = &self.place {
            place.resume_anyway();
        }
    }
}

impl UnreadBody {
    /// Reads the rest of the body. True if the body has been read to its end, by this or by the handler.
    pub async fn discard(self) -> bool {
        let Some(slot) = self.0 else { return true };
        let rest = std::mem::take(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner));
        let body = match rest {
            Rest::None => return true,
            Rest::GivenUp => return false,
            Rest::Unread(body) => body,
        };
        let is_small = body.size_hint().lower() <= MAX_DISCARDED_BYTES;
        is_small && tokio::time::timeout(DISCARD_TIMEOUT, read_to_end(body)).await.unwrap_or(false)
    }
}

async fn read_to_end(mut body: Incoming) -> bool {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len) as u64;
        if discarded > MAX_DISCARDED_BYTES {
            return false;
        }
    }
    body.is_end_stream()
}

impl Body for IncomingBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        match Pin::new(body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.pace.add(frame.data_ref().map_or(0, Bytes::len));
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(BodyError::Interrupted(error)))),
            Poll::Ready(None) => {
                let resumed = this.place.as_ref().map_or(Ok(()), |place| place.resume());
                Poll::Ready(resumed.err().map(|limit| Err(BodyError::NoPlace(limit))))
            }
            Poll::Pending => this.poll_wait(context).map(|error| Some(Err(error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

/// Set when the client may still be sending a body that is not read.
#[derive(Clone, Default)]
pub struct UnreadFlag(Arc<AtomicBool>);

impl UnreadFlag {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection that stays open for a while after its end if a body was not read.
pub struct LingeringStream {
    stream: Transport,
    unread: UnreadFlag,
    until: Option<Pin<Box<Sleep>>>,
    bare_answers: BareAnswers,
    deadline: WriteDeadline,
}

impl LingeringStream {
    /// `window` is the time over which the client's speed is measured.
    pub fn new(stream: Transport, unread: UnreadFlag, bare_answers: BareAnswers, window: Duration) -> LingeringStream {
        LingeringStream { stream, unread, until: None, bare_answers, deadline: WriteDeadline::new(window) }
    }

    /// Ends a connection whose client does not read, with what it has not read.
    fn watch_write(&mut self, context: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        let is_pending = written.is_pending();
        let watched = self.deadline.watch(context, written);
        if is_pending && watched.is_ready() {
            let _ = self.stream.tcp().set_zero_linger();
        }
        watched
    }

    /// Writes a problem in place of an answer of hyper's own; none if these bytes are something else.
    fn poll_write_problem(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Option<Poll<io::Result<usize>>> {
        if !self.bare_answers.replaces(bytes) {
            return None;
        }
        // The client may not be done with its headers.
        self.unread.set();
        Some(self.bare_answers.poll_write(context, &mut self.stream))
    }

    /// Reads and discards until the client closes or the time is over.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        let mut discarded = [0; 8192];
        loop {
            if until.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut discarded);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl AsyncRead for LingeringStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for LingeringStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        let written = match connection.poll_write_problem(context, bytes) {
            Some(written) => written,
            None => Pin::new(&mut connection.stream).poll_write(context, bytes),
        };
        connection.watch_write(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let connection = self.get_mut();
        // An answer of hyper's own is one slice.
        let problem = match slices {
            [bytes] => connection.poll_write_problem(context, bytes),
            _ => None,
        };
        let written = match problem {
            Some(written) => written,
            None => Pin::new(&mut connection.stream).poll_write_vectored(context, slices),
        };
        connection.watch_write(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        if connection.until.is_none() {
            ready!(Pin::new(&mut connection.stream).poll_shutdown(context))?;
        }
        if connection.unread.0.load(Ordering::Relaxed) {
            ready!(connection.poll_linger(context));
        }
        Poll::Ready(Ok(()))
    }
}
