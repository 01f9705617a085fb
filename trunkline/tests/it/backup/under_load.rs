//! The drill: a backup while the team posts credits and a switch imports calls as fast as they can, restored on a new
//! machine.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use db::Clock;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use values::Role;

use super::{command, run, succeeded, text};
use crate::world::accounts::{self, Person};
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::switch::{CALL_DECK, SOURCE_IP, trunk_with_source};
use crate::world::fixtures::upstreams::{create_upstream, upstream_body};
use crate::world::form::{Form, pdf};
use crate::world::payer::fresh_key;
use crate::world::process::Process;
use crate::world::s3::files_below;

const SETTINGS: [(&str, &str); 1] = [("TRUNKLINE_RATE_LIMITS", "off")];
const CUSTOMERS: usize = 4;
/// Clients that import calls of the last customer.
const IMPORTERS: usize = 2;
/// Writes of every kind that are acknowledged before the backup begins.
const BEFORE: usize = 50;

both! {
    async fn a_backup_under_load_restores_every_write_acknowledged_before_it(db) {
        let (folder, elsewhere, shelf) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
        let customers = accounts::insert(db, Role::Customer, CUSTOMERS).await;
        let team = accounts::insert(db, Role::Admin, 1).await.remove(0);
        let upstream = upstream_with_deck(db, folder.path(), &team).await;
        let node = Process::serve(db, folder.path(), &SETTINGS);
        let (admin, cora) = (node.sign_in(&team.email).await, node.sign_in(&customers[0].email).await);
        Form::document("other", "kept.pdf", &pdf("/Kept 1")).post(&cora, "/me/kyb/documents").await.expect(201);
        let (caller, carol) = (CUSTOMERS - 1, node.sign_in(&customers[CUSTOMERS - 1].email).await);
        let trunk = trunk_with_source(&carol, json!({}), SOURCE_IP).await;

        let mut load = Load::default();
        for (index, customer) in customers.iter().enumerate() {
            load.give_credits(index, &admin, customer);
        }
        for _ in 0..IMPORTERS {
            load.import_calls(caller, &node.operations(), &trunk, &upstream);
        }
        while load.calls() < BEFORE || load.credits() < BEFORE {
            tokio::task::yield_now().await;
        }
        let (before, file) = (load.calls() + load.credits(), shelf.path().join("monday.backup"));
        let mut backup = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
        let made = tokio::task::spawn_blocking(move || backup.output().unwrap()).await.unwrap();
        let all = load.stop().await;
        let told = succeeded(&made);
        let files = format!("{} files", files_below(&folder.path().join("files")).len());
        assert!(told.contains(&files) && told.contains(if db.is_shared() { "PostgreSQL" } else { "SQLite" }), "{told}");
        assert!(all[before..].iter().any(Write::is_call), "nobody imported calls meanwhile");
        assert!(!all[before..].iter().all(Write::is_call), "nobody posted credits meanwhile");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(files_below(shelf.path()), std::slice::from_ref(&file), "nothing but the backup is left");
        drop(node);

        let (url, data) = (db.empty_beside(elsewhere.path()).await, elsewhere.path().join("data"));
        let told = succeeded(&run(&url, &data, &["restore", text(&file)]));
        for line in ["The ledger is valid", "The CDRs are valid", "The audit chain is valid"] {
            assert!(told.contains(line), "{told}");
        }
        for what in ["ledger", "cdrs", "audit"] {
            succeeded(&run(&url, &data, &[what, "verify"]));
        }
        assert_eq!(stored(&data.join("files")), stored(&folder.path().join("files")));

        let node = Process::serve_at(&url, &data, &SETTINGS);
        // The token from before the backup: the secrets came along.
        node.bearing(cora.token()).get("/me/kyb").await.expect(200);
        let mut found = Vec::new();
        for customer in &customers {
            found.push(written(&node.sign_in(&customer.email).await).await);
        }
        for write in &all[..before] {
            assert!(found[write.customer].contains(&write.what), "{} was acknowledged and is gone", write.what);
        }
        assert_one_moment(&all, &found);
    }

    async fn a_restored_installation_can_be_backed_up_and_restored_again(db) {
        let (folder, elsewhere, shelf) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
        let (first, second) = (shelf.path().join("first"), shelf.path().join("second"));
        drop(Process::serve(db, folder.path(), &SETTINGS));
        succeeded(&run(&db.url, folder.path(), &["backup", text(&first)]));
        let (url, data) = (db.empty_beside(elsewhere.path()).await, elsewhere.path().join("data"));
        succeeded(&run(&url, &data, &["restore", text(&first)]));
        succeeded(&run(&url, &data, &["backup", text(&second)]));
        let told = succeeded(&run(&url, &data, &["restore", "--check", text(&second)]));
        assert!(told.contains("is whole") && told.contains("audit rows, 0 files"), "{told}");
    }
}

/// The id of an upstream with rates. The deck is imported while nothing runs, so that the next node knows it at once.
async fn upstream_with_deck(db: &TestDb, folder: &Path, team: &Person) -> String {
    let node = Process::serve(db, folder, &SETTINGS);
    let upstream = create_upstream(&node.sign_in(&team.email).await, upstream_body()).await;
    drop(node);
    let deck = folder.join("deck.csv");
    std::fs::write(&deck, CALL_DECK).unwrap();
    succeeded(&run(&db.url, folder, &["rates", "import", "--upstream", &upstream, text(&deck)]));
    upstream
}

