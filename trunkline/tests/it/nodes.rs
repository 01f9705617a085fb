//! Several nodes on one database act as one service, and nothing is lost when a node dies.
//!
//! SQLite has one node: there the same tests run on it alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::params;
use db::{Db, DbError};
use futures_util::future::join_all;
use platform::crypto::passwords::{Cost, Passwords};
use serde_json::json;
use tokio::task::JoinSet;
use values::{Role, Time};

use crate::world::accounts;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::{fresh_email, key};
use crate::world::process::{self, Process};
use crate::world::{PASSWORD, World, outbox};

/// The first node and, where the database can be shared, a second.
struct Nodes(Vec<World>);

impl Nodes {
    async fn start(db: &TestDb, settings: &[(&str, &str)]) -> Nodes {
        let first = World::with(db, settings).await;
        let mut nodes = vec![];
        if db.is_shared() {
            nodes.push(first.another_node().await);
        }
        nodes.push(first);
        // No window of an hour may end in the middle of a test.
        let into_the_hour = nodes[0].node.app.clock.now().seconds().rem_euclid(3600);
        for node in &nodes {
            node.advance(u64::try_from(3600 - into_the_hour).unwrap()).await;
        }
        Nodes(nodes)
    }

    /// The same caller at each node by turns.
    fn bearing(&self, token: &str, count: usize) -> Vec<Client> {
        self.0.iter().cycle().take(count).map(|node| node.bearing(token)).collect()
    }

    fn first(&self) -> &World {
        self.0.last().unwrap()
    }

    async fn end(self) {
        for node in self.0 {
            node.end().await;
        }
    }
}

