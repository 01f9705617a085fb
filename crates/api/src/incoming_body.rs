//! A request's body, and what happens to the part that no handler reads.
//!
//! A request is often rejected before its body has arrived. A small rest is then read and discarded, so that the
//! connection can be used again. With a large rest, the connection is closed after the response, but only once the client
//! stops sending or a timeout has passed: closing it immediately could lose the response.

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
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::bare_answer::BareAnswers;

/// Twice the largest upload.
const MAX_DISCARDED_BYTES: u64 = 32 * 1024 * 1024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection stays open after a response that the client may not have read yet.
const LINGER: Duration = Duration::from_secs(5);

/// A body as handlers read it. When it is dropped, the rest goes to its [`UnreadBody`].
pub struct IncomingBody {
    body: Option<Incoming>,
    rest: UnreadBody,
}

/// The part of a body that was not read.
#[derive(Clone, Default)]
pub struct UnreadBody(Option<Arc<Mutex<Option<Incoming>>>>);

/// The request with a body that keeps its rest, and that rest.
pub fn track_unread(request: Request<Incoming>) -> (Request<IncomingBody>, UnreadBody) {
    // A client that sends `Expect: 100-continue` waits; reading the body would tell it to send.
    let is_sent = !request.body().is_end_stream() && !request.headers().contains_key(EXPECT);
    let rest = UnreadBody(is_sent.then(Arc::default));
    (request.map(|body| IncomingBody { body: Some(body), rest: rest.clone() }), rest)
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        if let (Some(slot), Some(body)) = (&self.rest.0, self.body.take().filter(|body| !body.is_end_stream())) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl UnreadBody {
    /// Reads the rest of the body. True if the body has been read to its end, by this or by the handler.
    pub async fn discard(self) -> bool {
        let Some(slot) = self.0 else { return true };
        let Some(body) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() else { return true };
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
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        match &mut self.get_mut().body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
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
    stream: TcpStream,
    unread: UnreadFlag,
    until: Option<Pin<Box<Sleep>>>,
    bare_answers: BareAnswers,
}

impl LingeringStream {
    pub fn new(stream: TcpStream, unread: UnreadFlag, bare_answers: BareAnswers) -> LingeringStream {
        LingeringStream { stream, unread, until: None, bare_answers }
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
        match connection.poll_write_problem(context, bytes) {
            Some(written) => written,
            None => Pin::new(&mut connection.stream).poll_write(context, bytes),
        }
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
        match problem {
            Some(written) => written,
            None => Pin::new(&mut connection.stream).poll_write_vectored(context, slices),
        }
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
