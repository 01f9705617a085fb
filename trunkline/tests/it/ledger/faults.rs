//! `trunkline ledger verify` finds every alteration of the ledger.

use platform::ledger::{Book, Entry, Kind};
use tempfile::TempDir;

use crate::world::engines::{TestDb, both, postgres_client};
use crate::world::fixtures::ledger::{Action, call, customer_with, eur, hold, run, topup, verify};
use crate::world::process;

const TABLES: [&str; 5] =
    ["ledger_balances", "ledger_transactions", "ledger_splits", "ledger_book_days", "ledger_holds"];

/// Each is an alteration of the tables and the fault it must cause.
const ALTERATIONS: &[(&str, &str)] = &[
    (
        "INSERT INTO ledger_splits SELECT account_id, 'vat', 1 FROM ledger_balances WHERE held > 0",
        "with vat has no transaction",
    ),
    ("UPDATE ledger_splits SET amount = amount + 1", "on day 20000 number_order added"),
    ("UPDATE ledger_splits SET book = 'vat'", "on day 20000 number_order added"),
    ("DELETE FROM ledger_splits", "on day 20000 number_order added"),
    ("UPDATE ledger_transactions SET amount = amount + 1 WHERE reference = 'c1'", "but it left 12000000001"),
    ("UPDATE ledger_transactions SET book = 'credits' WHERE reference = 'c1'", "on day 20000 call added"),
    (
        "UPDATE ledger_transactions SET created_at = created_at + 86400000 WHERE reference = 'c1'",
        "on day 20000 call added",
    ),
    ("DELETE FROM ledger_transactions WHERE reference = 'c1'", "transaction number 2 is missing, 3 comes"),
    ("UPDATE ledger_transactions SET currency = 'USD' WHERE reference = 'c1'", "in USD, which has no balance"),
    ("UPDATE ledger_transactions SET reference = 'c1' WHERE reference = 'c2'", "call c1 is posted twice"),
    ("UPDATE ledger_transactions SET number = 9 WHERE reference = 'c1'", "transaction number 2 is missing, 3 comes"),
    ("UPDATE ledger_transactions SET number = 9 WHERE reference = 'c2'", "transaction number 3 is missing, 4 comes"),
    ("UPDATE ledger_transactions SET number = 0 WHERE reference = 'c2'", "and the last has number 0"),
    ("UPDATE ledger_transactions SET balance_after = 1 WHERE reference = 'c1'", "says that it left 1, but it left 12"),
    ("UPDATE ledger_balances SET entries = 0 WHERE held > 0", "0 transactions were counted, and the last has number 4"),
    (
        "UPDATE ledger_balances SET entries = entries + 1 WHERE held > 0",
        "5 transactions were counted, and the last has number 4",
    ),
    ("UPDATE ledger_balances SET balance = balance + 1 WHERE held > 0", "but the postings sum to 7"),
    ("DELETE FROM ledger_balances WHERE held > 0", "which has no balance"),
    ("UPDATE ledger_balances SET held = held + 1 WHERE held > 0", "but the open holds sum to 2"),
    ("DELETE FROM ledger_holds", "but the open holds sum to 0"),
    ("UPDATE ledger_holds SET amount = amount + 1", "but the open holds sum to 2"),
    ("UPDATE ledger_holds SET currency = 'USD'", "the open hold of call h1 counts in no balance"),
    ("UPDATE ledger_book_days SET amount = amount + 1 WHERE book = 'calls'", "on day 20000 call added"),
    ("UPDATE ledger_book_days SET day = day + 1 WHERE book = 'calls'", "on day 20001 call added"),
    ("DELETE FROM ledger_book_days WHERE book = 'clearing'", "on day 20000 topup added 0 to clearing"),
    (
        "UPDATE ledger_book_days SET currency = 'USD' WHERE book = 'calls'",
        "there are sums of day 20000, but no balance",
    ),
];