/// A write that was acknowledged.
#[derive(Clone)]
struct Write {
    /// Index of the customer.
    customer: usize,
    /// When it was sent and when it was acknowledged, as places in the order of all these moments.
    sent: usize,
    acknowledged: usize,
    /// The line of the ledger, or the Call-ID of an imported call.
    what: Value,
}

impl Write {
    fn is_call(&self) -> bool {
        self.what.is_string()
    }
}

/// Writes that are repeated until it is stopped.
#[derive(Default)]
struct Load {
    is_stopped: Arc<AtomicBool>,
    moments: Arc<AtomicUsize>,
    done: Arc<Mutex<Vec<Write>>>,
    tasks: JoinSet<()>,
}

impl Load {
    /// Credits of one cent to a customer.
    fn give_credits(&mut self, index: usize, admin: &Client, customer: &Person) {
        let amount = json!({"amount_minor": 1, "currency": "EUR"});
        let body = json!({
            "customer_id": customer.account.to_string(), "amount": amount, "reason": "For the outage of Monday",
        });
        let admin = admin.clone();
        self.repeat(index, move || {
            let (admin, body) = (admin.with_key(fresh_key()), body.clone());
            async move { admin.post("/admin/credits", body).await.expect(201) }
        });
    }

    /// Calls of a customer that another switch carried, one in each import.
    fn import_calls(&mut self, index: usize, operations: &Client, trunk: &str, upstream: &str) {
        let (operations, trunk, upstream) = (operations.clone(), trunk.to_owned(), upstream.to_owned());
        self.repeat(index, move || {
            let (operations, now) = (operations.clone(), Clock::system().now().millis());
            let line = json!({
                "call_id": fresh_key().to_string(), "leg": "termination", "trunk_id": trunk, "calling": "+31201111111",
                "called": "+31201234567", "started_at": now, "answered_at": now, "ended_at": now + 1000,
                "status": "answered", "upstream_id": upstream,
            });
            async move {
                let request = operations.request(Method::POST, "/switch/cdrs");
                let request = request.header("content-type", "application/x-ndjson").body(format!("{line}\n"));
                let answer = operations.send(request).await.ok();
                assert_eq!(answer["accepted"], 1, "{answer}");
                line["call_id"].clone()
            }
        });
    }

    fn repeat<W, A>(&mut self, customer: usize, write: W)
    where
        W: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Value> + Send + 'static,
    {
        let (is_stopped, moments, done) = (self.is_stopped.clone(), self.moments.clone(), self.done.clone());
        self.tasks.spawn(async move {
            while !is_stopped.load(Ordering::Relaxed) {
                let sent = moments.fetch_add(1, Ordering::SeqCst);
                let what = write().await;
                let acknowledged = moments.fetch_add(1, Ordering::SeqCst);
                done.lock().unwrap().push(Write { customer, sent, acknowledged, what });
            }
        });
    }

    /// Calls that were acknowledged.
    fn calls(&self) -> usize {
        self.done.lock().unwrap().iter().filter(|write| write.is_call()).count()
    }

    fn credits(&self) -> usize {
        self.done.lock().unwrap().iter().filter(|write| !write.is_call()).count()
    }

    async fn stop(self) -> Vec<Write> {
        self.is_stopped.store(true, Ordering::Relaxed);
        let done = self.done.clone();
        self.tasks.join_all().await;
        done.lock().unwrap().clone()
    }
}

/// What a customer is shown of the load's writes.
async fn written(caller: &Client) -> Vec<Value> {
    let lines = rows(caller, "/account/ledger").await.into_iter().filter(|line| line["kind"] == "credit");
    let calls = rows(caller, "/cdrs").await;
    lines.chain(calls.iter().map(|call| call["call_id"].clone())).collect()
}

/// What is there, by customer, is what was there at one moment: nothing twice, and no write without those that had been
/// acknowledged before it was sent.
fn assert_one_moment(all: &[Write], found: &[Vec<Value>]) {
    let is_there = |write: &&Write| found[write.customer].contains(&write.what);
    let (there, missing): (Vec<&Write>, Vec<&Write>) = all.iter().partition(is_there);
    let shown: usize = found.iter().map(Vec::len).sum();
    assert_eq!(shown, there.len(), "something is there twice, or was never acknowledged");
    let last_sent = there.iter().map(|write| write.sent).max().unwrap();
    for write in missing {
        assert!(write.acknowledged > last_sent, "{} is gone, and a later write is there", write.what);
    }
}

/// All rows of a list.
async fn rows(caller: &Client, list: &str) -> Vec<Value> {
    let (mut rows, mut path) = (Vec::new(), format!("{list}?limit=200"));
    loop {
        let mut page = caller.get(&path).await.ok();
        rows.append(page["data"].as_array_mut().unwrap());
        match page["meta"]["next_cursor"].as_str() {
            Some(cursor) => path = format!("{list}?limit=200&cursor={cursor}"),
            None => return rows,
        }
    }
}

/// The files of a store with their bytes.
fn stored(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(folder).into_iter();
    files.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}
