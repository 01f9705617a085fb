//! The accept loop: limits of connections and headers, timeouts, and graceful shutdown.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use prometheus::IntGauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::bare_answer::BareAnswers;
use super::headers::RequestIds;
use super::incoming_body::{IncomingBody, LingeringStream, UnreadFlag, track_unread};
use super::response::Response;
use super::timer::ConnectionTimer;

/// How long a client may take to send the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long running requests may take to finish when the service stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(25);
const MAX_HEADER_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 128;

/// Serves requests with `handle` until `stop` is true, then waits for running requests.
pub async fn serve<F, Fut>(
    listener: TcpListener,
    max_connections: usize,
    open: IntGauge,
    mut stop: watch::Receiver<bool>,
    handle: F,
) where
    F: Fn(Request<IncomingBody>, SocketAddr) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send,
{
    let (permits, request_ids) = (Arc::new(Semaphore::new(max_connections)), Arc::new(RequestIds::default()));
    let graceful = GracefulShutdown::new();
    loop {
        // Without a permit, connections wait in the listener's backlog.
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            _ = stop.wait_for(|stopping| *stopping) => break,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let handle = handle.clone();
        let unread = UnreadFlag::default();
        let stream = LingeringStream::new(stream, unread.clone(), BareAnswers::new(request_ids.clone()));
        let service = service_fn(move |request: Request<Incoming>| {
            let (handle, unread) = (handle.clone(), unread.clone());
            async move {
                let (request, rest) = track_unread(request);
                let mut response = handle(request, peer).await;
                if !rest.discard().await {
                    unread.set();
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(ConnectionTimer::default())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(MAX_HEADER_BYTES)
            .max_headers(MAX_HEADERS)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let open = open.clone();
        tokio::spawn(async move {
            open.inc();
            // Clients that disconnect or stall are normal.
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "connection ended");
            }
            open.dec();
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, pin!(graceful.shutdown())).await.is_err() {
        tracing::warn!("shutdown timeout, open requests aborted");
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = permits.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            let _ = stream.set_nodelay(true);
            Some((stream, peer, permit))
        }
        Err(error) => {
            // Usually out of file descriptors: wait for some to be closed.
            tracing::warn!(%error, "accept failed, retrying");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}
