//! A load balancer: round robin over the nodes that `/readyz` says are ready, with connections that stay open.
//!
//! A request that could not be sent, because the connection was refused, goes to the next node. One that was sent is
//! never repeated: if it has no response, it failed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::nodes::is_ready;
use crate::Outcome;
use crate::http::{Client, Response};

/// How often a node is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// A response that takes longer counts as none.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a request waits for a node that takes it.
const NODE_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_DELAY: Duration = Duration::from_millis(10);
/// Connections that were not used for longer are closed; the nodes do so after ten seconds.
const MAX_IDLE: Duration = Duration::from_secs(5);

pub struct Balancer {
    backends: Vec<Backend>,
    next: AtomicUsize,
}

struct Backend {
    public: SocketAddr,
    ops: SocketAddr,
    is_ready: AtomicBool,
    /// Rises whenever the node is no longer ready; older connections are closed then.
    epoch: AtomicUsize,
}

/// Which port of a node.
#[derive(Clone, Copy)]
pub enum Port {
    Api,
    Operations,
}

impl Balancer {
    /// Starts with ready nodes, given by the addresses of their ports.
    pub fn start(nodes: &[(SocketAddr, SocketAddr)]) -> Arc<Balancer> {
        let backend = |&(public, ops): &(SocketAddr, SocketAddr)| Backend {
            public,
            ops,
            is_ready: AtomicBool::new(true),
            epoch: AtomicUsize::new(0),
        };
        let balancer = Arc::new(Balancer { backends: nodes.iter().map(backend).collect(), next: AtomicUsize::new(0) });
        for index in 0..nodes.len() {
            tokio::spawn(check(balancer.clone(), index));
        }
        balancer
    }

    /// The next node that is ready.
    fn pick(&self) -> Option<usize> {
        let (first, count) = (self.next.fetch_add(1, Ordering::Relaxed), self.backends.len());
        let mut order = (0..count).map(|step| (first + step) % count);
        order.find(|index| self.backends[*index].is_ready.load(Ordering::Relaxed))
    }
}

/// Checks a node for as long as the program runs.
async fn check(balancer: Arc<Balancer>, index: usize) {
    let backend = &balancer.backends[index];
    loop {
        let is_ready = is_ready(backend.ops).await;
        let was_ready = backend.is_ready.swap(is_ready, Ordering::Relaxed);
        if was_ready && !is_ready {
            backend.epoch.fetch_add(1, Ordering::Relaxed);
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// A client's way to one port of the nodes, with a connection to each.
pub struct Caller {
    balancer: Arc<Balancer>,
    port: Port,
    connections: Vec<Option<Connection>>,
    /// Requests that found a node that accepted no connection.
    pub refused: usize,
}

struct Connection {
    client: Client,
    epoch: usize,
    used: Instant,
}

impl Caller {
    pub fn new(balancer: &Arc<Balancer>, port: Port) -> Caller {
        let connections = balancer.backends.iter().map(|_| None).collect();
        Caller { balancer: balancer.clone(), port, connections, refused: 0 }
    }

    pub async fn send(&mut self, request: &[u8]) -> Outcome<Response> {
        let started = Instant::now();
        while started.elapsed() < NODE_TIMEOUT {
            if let Some(index) = self.balancer.pick() {
                match self.connect(index).await {
                    Ok(connection) => return self.send_over(index, connection, request).await,
                    Err(_) => self.refused += 1,
                }
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
        Err(format!("no node took the request in {} s", NODE_TIMEOUT.as_secs()).into())
    }

    /// An open connection to a node, or a new one.
    async fn connect(&mut self, index: usize) -> std::io::Result<Connection> {
        let backend = &self.balancer.backends[index];
        let epoch = backend.epoch.load(Ordering::Relaxed);
        let kept = self.connections[index].take();
        if let Some(kept) = kept.filter(|kept| kept.epoch == epoch && kept.used.elapsed() < MAX_IDLE) {
            return Ok(kept);
        }
        let address = match self.port {
            Port::Api => backend.public,
            Port::Operations => backend.ops,
        };
        Ok(Connection { client: Client::connect(address).await?, epoch, used: Instant::now() })
    }

    async fn send_over(&mut self, index: usize, mut connection: Connection, request: &[u8]) -> Outcome<Response> {
        let sent = tokio::time::timeout(RESPONSE_TIMEOUT, connection.client.send(request)).await;
        let response = sent.map_err(|_| format!("no response in {} s", RESPONSE_TIMEOUT.as_secs()))??;
        if !response.closes {
            connection.used = Instant::now();
            self.connections[index] = Some(connection);
        }
        Ok(response)
    }
}
