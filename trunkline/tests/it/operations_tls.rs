//! The operations port over TLS, with certificates of switches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use platform::config::{IdentityFiles, PemFile, SwitchTls};
use platform::edge::Edge;
use serde_json::json;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::certificates::{Authority, Identity};
use crate::world::engines::{TestDb, sqlite};
use crate::world::process::{self, Process};
use crate::world::{SWITCH_SECRET, World};

/// How many connections of one network the port accepts.
const PER_NETWORK: usize = 256;

/// An authority, and what it issued to a service on loopback and to a switch.
struct Issued {
    folder: TempDir,
    authority: Authority,
    server: Identity,
    switch: Identity,
}

impl Issued {
    fn new() -> Issued {
        let folder = TempDir::new().unwrap();
        let authority = Authority::new(folder.path(), "ca");
        let (server, switch) = (authority.server("server", "127.0.0.1"), authority.client("switch"));
        Issued { folder, authority, server, switch }
    }

    fn server_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TRUNKLINE_OPS_TLS_CERT", self.server.certificate.clone()),
            ("TRUNKLINE_OPS_TLS_KEY", self.server.key.clone()),
            ("TRUNKLINE_OPS_TLS_CLIENT_CA", self.authority.certificate()),
        ]
    }

    fn switch_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TRUNKLINE_SWITCH_TLS_CA", self.authority.certificate()),
            ("TRUNKLINE_SWITCH_TLS_CERT", self.switch.certificate.clone()),
            ("TRUNKLINE_SWITCH_TLS_KEY", self.switch.key.clone()),
        ]
    }

    async fn world(&self, db: &TestDb, more: &[(&str, &str)]) -> World {
        let settings = [self.server_settings(), self.switch_settings()].concat();
        World::with(db, &[&borrowed(&settings)[..], more].concat()).await
    }

    /// Whether the port answers a client that trusts our authority and has this certificate.
    async fn is_answered(&self, world: &World, identity: Option<&Identity>) -> bool {
        health(&self.authority.trusted_by(identity).build().unwrap(), world.node.ops).await
    }
}

fn borrowed<'a>(settings: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    settings.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

async fn health(client: &reqwest::Client, port: SocketAddr) -> bool {
    client.get(format!("https://{port}/healthz")).send().await.is_ok_and(|answer| answer.status() == 200)
}

