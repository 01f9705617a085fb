//! HAProxy in front of two nodes, with `deploy/haproxy/haproxy.cfg`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use reqwest::redirect::Policy;
use serde_json::json;
use tempfile::TempDir;
use values::Role;

use crate::world::certificates::Authority;
use crate::world::client::Client;
use crate::world::daemon::{Daemon, replaced};
use crate::world::engines::postgres;
use crate::world::fixtures::metrics::Scrape;
use crate::world::{PASSWORD, SWITCH_SECRET, World};

const FILE: &str = "deploy/haproxy/haproxy.cfg";
const EMAIL: &str = "cora@customer.example";
const REQUESTS: usize = 8;
/// Where the client is: not where the proxy is.
const CLIENT: [u8; 4] = [127, 0, 0, 8];

struct Haproxy {
    daemon: Daemon,
    authority: Authority,
    http: u16,
    https: u16,
    operations: u16,
    _folder: TempDir,
}

/// The file that holds certificate and key of HAProxy.
fn certificate(folder: &Path, authority: &Authority) -> PathBuf {
    let file = folder.join("trunkline.pem");
    std::fs::write(&file, authority.server("haproxy", "127.0.0.1").pem()).unwrap();
    file
}

impl Haproxy {
    /// In front of these nodes, once it has found all of them ready.
    async fn before(nodes: [&World; 2]) -> Haproxy {
        let folder = TempDir::new().unwrap();
        let authority = Authority::new(folder.path(), "ca");
        let certificate = certificate(folder.path(), &authority);
        let file = folder.path().join("haproxy.cfg");
        let [(api1, ops1), (api2, ops2)] = nodes.map(|node| {
            let (public, ops) = (node.node.public, node.node.ops);
            (format!("{public} port {}", ops.port()), format!("{ops} port {}", ops.port()))
        });
        let command = |[http, https, operations]: [u16; 3]| {
            let text = replaced(
                FILE,
                &[
                    ("/etc/haproxy/trunkline.pem", certificate.to_str().unwrap()),
                    ("bind :80\n", &format!("bind 127.0.0.1:{http}\n")),
                    ("bind :443 ", &format!("bind 127.0.0.1:{https} ")),
                    ("bind 10.0.0.10:9090\n", &format!("bind 127.0.0.1:{operations}\n")),
                    ("10.0.0.11:8080", &api1),
                    ("10.0.0.12:8080", &api2),
                    ("10.0.0.11:9090", &ops1),
                    ("10.0.0.12:9090", &ops2),
                    // Only root may become another, and allow more open files.
                    ("    user haproxy\n    group haproxy\n", ""),
                    ("maxconn 20000", "maxconn 100"),
                ],
            );
            std::fs::write(&file, text).unwrap();
            let mut haproxy = Command::new("/usr/sbin/haproxy");
            haproxy.arg("-db").arg("-f").arg(&file);
            haproxy
        };
        let ready = ["api/node1", "api/node2", "operations/node1", "operations/node2"]
            .map(|server| format!("Health check for server {server} succeeded"));
        let (daemon, [http, https, operations]) =
            Daemon::on_free_ports(command, &ready.each_ref().map(String::as_str)).await;
        Haproxy { daemon, authority, http, https, operations, _folder: folder }
    }

    /// A caller at this URL, with this token if any, and a connection for each request.
    fn caller(&self, url: String, token: Option<&str>) -> Client {
        let http = self.authority.trusted_by(None).local_address(IpAddr::from(CLIENT)).redirect(Policy::none());
        Client::new(http.build().unwrap(), url, token.map(str::to_owned))
    }

    /// A caller of the API.
    fn api(&self, token: Option<&str>) -> Client {
        self.caller(format!("https://127.0.0.1:{}/v1", self.https), token)
    }

    /// A switch at the operations port.
    fn switch(&self) -> Client {
        self.caller(format!("http://127.0.0.1:{}", self.operations), Some(SWITCH_SECRET))
    }
}

#[test]
fn haproxy_has_nothing_against_its_file() {
    let folder = TempDir::new().unwrap();
    let certificate = certificate(folder.path(), &Authority::new(folder.path(), "ca"));
    let file = folder.path().join("haproxy.cfg");
    std::fs::write(&file, replaced(FILE, &[("/etc/haproxy/trunkline.pem", certificate.to_str().unwrap())])).unwrap();
    let mut check = Command::new("/usr/sbin/haproxy");
    // A warning is a fault too.
    let done = check.args(["-c", "-dW", "-f"]).arg(&file).output().expect("haproxy is there: run make test");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Both reach a node, again and again.
async fn are_answered(customer: &Client, switch: &Client) {
    for _ in 0..REQUESTS {
        customer.get("/me").await.ok();
        switch.post("/switch/events", json!({"edge_id": "edge-1", "events": []})).await.ok();
    }
}

postgres! {
    async fn requests_through_haproxy_are_answered_while_a_node_is_stopped(db) {
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TRUSTED_PROXIES", "127.0.0.1")];
        let world = World::with(db, &settings).await;
        let other = world.another_node().await;
        world.user(EMAIL, Role::Customer).await;
        let mut haproxy = Haproxy::before([&world, &other]).await;

        let plain = haproxy.caller(format!("http://127.0.0.1:{}", haproxy.http), None).get("/v1/portal").await;
        assert_eq!(plain.status, 302);
        assert!(plain.header("location").unwrap().starts_with("https://"), "{plain:?}");

        let claimed = haproxy.api(None).header("X-Forwarded-For", "203.0.113.9");
        let session = claimed.post("/auth/sign-in", json!({"email": EMAIL, "password": PASSWORD})).await.ok();
        let (customer, switch) = (haproxy.api(session["access_token"].as_str()), haproxy.switch());
        let sessions = customer.get("/me/sessions").await.ok();
        assert_eq!(sessions["data"][0]["ip"], IpAddr::from(CLIENT).to_string(), "and not what the client claims");

        are_answered(&customer, &switch).await;
        for node in [&world, &other] {
            let scrape = Scrape::of(node).await;
            let answered = scrape.value(r#"trunkline_requests_total{method="GET",path="/me",status="200"}"#);
            assert!(answered >= 1.0, "a node got no request");
        }
        other.stop().await;
        are_answered(&customer, &switch).await;
        haproxy.daemon.until(&["Server api/node2 is DOWN", "Server operations/node2 is DOWN"]).await;
        are_answered(&customer, &switch).await;
        world.end().await;
    }
}