both! {
    async fn every_kind_of_ledger_fault_is_found_and_located(db) {
        filled(db).await;
        for table in TABLES {
            tamper(db, &format!("CREATE TABLE copy_of_{table} AS SELECT * FROM {table}")).await;
        }
        // A second transaction of one name needs the constraint gone.
        unbind_names(db).await;
        let mut missed = Vec::new();
        for (alteration, expected) in ALTERATIONS {
            tamper(db, alteration).await;
            let fault = verify(db).await.err().map(|fault| fault.to_string());
            if !fault.as_ref().is_some_and(|fault| fault.contains(expected)) {
                missed.push((alteration, fault));
            }
            for table in TABLES {
                tamper(db, &format!("DELETE FROM {table}; INSERT INTO {table} SELECT * FROM copy_of_{table}")).await;
            }
            verify(db).await.unwrap();
        }
        assert!(missed.is_empty(), "{missed:#?}");
    }

    async fn the_verify_command_exits_with_the_result(db) {
        filled(db).await;
        let folder = TempDir::new().unwrap();
        let run = || process::run(db, folder.path(), &[], &["ledger", "verify"]);
        let holds = run();
        assert!(holds.status.success());
        let said = String::from_utf8(holds.stdout).unwrap();
        assert_eq!(said, "The ledger is valid: 5 transactions with 11 postings of 2 customers, 1 open holds.\n");
        tamper(db, "UPDATE ledger_balances SET balance = balance + 1 WHERE held > 0").await;
        let broken = run();
        assert!(!broken.status.success() && broken.stdout.is_empty());
        let said = String::from_utf8(broken.stderr).unwrap();
        assert!(said.contains("the ledger is not valid: account acc_") && said.contains("the balance is 7"), "{said}");
    }
}

/// Two customers, of whom one has 7 euros after two calls and an order of 3, and holds 2.
async fn filled(db: &TestDb) {
    let account = customer_with(db, eur(13)).await;
    run(db, Action::Debit(call(account, "c1", eur(1)))).await.unwrap();
    run(db, Action::Debit(call(account, "c2", eur(2)))).await.unwrap();
    let order = [(Book::NumberSetup, eur(1)), (Book::NumberRental, eur(2))];
    let order = Entry::charge(account, Kind::NumberOrder, "o1", &order).unwrap();
    run(db, Action::Debit(order)).await.unwrap();
    run(db, hold(account, "h1", eur(2))).await.unwrap();
    run(db, Action::Credit(topup(customer_with(db, eur(0)).await, "other", eur(5)))).await.unwrap();
    verify(db).await.unwrap();
}

/// Runs SQL that no trigger, foreign key or check sees.
async fn tamper(db: &TestDb, sql: &str) {
    if db.is_shared() {
        let client = postgres_client(&db.url).await;
        client.batch_execute("SET session_replication_role = replica").await.unwrap();
        client.batch_execute(sql).await.unwrap();
    } else {
        let connection = rusqlite::Connection::open(db.file()).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        for trigger in
            ["transactions_not_updated", "transactions_not_deleted", "splits_not_updated", "splits_not_deleted"]
        {
            connection.execute_batch(&format!("DROP TRIGGER IF EXISTS ledger_{trigger}")).unwrap();
        }
        connection.execute_batch(sql).unwrap();
    }
}

/// Drops the unique constraint on kind and reference.
async fn unbind_names(db: &TestDb) {
    if db.is_shared() {
        let sql = "ALTER TABLE ledger_transactions DROP CONSTRAINT ledger_posted_once";
        return tamper(db, sql).await;
    }
    // SQLite cannot drop a constraint, so the table is rebuilt without it.
    let rebuild = "PRAGMA legacy_alter_table = ON;
         ALTER TABLE ledger_transactions RENAME TO bound;
         CREATE TABLE ledger_transactions AS SELECT * FROM bound;
         DROP TABLE bound;";
    tamper(db, rebuild).await;
}
