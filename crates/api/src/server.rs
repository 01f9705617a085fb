//! The accept loop: limits of connections and headers, timeouts, and graceful shutdown.
//!
//! A service that stops first drains: it still accepts connections, and every answer closes its connection, so that
//! clients turn to another node without losing a request. Then it closes the listener and, after a moment for requests
//! that are under way, the idle connections.

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
use ipnet::IpNet;
use prometheus::{IntCounter, IntGauge};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::bare_answer::BareAnswers;
use super::headers::RequestIds;
use super::incoming_body::{IncomingBody, LingeringStream, UnreadFlag, track_unread};
use super::networks::Networks;
use super::response::Response;
use super::timer::ConnectionTimer;
use super::tls::{ServerTls, Transport};

/// How long running requests may take to finish when the service stops.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(25);
/// How long a connection that was just accepted has for its request when the listener closes, and how often that is
/// checked.
const LAST_REQUESTS: Duration = Duration::from_secs(1);
const LAST_REQUESTS_CHECK: Duration = Duration::from_millis(10);
const MAX_HEADER_BYTES: usize = 32 * 1024;
const MAX_HEADERS: usize = 128;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;
/// What the system holds of an answer that its client does not read; it doubles the number.
const SEND_BUFFER_BYTES: u32 = 64 * 1024;

/// What the clients of a listener may use.
pub struct ClientLimits {
    pub max_connections: usize,
    /// Of one IPv4 address or IPv6 /64.
    pub max_per_network: usize,
    /// Networks with any number of connections.
    pub exempt: Vec<IpNet>,
    /// How long a client may take for its headers, and the time over which its speed is measured.
    pub window: Duration,
}

pub struct ConnectionMetrics {
    pub open: IntGauge,
    /// Connections over the limit of their network.
    pub refused: IntCounter,
}

/// How a listener stops: it drains once `draining` is true, and closes once `closing` is.
#[derive(Clone)]
pub struct Shutdown {
    pub draining: watch::Receiver<bool>,
    pub closing: watch::Receiver<bool>,
    /// How long it drains.
    pub drain: Duration,
}

/// Where connections arrive.
pub struct Listener {
    pub tcp: TcpListener,
    /// `None` serves plain HTTP.
    pub tls: Option<Arc<ServerTls>>,
}

/// Opens a listener.
pub fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves requests with `handle` until the shutdown closes the listener, then waits for running requests.
pub async fn serve<F, Fut>(
    Listener { tcp: listener, tls }: Listener,
    limits: ClientLimits,
    metrics: ConnectionMetrics,
    shutdown: Shutdown,
    handle: F,
) where
    F: Fn(Request<IncomingBody>, SocketAddr) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send,
{
    let Shutdown { draining, mut closing, drain } = shutdown;
    let permits = Arc::new(Semaphore::new(limits.max_connections));
    let connections = Connections {
        networks: Networks::new(limits.max_per_network, limits.exempt),
        window: limits.window,
        tls,
        request_ids: Arc::default(),
        graceful: GracefulShutdown::new(),
        metrics,
        draining,
        closing: closing.clone(),
        handle,
    };
    loop {
        // Without a permit, connections wait in the listener's backlog.
        let accepted = tokio::select! {
            accepted = accept(&listener, &permits) => accepted,
            _ = closing.wait_for(|closing| *closing) => break,
        };
        if let Some((stream, peer, permit)) = accepted {
            connections.start(stream, peer, permit);
        }
    }
    connections.start_waiting(listener, &permits);
    connections.finish_last_requests(drain.min(LAST_REQUESTS)).await;
    if tokio::time::timeout(DRAIN_TIMEOUT, pin!(connections.graceful.shutdown())).await.is_err() {
        tracing::warn!("shutdown timeout, open requests aborted");
    }
}