sqlite! {
    async fn only_a_certificate_of_the_authority_reaches_the_operations_port(db) {
        let issued = Issued::new();
        let world = issued.world(db, &[]).await;
        assert!(issued.is_answered(&world, Some(&issued.switch)).await);
        assert!(!issued.is_answered(&world, None).await, "without a certificate");
        let foreign = Authority::new(issued.folder.path(), "foreign");
        let impostor = foreign.client("impostor");
        assert!(!issued.is_answered(&world, Some(&impostor)).await, "of another authority");
        assert!(!issued.is_answered(&world, Some(&issued.server)).await, "of a server");
        let misled = foreign.trusted_by(Some(&issued.switch)).build().unwrap();
        assert!(!health(&misled, world.node.ops).await, "a client verifies the service");

        // The certificate does not stand for the secret.
        let client = issued.authority.trusted_by(Some(&issued.switch)).build().unwrap();
        let config = client.get(format!("https://{}/switch/config", world.node.ops));
        assert_eq!(config.try_clone().unwrap().send().await.unwrap().status(), 401);
        assert_eq!(config.bearer_auth(SWITCH_SECRET).send().await.unwrap().status(), 200);
        world.operations().post("/switch/events", json!({"edge_id": "edge-1", "events": []})).await.expect(200);
        world.end().await;
    }

    async fn plain_http_to_a_port_with_tls_has_no_answer_and_no_effect(db) {
        let issued = Issued::new();
        let world = issued.world(db, &[]).await;
        let garbage = [0xff; 20_000];
        for said in [&b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"[..], b"\x16\x03\x01\xff\xff", &garbage] {
            let mut stream = TcpStream::connect(world.node.ops).await.unwrap();
            let _ = stream.write_all(said).await;
            let _ = stream.shutdown().await;
            let mut heard = Vec::new();
            let _ = stream.read_to_end(&mut heard).await;
            assert!(!String::from_utf8_lossy(&heard).contains("HTTP"), "{heard:?}");
        }
        assert!(issued.is_answered(&world, Some(&issued.switch)).await);
        world.end().await;
    }

    async fn a_stalled_handshake_ends_and_frees_its_place(db) {
        let issued = Issued::new();
        let world = issued.world(db, &[("TRUNKLINE_CLIENT_TIMEOUT_SECONDS", "3")]).await;
        let mut stalled = Vec::new();
        for _ in 0..PER_NETWORK {
            stalled.push(TcpStream::connect(world.node.ops).await.unwrap());
        }
        assert!(!issued.is_answered(&world, Some(&issued.switch)).await, "no place is left for this network");
        let elsewhere = issued.authority.trusted_by(Some(&issued.switch)).local_address(IpAddr::from([127, 0, 0, 8]));
        assert!(health(&elsewhere.build().unwrap(), world.node.ops).await);
        for stream in &mut stalled {
            assert_eq!(stream.read(&mut [0; 1]).await.unwrap_or(0), 0);
        }
        while !issued.is_answered(&world, Some(&issued.switch)).await {}
        world.end().await;
    }

    async fn renewed_certificates_need_no_restart(db) {
        let issued = Issued::new();
        let world = issued.world(db, &[]).await;
        let next = Authority::new(issued.folder.path(), "next");
        let switch = next.client("next-switch");
        let client = next.trusted_by(Some(&switch)).build().unwrap();
        assert!(!health(&client, world.node.ops).await);

        // Half of a renewal leaves what was there.
        let server = next.server("next-server", "127.0.0.1");
        std::fs::copy(&server.key, &issued.server.key).unwrap();
        assert!(issued.is_answered(&world, Some(&issued.switch)).await);
        server.replace(&issued.server);
        std::fs::copy(next.certificate(), issued.authority.certificate()).unwrap();
        while !health(&client, world.node.ops).await {
            tokio::task::yield_now().await;
        }
        let former = next.trusted_by(Some(&issued.switch)).build().unwrap();
        assert!(!health(&former, world.node.ops).await, "the former authority counts no more");
        world.stop().await;
    }

    async fn a_switch_follows_the_service_over_tls(db) {
        let issued = Issued::new();
        let folder = TempDir::new().unwrap();
        let service = Process::serve(db, folder.path(), &borrowed(&issued.server_settings()));
        let (url, out) = (service.ops_url(), folder.path().join("edge"));
        let arguments = ["switch", "render", "--service", url, "--out", out.to_str().unwrap()];
        let switch = issued.switch_settings();
        let refused = process::run(db, folder.path(), &borrowed(&switch[..1]), &arguments);
        assert!(!refused.status.success() && !out.exists(), "{refused:?}");
        let done = process::run(db, folder.path(), &borrowed(&switch), &arguments);
        assert!(done.status.success() && out.join("address.list").exists(), "{done:?}");

        // A long-running one takes a renewed certificate after the old one has failed.
        let foreign = Authority::new(issued.folder.path(), "foreign").client("switch-2");
        let pem = |setting, path: &str| PemFile { setting, path: PathBuf::from(path) };
        let tls = SwitchTls {
            ca: Some(pem("TRUNKLINE_SWITCH_TLS_CA", &issued.authority.certificate())),
            identity: Some(IdentityFiles {
                certificate: pem("TRUNKLINE_SWITCH_TLS_CERT", &foreign.certificate),
                key: pem("TRUNKLINE_SWITCH_TLS_KEY", &foreign.key),
            }),
        };
        let mut edge = Edge::new(url, service.switch_secret().to_owned(), out).unwrap().with_tls(tls).unwrap();
        edge.render().await.unwrap_err();
        issued.switch.replace(&foreign);
        let _ = edge.render().await;
        edge.render().await.unwrap();
    }

    async fn a_certificate_that_cannot_be_used_is_named_at_the_start(db) {
        let issued = Issued::new();
        let folder = TempDir::new().unwrap();
        let (garbage, missing) = (issued.folder.path().join("garbage.pem"), issued.folder.path().join("missing.pem"));
        std::fs::write(&garbage, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        let (garbage, missing) = (garbage.to_str().unwrap(), missing.to_str().unwrap());
        for (setting, path) in [
            ("TRUNKLINE_OPS_TLS_CERT", missing), ("TRUNKLINE_OPS_TLS_CERT", garbage),
            ("TRUNKLINE_OPS_TLS_CERT", &issued.server.key), ("TRUNKLINE_OPS_TLS_CERT", &issued.switch.certificate),
            ("TRUNKLINE_OPS_TLS_KEY", missing), ("TRUNKLINE_OPS_TLS_KEY", &issued.server.certificate),
            ("TRUNKLINE_OPS_TLS_CLIENT_CA", missing), ("TRUNKLINE_OPS_TLS_CLIENT_CA", garbage),
        ] {
            let mut settings = issued.server_settings();
            settings.retain(|(name, _)| *name != setting);
            settings.push((setting, path.to_owned()));
            let ended = process::run(db, folder.path(), &borrowed(&settings), &["serve"]);
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            assert!(!ended.status.success() && said.contains(&format!("{setting} {path}: ")), "{said}");
        }
    }
}
