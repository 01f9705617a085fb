//! The service through PgBouncer in transaction mode, with `deploy/pgbouncer/pgbouncer.ini`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use futures_util::future::join_all;
use serde_json::json;
use tempfile::TempDir;

use crate::world::World;
use crate::world::certificates::Authority;
use crate::world::client::Client;
use crate::world::daemon::{Daemon, replaced, root};
use crate::world::engines::{TestDb, postgres};
use crate::world::fixtures::switch::{Scene, answered_cdr};

const FILE: &str = "deploy/pgbouncer/pgbouncer.ini";
const PASSWORD: &str = "of-the-pooler";
const CONCURRENT: usize = 24;

struct Pgbouncer {
    _daemon: Daemon,
    /// An empty database of the test through it.
    url: String,
    _folder: TempDir,
}

impl Pgbouncer {
    async fn before(db: &TestDb) -> Pgbouncer {
        let folder = TempDir::new().unwrap();
        let path = folder.path();
        let url = reqwest::Url::parse(&db.empty_beside(path).await).unwrap();
        let place =
            format!("host=127.0.0.1 port={} dbname={}", url.port().unwrap(), url.path().trim_start_matches('/'));
        let server_authority =
            std::env::var("TRUNKLINE_TEST_POSTGRES_CA").expect("no authority to trust: run make test");
        let authority = Authority::new(path, "ca");
        let identity = authority.server("server", "127.0.0.1");
        std::fs::write(path.join("userlist.txt"), format!("\"postgres\" \"{PASSWORD}\"\n")).unwrap();
        // PgBouncer refuses to run as root.
        let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
        std::fs::set_permissions(&identity.key, Permissions::from_mode(0o644)).unwrap();

        let file = path.join("pgbouncer.ini");
        let command = |[port]: [u16; 1]| {
            let text = replaced(
                FILE,
                &[
                    ("host=10.0.0.20 port=5432 dbname=trunkline", &place),
                    ("host=10.0.0.21 port=5432 dbname=trunkline", &place),
                    ("listen_addr = 10.0.0.20", "listen_addr = 127.0.0.1"),
                    ("listen_port = 6432", &format!("listen_port = {port}")),
                    ("/etc/pgbouncer/db-ca.pem", &server_authority),
                    ("/etc/pgbouncer/", &format!("{}/", path.display())),
                ],
            );
            std::fs::write(&file, text).unwrap();
            let mut pgbouncer = Command::new(root().join("target/pgbouncer/pgbouncer"));
            if is_root {
                pgbouncer.arg("--user=postgres");
            }
            pgbouncer.arg(&file);
            pgbouncer
        };
        let (daemon, [port]) = Daemon::on_free_ports(command, &["process up"]).await;
        let tls = format!("sslmode=verify-full&sslrootcert={}", authority.certificate());
        let url = format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/trunkline?{tls}");
        Pgbouncer { _daemon: daemon, url, _folder: folder }
    }
}

postgres! {
    async fn two_nodes_migrate_and_serve_through_pgbouncer(db) {
        let pgbouncer = Pgbouncer::before(db).await;
        let settings = [("TRUNKLINE_RATE_LIMITS", "off")];
        let world = World::at(pgbouncer.url.clone(), &settings, server::routes::table()).await;
        let scene = Scene::in_world(world, 10_000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        let began = scene.now();
        let times = json!({"at": began + 90_000, "answered_at": began, "upstream_id": scene.upstream});
        scene.send_events(json!([scene.event("ended", &token, 0, times)])).await;
        assert_eq!(scene.cdr(&token).await, answered_cdr(90, 90_000_000));
        scene.world.advance(100).await;

        // Transactions that run at the same time have connections of PostgreSQL to themselves, others share them: a
        // statement that a node has prepared on one runs on another.
        let other = scene.world.another_node().await;
        let nodes = [&scene.world, &other].into_iter().cycle().take(CONCURRENT);
        let callers: Vec<Client> = nodes.map(|node| node.bearing(scene.customer.token())).collect();
        for answer in join_all(callers.iter().map(|caller| caller.get("/cdrs"))).await {
            assert_eq!(answer.ok()["data"][0]["duration_seconds"], 90);
        }
        let change = json!({"company_name": "Pooled BV"});
        for answer in join_all(callers.iter().map(|caller| caller.patch("/account", change.clone()))).await {
            answer.ok();
        }
        other.end().await;
        scene.end().await;
    }
}
