//! A request's body, and what becomes of the part that nobody reads.
//!
//! A refusal is often known before the body has arrived. The rest is then read and forgotten if its end is near, so that
//! the connection can be used again. If it is not, the connection ends with the answer, but only once the caller stops
//! sending or some time has passed: closed at once, it would take the answer with it.

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

/// The most that is read and forgotten: twice the largest upload.
const FORGOTTEN_BYTES: u64 = 32 * 1024 * 1024;
const FORGETTING_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection outlives an answer that its caller may not have read yet.
const LINGER: Duration = Duration::from_secs(5);

/// A body as handlers read it. What it still holds when it is dropped is left to its [`Rest`].
pub struct Arriving {
    body: Option<Incoming>,
    rest: Rest,
}

/// What was not read of a body.
#[derive(Clone, Default)]
pub struct Rest(Option<Arc<Mutex<Option<Incoming>>>>);

/// The request with a body that leaves its rest, and that rest.
pub fn watched(request: Request<Incoming>) -> (Request<Arriving>, Rest) {
    // Who asks whether to go on has sent nothing yet, and reading on would be a yes.
    let is_sent = !request.body().is_end_stream() && !request.headers().contains_key(EXPECT);
    let rest = Rest(is_sent.then(Arc::default));
    (request.map(|body| Arriving { body: Some(body), rest: rest.clone() }), rest)
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if let (Some(place), Some(body)) = (&self.rest.0, self.body.take().filter(|body| !body.is_end_stream())) {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

impl Rest {
    /// Whether the body has been read to its end, by whomever.
    pub async fn is_forgotten(self) -> bool {
        let Some(place) = self.0 else { return true };
        let Some(body) = place.lock().unwrap_or_else(PoisonError::into_inner).take() else { return true };
        let is_near = body.size_hint().lower() <= FORGOTTEN_BYTES;
        is_near && tokio::time::timeout(FORGETTING_TIMEOUT, forget(body)).await.unwrap_or(false)
    }
}

async fn forget(mut body: Incoming) -> bool {
    let mut forgotten = 0;
    while let Some(Ok(frame)) = body.frame().await {
        forgotten += frame.data_ref().map_or(0, Bytes::len) as u64;
        if forgotten > FORGOTTEN_BYTES {
            return false;
        }
    }
    body.is_end_stream()
}

impl Body for Arriving {
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

/// Says that a caller may still be sending what nobody will read.
#[derive(Clone, Default)]
pub struct Unread(Arc<AtomicBool>);

impl Unread {
    pub fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection that lingers after its end if there is something unread.
pub struct Lingering {
    stream: TcpStream,
    unread: Unread,
    until: Option<Pin<Box<Sleep>>>,
}

impl Lingering {
    pub fn new(stream: TcpStream, unread: Unread) -> Lingering {
        Lingering { stream, unread, until: None }
    }

    /// Reads and forgets until the other side ends, or for as long as it gets.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        let mut forgotten = [0; 8192];
        loop {
            if until.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut forgotten);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl AsyncRead for Lingering {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Lingering {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, slices)
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
