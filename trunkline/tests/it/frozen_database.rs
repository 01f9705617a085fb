//! A PostgreSQL server that stops answering without closing its connections, as a frozen machine does.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use values::Role;

use crate::world::World;
use crate::world::engines::postgres;

postgres! {
    async fn requests_on_a_frozen_database_are_refused_in_time(db) {
        let (frozen, is_frozen) = watch::channel(false);
        let url = through_proxy(&db.url, is_frozen).await;
        // A second for the server, two more for its answer.
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_DATABASE_STATEMENT_SECONDS", "1")];
        let world = World::at(url, &settings, server::routes::table()).await;
        let caller = world.minted(Role::Customer).await;
        caller.get("/account").await.expect(200);
        caller.patch("/account", json!({"company_name": "Before"})).await.expect(200);

        frozen.send_replace(true);
        let mut requests = JoinSet::new();
        for number in 0..40 {
            let caller = caller.clone();
            requests.spawn(async move {
                match number % 2 {
                    0 => caller.get("/account").await,
                    _ => caller.patch("/account", json!({"company_name": "Frozen"})).await,
                }
            });
        }
        for answer in requests.join_all().await {
            answer.problem(503, "service.unavailable");
        }
        let ops = world.anyone_at_operations();
        ops.get("/readyz").await.problem(503, "service.unavailable");
        ops.get("/healthz").await.expect(200);

        frozen.send_replace(false);
        while ops.get("/readyz").await.status != 200 {}
        assert_eq!(caller.get("/account").await.ok()["company_name"], "Before");
        caller.patch("/account", json!({"company_name": "After"})).await.expect(200);
        world.end().await;
    }
}

/// The URL of a proxy that passes nothing on while the server is frozen.
async fn through_proxy(url: &str, is_frozen: watch::Receiver<bool>) -> String {
    let parsed = reqwest::Url::parse(url).unwrap();
    let server: SocketAddr = format!("{}:{}", parsed.host_str().unwrap(), parsed.port().unwrap()).parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(server).await else { continue };
            let ((client_read, client_write), (server_read, server_write)) = (client.into_split(), server.into_split());
            tokio::spawn(pass_on(client_read, server_write, is_frozen.clone()));
            tokio::spawn(pass_on(server_read, client_write, is_frozen.clone()));
        }
    });
    url.replace(&server.to_string(), &address.to_string())
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_frozen: watch::Receiver<bool>) {
    let mut buffer = vec![0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if is_frozen.wait_for(|is_frozen| !is_frozen).await.is_err() || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
