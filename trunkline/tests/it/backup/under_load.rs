//! The drill: a backup while the team posts credits as fast as it can, restored on a new machine.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use values::Role;

use super::{command, run, succeeded, text};
use crate::world::accounts::{self, Person};
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::form::{Form, pdf};
use crate::world::payer::fresh_key;
use crate::world::process::Process;
use crate::world::s3::files_below;

const SETTINGS: [(&str, &str); 1] = [("TRUNKLINE_RATE_LIMITS", "off")];
const CUSTOMERS: usize = 4;
/// Credits acknowledged before the backup begins.
const BEFORE: usize = 100;

both! {
    async fn a_backup_under_load_restores_every_write_acknowledged_before_it(db) {
        let (folder, elsewhere, shelf) = (TempDir::new().unwrap(), TempDir::new().unwrap(), TempDir::new().unwrap());
        let customers = accounts::insert(db, Role::Customer, CUSTOMERS).await;
        let team = accounts::insert(db, Role::Admin, 1).await.remove(0);
        let node = Process::serve(db, folder.path(), &SETTINGS);
        let (admin, cora) = (node.sign_in(&team.email).await, node.sign_in(&customers[0].email).await);
        Form::document("other", "kept.pdf", &pdf("/Kept 1")).post(&cora, "/me/kyb/documents").await.expect(201);

        let load = Load::start(&admin, &customers);
        while load.acknowledged().len() < BEFORE {
            tokio::task::yield_now().await;
        }
        let (before, file) = (load.acknowledged(), shelf.path().join("monday.backup"));
        let mut backup = command(&db.url, folder.path(), &[], &["backup", text(&file)]);
        let made = tokio::task::spawn_blocking(move || backup.output().unwrap()).await.unwrap();
        let all = load.stop().await;
        let told = succeeded(&made);
        assert!(told.contains("1 file") && told.contains(if db.is_shared() { "PostgreSQL" } else { "SQLite" }), "{told}");
        assert!(all.len() > before.len(), "nobody wrote meanwhile");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(files_below(shelf.path()), std::slice::from_ref(&file), "nothing but the backup is left");
        drop(node);

        let (url, data) = (db.empty_beside(elsewhere.path()).await, elsewhere.path().join("data"));
        let told = succeeded(&run(&url, &data, &["restore", text(&file)]));
        for line in ["The ledger is valid", "The CDRs are valid", "The audit chain is valid"] {
            assert!(told.contains(line), "{told}");
        }
        assert_eq!(stored(&data.join("files")), stored(&folder.path().join("files")));

        let node = Process::serve_at(&url, &data, &SETTINGS);
        // The token from before the backup: the secrets came along.
        node.bearing(cora.token()).get("/me/kyb").await.expect(200);
        for (index, customer) in customers.iter().enumerate() {
            let lines = ledger(&node.sign_in(&customer.email).await).await;
            let expected = before.iter().filter(|(payee, _)| *payee == index);
            for (_, line) in expected {
                assert!(lines.contains(line), "{line} was acknowledged and is gone");
            }
            let given = all.iter().filter(|(payee, _)| *payee == index).count();
            assert!(lines.len() <= given, "{} lines, and {given} were given", lines.len());
        }
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

/// Credits of one cent that are given until it is stopped.
struct Load {
    is_stopped: Arc<AtomicBool>,
    given: Arc<Mutex<Vec<(usize, Value)>>>,
    tasks: JoinSet<()>,
}

impl Load {
    fn start(admin: &Client, customers: &[Person]) -> Load {
        let mut load = Load { is_stopped: Arc::default(), given: Arc::default(), tasks: JoinSet::new() };
        for (index, customer) in customers.iter().enumerate() {
            let (admin, customer) = (admin.clone(), customer.account.to_string());
            let (is_stopped, given) = (load.is_stopped.clone(), load.given.clone());
            load.tasks.spawn(async move {
                let amount = json!({"amount_minor": 1, "currency": "EUR"});
                let body = json!({"customer_id": customer, "amount": amount, "reason": "For the outage of Monday"});
                while !is_stopped.load(Ordering::Relaxed) {
                    let line = admin.with_key(fresh_key()).post("/admin/credits", body.clone()).await.expect(201);
                    given.lock().unwrap().push((index, line));
                }
            });
        }
        load
    }

    /// The lines of the ledger that were answered, each with its customer.
    fn acknowledged(&self) -> Vec<(usize, Value)> {
        self.given.lock().unwrap().clone()
    }

    async fn stop(self) -> Vec<(usize, Value)> {
        self.is_stopped.store(true, Ordering::Relaxed);
        let given = self.given.clone();
        self.tasks.join_all().await;
        given.lock().unwrap().clone()
    }
}

/// All lines of a customer's ledger.
async fn ledger(caller: &Client) -> Vec<Value> {
    let (mut lines, mut path) = (Vec::new(), "/account/ledger?limit=200".to_owned());
    loop {
        let mut page = caller.get(&path).await.ok();
        lines.append(page["data"].as_array_mut().unwrap());
        match page["meta"]["next_cursor"].as_str() {
            Some(cursor) => path = format!("/account/ledger?limit=200&cursor={cursor}"),
            None => return lines,
        }
    }
}

/// The files of a store with their bytes.
fn stored(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files_below(folder).into_iter();
    files.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap())).collect()
}