type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, permits: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = permits.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(error) => {
            // Usually out of file descriptors: wait for some to be closed.
            tracing::warn!(%error, "accept failed, retrying");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

/// The connections of one listener.
struct Connections<F> {
    networks: Arc<Networks>,
    window: Duration,
    tls: Option<Arc<ServerTls>>,
    request_ids: Arc<RequestIds>,
    graceful: GracefulShutdown,
    metrics: ConnectionMetrics,
    draining: watch::Receiver<bool>,
    closing: watch::Receiver<bool>,
    handle: F,
}

impl<F, Fut> Connections<F>
where
    F: Fn(Request<IncomingBody>, SocketAddr) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Response> + Send,
{
    /// Serves a connection, unless its network has too many.
    fn start(&self, stream: TcpStream, peer: SocketAddr, permit: OwnedSemaphorePermit) {
        let Some(network) = self.networks.admit(peer.ip()) else {
            self.metrics.refused.inc();
            return;
        };
        let _ = stream.set_nodelay(true);
        let handshake = Handshake { tls: self.tls.clone(), window: self.window, closing: self.closing.clone() };
        let (window, unread) = (self.window, UnreadFlag::default());
        let bare_answers = BareAnswers::new(self.request_ids.clone());
        let (handle, draining, is_unread) = (self.handle.clone(), self.draining.clone(), unread.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let (handle, unread, draining) = (handle.clone(), is_unread.clone(), draining.clone());
            async move {
                let (request, rest) = track_unread(request, window);
                let mut response = handle(request, peer).await;
                let is_read = rest.discard().await;
                if !is_read {
                    unread.set();
                }
                if !is_read || *draining.borrow() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        let (open, watcher) = (self.metrics.open.clone(), self.graceful.watcher());
        open.inc();
        tokio::spawn(async move {
            if let Some(stream) = handshake.run(stream, peer).await {
                let stream = LingeringStream::new(stream, unread, bare_answers, window);
                let connection = http1::Builder::new()
                    .timer(ConnectionTimer::default())
                    .header_read_timeout(window)
                    .max_buf_size(MAX_HEADER_BYTES)
                    .max_headers(MAX_HEADERS)
                    .serve_connection(TokioIo::new(stream), service);
                // Clients that disconnect or stall are normal.
                if let Err(error) = watcher.watch(connection).await {
                    tracing::debug!(%peer, %error, "connection ended");
                }
            }
            open.dec();
            drop((network, permit));
        });
    }

    /// Waits until every connection has had its last answer, or the time is over.
    async fn finish_last_requests(&self, limit: Duration) {
        let finish = async {
            while self.metrics.open.get() > 0 {
                tokio::time::sleep(LAST_REQUESTS_CHECK).await;
            }
        };
        let _ = tokio::time::timeout(limit, finish).await;
    }

    /// Closes the listener after serving the connections in its backlog, which would otherwise be reset.
    fn start_waiting(&self, listener: TcpListener, permits: &Arc<Semaphore>) {
        let Ok(listener) = listener.into_std() else { return };
        while let Ok(permit) = permits.clone().try_acquire_owned()
            && let Ok((stream, peer)) = listener.accept()
        {
            if stream.set_nonblocking(true).is_ok()
                && let Ok(stream) = TcpStream::from_std(stream)
            {
                self.start(stream, peer, permit);
            }
        }
    }
}

/// What happens before the first request of a connection.
struct Handshake {
    tls: Option<Arc<ServerTls>>,
    window: Duration,
    closing: watch::Receiver<bool>,
}

impl Handshake {
    /// None if the client is refused, too slow, or not done when the listener has closed.
    async fn run(mut self, stream: TcpStream, peer: SocketAddr) -> Option<Transport> {
        let Some(tls) = &self.tls else { return Some(Transport::Plain(stream)) };
        let closed = async {
            let _ = self.closing.wait_for(|closing| *closing).await;
            tokio::time::sleep(LAST_REQUESTS).await;
        };
        let accepted = tokio::select! {
            accepted = tokio::time::timeout(self.window, tls.accept(stream)) => accepted,
            () = closed => return None,
        };
        match accepted {
            Ok(Ok(stream)) => return Some(stream),
            Ok(Err(error)) if tls.may_log_failure() => tracing::warn!(%peer, %error, "TLS handshake failed"),
            Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
            Err(_) => tracing::debug!(%peer, "TLS handshake timed out"),
        }
        None
    }
}
