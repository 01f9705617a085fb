//! A service that is killed during a deck import.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::rates::{DECK, large_deck};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::fixtures::{count, key};
use crate::world::process::Process;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD};

const SETTINGS: [(&str, &str); 3] =
    [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on"), ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN)];

fn serve(db: &TestDb, folder: &TempDir) -> Process {
    tokio::task::block_in_place(|| Process::serve(db, folder.path(), &SETTINGS))
}

async fn sign_in(node: &Process) -> Client {
    let session = node.anyone().post("/auth/sign-in", json!({"email": ADMIN_EMAIL, "password": PASSWORD})).await.ok();
    node.bearing(session["access_token"].as_str().unwrap())
}

async fn upload(admin: &Client, upstream: &str, deck: String) -> String {
    let path = format!("/admin/upstreams/{upstream}/rates/import");
    let request = admin.with_key(key()).request(reqwest::Method::POST, &path);
    let accepted = admin.send(request.header("content-type", "text/csv").body(deck)).await.expect(202);
    format!("/admin/upstreams/{upstream}/imports/{}", accepted["id"].as_str().unwrap())
}

async fn routes(admin: &Client) -> Value {
    admin.get("/admin/routes?number=31201234567").await.ok()
}

both! {
    async fn a_service_killed_during_an_import_keeps_the_old_deck_and_fails_it(db) {
        const LEAVES: &str = "SELECT COUNT(*) FROM deck_leaves";
        let folder = TempDir::new().unwrap();
        let mut node = serve(db, &folder);
        let admin = json!({
            "legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD,
        });
        let anyone = node.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN);
        anyone.post("/admin/bootstrap", admin).await.expect(201);
        let admin = sign_in(&node).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        upload(&admin, &upstream, DECK.to_owned()).await;
        node.advance(0).await;
        let before = routes(&admin).await;
        assert_eq!(before["prefix"], "31");

        // The last prefixes of a deck come late enough for its first leaves to be seen.
        let import = upload(&admin, &upstream, large_deck(200_000, "0.01")).await;
        while count(db, LEAVES).await < 2 {
            assert!(node.is_running());
            tokio::task::yield_now().await;
        }
        node.kill();
        assert_eq!(count(db, "SELECT COUNT(*) FROM deck_imports WHERE status = 'running'").await, 1, "killed too late");

        let node = serve(db, &folder);
        let admin = sign_in(&node).await;
        assert_eq!(routes(&admin).await, before);
        // The killed process's job is free when its lease ends.
        node.advance(120).await;
        let admin = sign_in(&node).await;
        let report = admin.get(&import).await.ok();
        assert_eq!(report["status"], "failed");
        assert_eq!(report["reason"], "the service stopped while the import ran; nothing has changed");
        assert_eq!(count(db, LEAVES).await, 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM decks").await, 1);
        assert_eq!(routes(&admin).await, before);

        // And the next one goes through.
        let again = upload(&admin, &upstream, large_deck(2_000, "0.01")).await;
        node.advance(0).await;
        assert_eq!(admin.get(&again).await.ok()["status"], "completed");
    }
}
