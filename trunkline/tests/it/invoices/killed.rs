//! A service that is killed repeatedly while it issues invoices.

use billing::invoices::Month;
use db::{Clock, Db};
use platform::ledger::{self, LedgerError};
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;
use values::Time;

use crate::world::accounts;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::fresh_email;
use crate::world::fixtures::invoices::{INVOICE_NUMBERS, assert_gapless, call_charge, euros};
use crate::world::process::Process;

const CUSTOMERS: i64 = 40;
const KILLS: usize = 3;

async fn customers_with_use(db: &Db, now: Time) {
    for units in 1..=CUSTOMERS {
        let used = db.tx((units, now), |conn, (units, now)| {
            Box::pin(async move {
                let account = accounts::live_account(conn, &fresh_email(), *now).await?;
                ledger::debit_unguarded(conn, &call_charge(account, euros(*units))).await?;
                Ok::<_, LedgerError>(())
            })
        });
        used.await.unwrap();
    }
}

async fn count(db: &Db, sql: &'static str) -> i64 {
    db.read().await.unwrap().one::<(i64,)>(sql, &[]).await.unwrap().0
}

fn serve(db: &TestDb, folder: &TempDir) -> Process {
    tokio::task::block_in_place(|| Process::serve(db, folder.path(), &[("TRUNKLINE_TEST_CLOCK", "on")]))
}

both! {
    async fn a_killed_service_finishes_its_invoices_once_each_without_a_gap(db) {
        const ISSUED: &str = "SELECT COUNT(*) FROM invoices";
        let folder = TempDir::new().unwrap();
        let now = Clock::system().now();
        customers_with_use(db, now).await;
        let ahead = (Month::of(now).end().seconds() + 3 * 3600 - now.seconds()).unsigned_abs();
        for _ in 0..KILLS {
            let mut node = serve(db, &folder);
            let clock = node.operations().request(Method::POST, "/ops/clock");
            let advancing = tokio::spawn(clock.json(&json!({"advance_seconds": ahead})).send());
            let enough = count(db, ISSUED).await + 5;
            while count(db, ISSUED).await < enough && !advancing.is_finished() {
                tokio::task::yield_now().await;
            }
            node.kill();
            let _ = advancing.await;
        }
        let mut node = serve(db, &folder);
        node.advance(ahead).await;
        // The leases of the killed are over by then.
        node.advance(120).await;
        node.kill();
        assert_eq!(count(db, ISSUED).await, CUSTOMERS);
        assert_eq!(count(db, "SELECT COUNT(*) FROM ledger_transactions WHERE kind = 'invoice_vat'").await, CUSTOMERS);
        assert_eq!(count(db, "SELECT COUNT(*) FROM invoices WHERE content_hash IS NULL").await, 0);
        let rows: Vec<(String,)> = db.read().await.unwrap().all(INVOICE_NUMBERS, &[]).await.unwrap();
        let numbers: Vec<String> = rows.into_iter().map(|(number,)| number).collect();
        assert_gapless(&numbers);
        let verified = db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await.unwrap();
        verified.unwrap_or_else(|fault| panic!("the ledger is wrong: {fault}"));
    }
}