both! {
    async fn a_rate_limit_holds_over_all_nodes(db) {
        let nodes = Nodes::start(db, &[("TRUNKLINE_LIMIT_SIGN_IN", "10/3600")]).await;
        let callers: Vec<Client> = nodes.0.iter().cycle().take(30).map(World::anyone).collect();
        let asked = callers.iter().map(|caller| caller.post("/auth/forgot-password", json!({"email": fresh_email()})));
        let passed = join_all(asked).await.iter().filter(|answer| answer.status == 202).count();
        assert_eq!(passed, 10);
        nodes.end().await;
    }

    async fn a_quota_leased_in_blocks_is_used_up_and_never_exceeded(db) {
        let nodes = Nodes::start(db, &[("TRUNKLINE_LIMIT_READS", "100/3600")]).await;
        let token = nodes.first().minted(Role::Customer).await.token().to_owned();
        let callers = nodes.bearing(&token, 160);
        let answers = join_all(callers.iter().map(|caller| caller.get("/account"))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 100);
        nodes.end().await;
    }

    async fn a_session_ended_on_one_node_ends_on_every_node_within_a_second(db) {
        let nodes = Nodes::start(db, &[("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let session = nodes.first().customer("devices@example.com").await;
        for caller in nodes.bearing(session.token(), 4) {
            caller.get("/me").await.expect(200);
        }
        let id = session.get("/me/sessions").await.ok()["data"][0]["id"].as_str().unwrap().to_owned();
        session.delete(&format!("/me/sessions/{id}")).await.expect(204);
        nodes.first().bearing(session.token()).get("/me").await.problem(401, "auth.token_invalid");
        for node in &nodes.0 {
            node.advance(1).await;
        }
        for caller in nodes.bearing(session.token(), 4) {
            caller.get("/me").await.problem(401, "auth.token_invalid");
        }
        nodes.end().await;
    }

    async fn one_key_used_on_all_nodes_concurrently_has_one_effect(db) {
        let nodes = Nodes::start(db, &[("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let token = nodes.first().minted(Role::Customer).await.token().to_owned();
        let key = key();
        let callers: Vec<Client> = nodes.bearing(&token, 30).iter().map(|caller| caller.with_key(key)).collect();
        let answers =
            join_all(callers.iter().map(|caller| caller.patch("/account", json!({"company_name": "Once"})))).await;
        let fresh = answers.iter().filter(|it| it.status == 200 && it.header("idempotent-replayed").is_none()).count();
        assert_eq!(fresh, 1);
        assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 409)));
        let changes = "SELECT CAST(count(*) AS BIGINT) FROM audit_log WHERE action = 'account.update'";
        assert_eq!(count(db, changes).await, 1);
        nodes.end().await;
    }

    async fn a_job_runs_once_whichever_node_enqueued_it(db) {
        let nodes = Nodes::start(db, &[("TRUNKLINE_RATE_LIMITS", "off")]).await;
        let emails = insert_users(db, 40).await;
        let callers: Vec<Client> = nodes.0.iter().cycle().take(40).map(World::anyone).collect();
        let asked = callers.iter().zip(&emails);
        let asked = asked.map(|(caller, email)| caller.post("/auth/forgot-password", json!({"email": email})));
        for answer in join_all(asked).await {
            answer.expect(202);
        }
        for node in &nodes.0 {
            node.settle().await;
        }
        let mut receivers: Vec<String> = nodes.first().mails().await.into_iter().map(|mail| mail.to).collect();
        receivers.sort();
        let mut expected = emails;
        expected.sort();
        assert_eq!(receivers, expected);
        nodes.end().await;
    }

    async fn nothing_acknowledged_is_lost_when_a_node_is_killed(db) {
        let folder = tempfile::TempDir::new().unwrap();
        let settings = [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on")];
        let emails = insert_users(db, 400).await;
        let mut node = Process::serve(db, folder.path(), &settings);
        let (mut asked, mut sessions) = (JoinSet::new(), JoinSet::new());
        for batch in emails.chunks(50) {
            let (caller, batch) = (node.anyone(), batch.to_vec());
            asked.spawn(async move { ask_for_links(&caller, batch).await });
        }
        for email in [emails[0].clone(), emails[1].clone()] {
            let caller = node.anyone();
            sessions.spawn(async move { sign_in_again_and_again(&caller, &email).await });
        }
        while count(db, "SELECT CAST(count(*) AS BIGINT) FROM audit_log").await < 100 {
            assert!(node.is_running());
            tokio::task::yield_now().await;
        }
        node.kill();
        let acknowledged = asked.join_all().await.concat();
        let tokens = sessions.join_all().await.concat();
        assert!(acknowledged.len() < emails.len(), "the node was killed too late to prove anything");

        let node = Process::serve(db, folder.path(), &settings);
        for token in &tokens {
            node.bearing(token).get("/me").await.expect(200);
        }
        // The dead node's jobs are free when their leases end.
        node.advance(600).await;
        let mails = outbox::read(&folder.path().join("outbox"));
        for email in &acknowledged {
            assert_eq!(mails.iter().filter(|mail| mail.to == *email).count(), 1, "mails to {email}");
        }
        let twice = emails.iter().find(|email| mails.iter().filter(|mail| mail.to == **email).count() > 1);
        assert_eq!(twice, None, "got two mails");
        drop(node);
        let verified = process::run(db, folder.path(), &[], &["audit", "verify"]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }

    async fn a_node_with_another_master_secret_does_not_start(db) {
        let world = World::start(db).await;
        world.end().await;
        let folder = tempfile::TempDir::new().unwrap();
        let settings = [("TRUNKLINE_MASTER_SECRET", "another-master-secret-0123456789abcdefghij")];
        let refused = process::run(db, folder.path(), &settings, &["serve"]);
        assert!(!refused.status.success());
        let words = String::from_utf8(refused.stderr).unwrap();
        assert!(words.contains("was created with another master secret"), "{words}");
        assert!(words.contains("TRUNKLINE_MASTER_SECRET") && !words.contains("another-master-secret-"), "{words}");
    }
}

/// The addresses whose request was acknowledged before the node was gone.
async fn ask_for_links(caller: &Client, emails: Vec<String>) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for email in emails {
        let request = caller.request(reqwest::Method::POST, "/auth/forgot-password").json(&json!({"email": email}));
        match request.send().await {
            Ok(response) if response.status() == 202 => acknowledged.push(email),
            Ok(response) => panic!("{}", response.status()),
            Err(_) => break,
        }
    }
    acknowledged
}

/// The access tokens that were handed out before the node was gone.
async fn sign_in_again_and_again(caller: &Client, email: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    loop {
        let body = json!({"email": email, "password": PASSWORD});
        let Ok(response) = caller.request(reqwest::Method::POST, "/auth/sign-in").json(&body).send().await else {
            break;
        };
        let Ok(session) = response.json::<serde_json::Value>().await else { break };
        tokens.push(session["access_token"].as_str().unwrap().to_owned());
    }
    tokens
}

/// Users of one account; the first two know the usual password.
async fn insert_users(db: &Db, count: usize) -> Vec<String> {
    let emails: Vec<String> = (0..count).map(|_| fresh_email()).collect();
    let hash = Passwords::new(Cost::Minimal).hash(PASSWORD).await.unwrap();
    let insert = db.tx((emails.clone(), hash), |conn, (emails, hash)| {
        Box::pin(async move {
            let start = Time::from_millis(0);
            let account = accounts::live_account(conn, &emails[0], start).await?;
            for (number, email) in emails.iter().enumerate() {
                let hash = (number < 2).then(|| hash.clone());
                accounts::user_of(conn, account, email, Role::Customer, hash, start).await?;
            }
            Ok::<_, DbError>(())
        })
    });
    insert.await.unwrap();
    emails
}

async fn count(db: &Db, sql: &'static str) -> i64 {
    let (count,) = db.read().await.unwrap().one(sql, params![]).await.unwrap();
    count
}
