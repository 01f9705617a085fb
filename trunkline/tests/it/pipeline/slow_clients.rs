//! Clients that send slowly, do not read, or open too many connections: each loses its own connection only.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::probes::world_with;
use crate::world::World;
use crate::world::engines::sqlite;
use crate::world::fixtures::metrics::Scrape;

const QUICK: (&str, &str) = ("TRUNKLINE_CLIENT_TIMEOUT_SECONDS", "1");
const UNLIMITED: (&str, &str) = ("TRUNKLINE_RATE_LIMITS", "off");

sqlite! {
    async fn a_body_that_arrives_too_slowly_is_refused(db) {
        let world = world_with(db, &[QUICK, UNLIMITED]).await;
        let mut stream = TcpStream::connect(world.node.public).await.unwrap();
        let head = "POST /v1/open-marks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                    Content-Length: 60000\r\n\r\n{";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 408 ") && heard.contains("connection: close"), "{heard}");
        assert!(heard.contains("urn:service:voice:problem:request.timeout"), "{heard}");
        world.end().await;
    }

    async fn an_upload_that_arrives_too_slowly_is_refused(db) {
        let world = World::with(db, &[QUICK, UNLIMITED]).await;
        let cora = world.customer("cora@customer.example").await;
        let mut stream = TcpStream::connect(world.node.public).await.unwrap();
        let head = format!(
            "POST /v1/me/kyb/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 60000\r\n\r\n\
             --b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF",
            cora.token(),
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        assert!(heard.starts_with("HTTP/1.1 408 "), "{heard}");
        world.end().await;
    }

    async fn a_client_that_does_not_read_is_disconnected(db) {
        let world = World::with(db, &[QUICK, UNLIMITED]).await;
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut stream = socket.connect(world.node.public).await.unwrap();
        stream.write_all("GET /docs HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100).as_bytes()).await.unwrap();
        while Scrape::of(&world).await.value("trunkline_connections") == 0.0 {}
        while Scrape::of(&world).await.value("trunkline_connections") > 0.0 {}
        world.end().await;
    }

    async fn a_network_can_hold_only_so_many_connections(db) {
        let world = world_with(db, &[("TRUNKLINE_CONNECTIONS_PER_NETWORK", "8"), UNLIMITED]).await;
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(answered_from("127.0.0.7", world.node.public).await.expect("one of the first eight"));
        }
        assert!(answered_from("127.0.0.7", world.node.public).await.is_none());
        assert!(answered_from("127.0.0.8", world.node.public).await.is_some());
        assert_eq!(Scrape::of(&world).await.value("trunkline_connections_refused_total"), 1.0);
        held.pop();
        while answered_from("127.0.0.7", world.node.public).await.is_none() {}
        world.end().await;
    }

    async fn a_trusted_proxy_can_hold_any_number_of_connections(db) {
        let settings = [
            ("TRUNKLINE_CONNECTIONS_PER_NETWORK", "8"), ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.7"), UNLIMITED,
        ];
        let world = world_with(db, &settings).await;
        let mut held = Vec::new();
        for _ in 0..20 {
            held.push(answered_from("127.0.0.7", world.node.public).await.unwrap());
        }
        world.end().await;
    }

    async fn slow_bodies_leave_the_places_of_other_requests_free(db) {
        let world = world_with(db, &[("TRUNKLINE_REQUESTS_AT_ONCE", "8"), UNLIMITED]).await;
        let head = "POST /v1/open-marks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                    Content-Length: 100\r\n\r\n{";
        let mut slow = Vec::new();
        for _ in 0..16 {
            let mut stream = TcpStream::connect(world.node.public).await.unwrap();
            stream.write_all(head.as_bytes()).await.unwrap();
            slow.push(stream);
        }
        // Only some of them find a place to wait.
        let refused = "trunkline_requests_total{method=\"POST\",path=\"/open-marks\",status=\"503\"}";
        while Scrape::of(&world).await.value(refused) < 8.0 {
            tokio::task::yield_now().await;
        }
        world.anyone().get("/questions?number=1").await.expect(200);
        world.end().await;
    }

    async fn a_draining_service_answers_and_closes_each_connection(db) {
        let world = world_with(db, &[("TRUNKLINE_DRAIN_SECONDS", "300"), UNLIMITED]).await;
        let (public, ops) = (world.node.public, world.operations());
        let (mut idle, before) = ask(TcpStream::connect(public).await.unwrap()).await.unwrap();
        assert!(!before.contains("connection: close"), "{before}");
        let stopping = tokio::spawn(world.stop());
        while ops.get("/readyz").await.status == 200 {}
        for connection in [&mut idle, &mut TcpStream::connect(public).await.unwrap()] {
            connection.write_all(b"GET /v1/questions?number=1 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let mut heard = String::new();
            connection.read_to_string(&mut heard).await.unwrap();
            assert!(heard.starts_with("HTTP/1.1 200 ") && heard.contains("connection: close"), "{heard}");
        }
        assert!(!stopping.is_finished());
        stopping.abort();
    }
}

/// A connection from this address whose first request was answered.
async fn answered_from(address: &str, server: SocketAddr) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    ask(socket.connect(server).await.ok()?).await.map(|(stream, _)| stream)
}

/// The head of the answer; none if the connection is closed instead.
async fn ask(mut stream: TcpStream) -> Option<(TcpStream, String)> {
    stream.write_all(b"GET /v1/questions?number=1 HTTP/1.1\r\nHost: x\r\n\r\n").await.ok()?;
    let mut heard = Vec::new();
    while !heard.ends_with(b"}") {
        if stream.read_buf(&mut heard).await.ok()? == 0 {
            return None;
        }
    }
    Some((stream, String::from_utf8(heard).unwrap()))
}
