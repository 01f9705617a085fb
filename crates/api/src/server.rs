//! The accept loop: bounded connections, bounded waiting for headers, and an orderly end.

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

use super::alarm::Alarm;
use super::arriving::{Arriving, Lingering, Unread, watched};
use super::response::Response;

/// How long a client may take to send the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long running requests get to finish once the service is told to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(25);
/// The largest head of a request.
const HEADER_BYTES: usize = 32 * 1024;
const HEADERS_AT_MOST: usize = 128;

/// Serves `answer` on `listener` until `stop` turns true, then lets running requests finish.
pub async fn serve<F, Fut>(
    listener: TcpListener,
    connections_at_most: usize,
    open: IntGauge,
    mut stop: watch::Receiver<bool>,
    answer: F,
) where
    F: Fn(Request<Arriving>, SocketAddr) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send,
{
    let places = Arc::new(Semaphore::new(connections_at_most));
    let graceful = GracefulShutdown::new();
    loop {
        // Who finds no place waits in the listener's backlog: nothing is allocated for it.
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            _ = stop.wait_for(|stopping| *stopping) => break,
        };
        let Some((stream, peer, place)) = accepted else { continue };
        let answer = answer.clone();
        let unread = Unread::default();
        let stream = Lingering::new(stream, unread.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (answer, unread) = (answer.clone(), unread.clone());
            async move {
                let (request, rest) = watched(request);
                let mut response = answer(request, peer).await;
                if !rest.is_forgotten().await {
                    unread.tell();
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(Alarm::default())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(HEADER_BYTES)
            .max_headers(HEADERS_AT_MOST)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        let open = open.clone();
        tokio::spawn(async move {
            open.inc();
            // A client that breaks off or stalls is no fault of ours.
            if let Err(error) = connection.await {
                tracing::debug!(%peer, %error, "connection ended");
            }
            open.dec();
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, pin!(graceful.shutdown())).await.is_err() {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    let place = places.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => {
            let _ = stream.set_nodelay(true);
            Some((stream, peer, place))
        }
        Err(error) => {
            // Out of file descriptors, most likely: some will come free.
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}
