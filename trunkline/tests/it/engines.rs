//! Behaviour of one database only, and the schema on both.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use db::params;
use db::{Conn, Db, DbError, DbOptions, MIGRATIONS, Result, Value};
use platform::ledger::{Book, Entry, Kind};
use rusqlite::Connection;
use tokio::task::JoinSet;
use uuid::Uuid;
use values::{AccountId, Money};

use crate::world::engines::{TestDb, both, postgres_client, uuid};
use crate::world::fixtures::ledger::{Action, DAY, NOW, amounts, call, customer_with, eur, hold, run, run_at, verify};

const SCRIBBLES: &str = "CREATE TABLE scribbles (id UUID PRIMARY KEY NOT NULL, text TEXT NOT NULL);";

async fn write(conn: &mut Conn, text: &str) -> Result<u64> {
    conn.exec("INSERT INTO scribbles (id, text) VALUES ($1, $2)", params![uuid(), text]).await
}

async fn note(db: &Db) -> Result<u64> {
    db.tx((), |conn, ()| Box::pin(write(conn, "note"))).await
}

async fn scribbles(db: &Db) -> i64 {
    db.read().await.unwrap().one::<(i64,)>("SELECT COUNT(*) FROM scribbles", &[]).await.unwrap().0
}

async fn open_with(db: &TestDb, change: fn(&mut DbOptions)) -> Db {
    let mut options = db.options();
    change(&mut options);
    Db::open(&options).await.unwrap()
}

/// A database beside the test's own, or in its place, that was never migrated.
async fn empty(db: &TestDb) -> Db {
    if !db.is_shared() {
        return Db::open(&format!("sqlite://{}", db.file().with_extension("empty").display()).parse().unwrap())
            .await
            .unwrap();
    }
    db.ddl("DROP SCHEMA public CASCADE; CREATE SCHEMA public;").await;
    Db::clone(db)
}

/// A live call as it was before it kept its own hold.
async fn begin_call(conn: &mut Conn, account: AccountId, token: Uuid, reserved: Money) -> Result<u64> {
    conn.exec(
        "INSERT INTO live_calls (token, edge_id, call_id, from_tag, account_id, trunk_id, leg, zone, calling, called,
             currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds, routes, started_at,
             seen_at, reserved, reserved_seconds, expires_at, hang_up)
         VALUES ($1, 'edge-1', $2, '', $3, $1, 'termination', 'eu-west', '+31201111111', '+31201234567', 'EUR', 0, 0,
             1, 0, '[]', $4, $4, $5, 300, $4, FALSE)",
        params![token, token.to_string(), account, NOW, reserved.nanos()],
    )
    .await
}

/// A top-up of 27 and an order of 7, as they were posted before transactions had their amount and book.
async fn post_to_two_tables(conn: &mut Conn, account: AccountId) -> Result<()> {
    let (topup, order) = (uuid(), uuid());
    let nanos = |units: i64| eur(units).nanos();
    let balance = "INSERT INTO ledger_balances (account_id, currency, balance, held, minimum, entries)
                   VALUES ($1, 'EUR', $2, 0, 0, 2)";
    conn.exec(balance, params![account, nanos(20)]).await?;
    for (id, number, kind, reference, left) in [(topup, 1_i64, "topup", "t1", 27), (order, 2, "number_order", "o1", 20)]
    {
        let transaction = "INSERT INTO ledger_transactions
                               (id, account_id, currency, number, kind, reference, balance_after, note, created_at)
                           VALUES ($1, $2, 'EUR', $3, $4, $5, $6, 'Posted before', $7)";
        conn.exec(transaction, params![id, account, number, kind, reference, nanos(left), NOW]).await?;
    }
    for (id, kind, book, units) in [
        (topup, "topup", "customer", 27),
        (topup, "topup", "clearing", -27),
        (order, "number_order", "customer", -7),
        (order, "number_order", "number_setup", 5),
        (order, "number_order", "number_rental", 2),
    ] {
        let posting = "INSERT INTO ledger_postings (transaction_id, book, amount) VALUES ($1, $2, $3)";
        conn.exec(posting, params![id, book, nanos(units)]).await?;
        let day = "INSERT INTO ledger_days (account_id, currency, day, kind, book, amount, entries)
                   VALUES ($1, 'EUR', 20000, $2, $3, $4, 1)";
        conn.exec(day, params![account, kind, book, nanos(units)]).await?;
    }
    Ok(())
}

both! {
    async fn several_long_answers_are_read_in_one_round_trip(db) {
        let count = "WITH RECURSIVE counted (n) AS
                         (SELECT CAST($1 AS BIGINT) UNION ALL SELECT n + 1 FROM counted WHERE n < $2)
                     SELECT n FROM counted";
        let ends = [(1_i64, 20_000_i64), (5, 5), (20_001, 40_000)];
        let lists: Vec<Vec<Value<'_>>> = ends.iter().map(|(from, to)| params![*from, *to].to_vec()).collect();
        let counted: Vec<Vec<(i64,)>> = db.read().await.unwrap().all_each(count, &lists).await.unwrap();
        let expected = ends.map(|(from, to)| (from..=to).map(|n| (n,)).collect::<Vec<_>>());
        assert!(counted == expected, "{:?}", counted.iter().map(Vec::len).collect::<Vec<_>>());
    }

    async fn a_migrated_database_is_current_and_migrates_no_further(db) {
        db.check_version().await.unwrap();
        db.migrate().await.unwrap();
        assert!(db.pending_migrations().await.unwrap().is_empty());
    }

    async fn an_unmigrated_database_says_what_is_pending(db) {
        let db = empty(db).await;
        let refused = db.check_version().await.unwrap_err().to_string();
        assert!(refused.contains("pending") && refused.contains(MIGRATIONS[0].name), "{refused}");
        db.migrate().await.unwrap();
        db.check_version().await.unwrap();
    }

    async fn concurrent_migrations_take_turns(db) {
        let db = empty(db).await;
        let mut nodes = JoinSet::new();
        for _ in 0..4 {
            let db = db.clone();
            nodes.spawn(async move { db.migrate().await });
        }
        assert!(nodes.join_all().await.into_iter().all(|migrated| migrated.is_ok()));
    }

    async fn open_holds_of_live_calls_move_into_their_calls(db) {
        let db = empty(db).await;
        let moving = MIGRATIONS.iter().position(|migration| migration.name.ends_with("_live_call_holds")).unwrap();
        db.migrate_to(moving).await.unwrap();
        let account = customer_with(&db, eur(0)).await;
        db.tx(account, |conn, account| Box::pin(post_to_two_tables(conn, *account))).await.unwrap();
        let [expired, held, free] = [2, 3, 0].map(|units| (uuid(), eur(units)));
        for (token, reserved) in [expired, held, free] {
            db.tx((account, token, reserved), |conn, (account, token, reserved)| {
                Box::pin(begin_call(conn, *account, *token, *reserved))
            }).await.unwrap();
        }
        run(&db, hold(account, &expired.0.to_string(), expired.1)).await.unwrap();
        run_at(&db, Action::Expire, NOW.plus(DAY)).await.unwrap();
        run(&db, hold(account, &held.0.to_string(), held.1)).await.unwrap();
        run(&db, hold(account, "no live call", eur(4))).await.unwrap();

        db.migrate().await.unwrap();
        assert_eq!(amounts(&db, account).await, (eur(20), eur(7), eur(13)));
        assert_eq!(verify(&db).await.unwrap().open_holds, 2);
        let mut reader = db.read().await.unwrap();
        let calls: Vec<(Uuid, i64)> =
            reader.all("SELECT token, held FROM live_calls WHERE held > 0", &[]).await.unwrap();
        assert_eq!(calls, [(held.0, held.1.nanos())]);
        let holds: Vec<(String, String)> =
            reader.all("SELECT reference, state FROM ledger_holds ORDER BY state", &[]).await.unwrap();
        let others = [(expired.0.to_string(), "expired".to_owned()), ("no live call".to_owned(), "open".to_owned())];
        assert_eq!(holds, others);
    }

    async fn postings_move_into_their_transactions(db) {
        let db = empty(db).await;
        let moving = MIGRATIONS.iter().position(|migration| migration.name.ends_with("_ledger_splits")).unwrap();
        db.migrate_to(moving).await.unwrap();
        let account = customer_with(&db, eur(0)).await;
        db.tx(account, |conn, account| Box::pin(post_to_two_tables(conn, *account))).await.unwrap();
        db.migrate().await.unwrap();
        let verified = verify(&db).await.unwrap();
        assert_eq!((verified.transactions, verified.postings), (2, 5));
        let order = [(Book::NumberSetup, eur(5)), (Book::NumberRental, eur(2))];
        let order = Entry::charge(account, Kind::NumberOrder, "o1", &order).unwrap();
        let known = run(&db, Action::Debit(order)).await.unwrap().posted();
        assert_eq!((known.already, known.number, known.amount, known.at), (true, 2, eur(-7), NOW));
        let next = run(&db, Action::Debit(call(account, "c1", eur(1)))).await.unwrap().posted();
        assert_eq!((next.number, next.balance_after), (3, eur(19)));
        verify(&db).await.unwrap();
    }

    async fn a_newer_database_is_refused(db) {
        db.tx((), |conn, ()| Box::pin(conn.exec(
            "INSERT INTO schema_migrations (number, name, checksum) VALUES (9999, '9999_future', 'x')", &[],
        ))).await.unwrap();
        for refused in [db.check_version().await, db.migrate().await] {
            assert!(matches!(&refused, Err(DbError::Schema(why)) if why.contains("newer")), "{refused:?}");
        }
    }

    async fn a_migration_that_changed_after_it_ran_is_refused(db) {
        db.tx((), |conn, ()| Box::pin(conn.exec("UPDATE schema_migrations SET checksum = 'x' WHERE number = 1", &[])))
            .await.unwrap();
        for refused in [db.check_version().await, db.migrate().await] {
            assert!(matches!(&refused, Err(DbError::Schema(why)) if why.contains("changed")), "{refused:?}");
        }
    }
}

#[test]
fn every_file_in_the_migrations_folder_is_built_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../migrations");
    let mut files: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    files.sort();
    let mut listed = Vec::new();
    for (position, migration) in MIGRATIONS.iter().enumerate() {
        assert!(migration.name.starts_with(&format!("{:04}_", position + 1)), "{} is out of order", migration.name);
        listed.extend(migration.files());
    }
    listed.sort();
    assert_eq!(files, listed, "list the file in crates/db/src/migrate.rs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_transaction_that_awaits_something_else_fails_immediately() {
    let db = TestDb::sqlite().await;
    db.ddl(SCRIBBLES).await;
    let waited: Result<()> = db
        .tx((), |conn, ()| {
            Box::pin(async move {
                write(conn, "lost").await?;
                std::future::pending().await
            })
        })
        .await;
    assert!(waited.unwrap_err().to_string().contains("awaited something other"));
    note(&db).await.unwrap();
    assert_eq!(scribbles(&db).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_write_lock_times_out() {
    let db = TestDb::sqlite().await;
    db.ddl(SCRIBBLES).await;
    let hasty = open_with(&db, |options| options.lock_timeout = Duration::from_millis(20)).await;
    let other = Connection::open(db.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(note(&hasty).await, Err(DbError::LockTimeout)));
    other.execute_batch("COMMIT").unwrap();
    note(&hasty).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_write_queue_blocks_and_then_refuses() {
    let db = TestDb::sqlite().await;
    db.ddl(SCRIBBLES).await;
    let narrow = open_with(&db, |options| {
        options.queue = 1;
        options.wait = Duration::from_millis(500);
        options.lock_timeout = Duration::from_secs(60);
    })
    .await;
    let other = Connection::open(db.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // The writer holds one transaction, the queue another, and the third finds no place.
    let mut tasks = JoinSet::new();
    for _ in 0..3 {
        let narrow = narrow.clone();
        tasks.spawn(async move { note(&narrow).await });
    }
    let refused = tasks.join_next().await.unwrap().unwrap();
    assert!(matches!(refused, Err(DbError::Unavailable(_))), "{refused:?}");
    other.execute_batch("COMMIT").unwrap();
    assert!(tasks.join_all().await.into_iter().all(|written| written.is_ok()));
    assert_eq!(scribbles(&db).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_no_committed_rows() {
    let db = TestDb::sqlite().await;
    db.ddl(SCRIBBLES).await;
    let limit = |sql: &'static str| db.tx(sql, |conn, sql| Box::pin(conn.one::<(i64,)>(sql, &[])));
    limit("PRAGMA max_page_count = 60").await.unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..100 {
        let db = Db::clone(&db);
        tasks.spawn(async move {
            db.tx("x".repeat(5000), |conn, text| Box::pin(async move { write(conn, text).await })).await
        });
    }
    let (written, refused): (Vec<_>, Vec<_>) = tasks.join_all().await.into_iter().partition(Result::is_ok);
    assert!(!refused.is_empty());
    for refused in refused {
        assert!(matches!(refused, Err(DbError::DiskFull(_))), "{refused:?}");
    }
    limit("PRAGMA max_page_count = 100000").await.unwrap();
    assert_eq!(scribbles(&db).await, written.len() as i64);
    note(&db).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_by_sqlite_itself_fails_its_group_and_not_the_writer() {
    let db = TestDb::sqlite().await;
    db.ddl(SCRIBBLES).await;
    let mut tasks = JoinSet::new();
    for number in 0..50 {
        let db = Db::clone(&db);
        tasks.spawn(async move {
            db.tx(number, |conn, number| {
                Box::pin(async move {
                    write(conn, "note").await?;
                    // What SQLite does on an I/O error.
                    if number % 10 == 0 { conn.exec("ROLLBACK", &[]).await } else { Ok(1) }
                })
            })
            .await
        });
    }
    let written = tasks.join_all().await.into_iter().filter(Result::is_ok).count();
    assert_eq!(scribbles(&db).await, written as i64);
    note(&db).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_bounded() {
    let db = TestDb::sqlite().await;
    let narrow = open_with(&db, |options| {
        options.readers = 1;
        options.wait = Duration::from_millis(20);
    })
    .await;
    let held = narrow.read().await.unwrap();
    assert!(matches!(narrow.read().await, Err(DbError::Unavailable(_))));
    drop(held);
    narrow.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_connections_are_bounded() {
    let test = async |db: &TestDb| {
        let narrow = open_with(db, |options| {
            options.connections = 1;
            options.wait = Duration::from_millis(200);
        })
        .await;
        let held = narrow.read().await.unwrap();
        assert!(matches!(narrow.read().await, Err(DbError::Unavailable(_))));
        drop(held);
        narrow.ping().await.unwrap();
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_times_out() {
    let test = async |db: &TestDb| {
        db.ddl(SCRIBBLES).await;
        note(db).await.unwrap();
        let hasty = open_with(db, |options| options.lock_timeout = Duration::from_millis(20)).await;
        let other = postgres_client(&db.url).await;
        other.batch_execute("BEGIN; UPDATE scribbles SET text = 'held'").await.unwrap();
        let change = || hasty.tx((), |conn, ()| Box::pin(conn.exec("UPDATE scribbles SET text = 'mine'", &[])));
        assert!(matches!(change().await, Err(DbError::LockTimeout)));
        other.batch_execute("COMMIT").await.unwrap();
        assert_eq!(change().await.unwrap(), 1);
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_reports_unavailable_and_is_replaced() {
    let test = async |db: &TestDb| {
        db.ddl(SCRIBBLES).await;
        let lost = db.tx((), |conn, ()| {
            Box::pin(async move {
                write(conn, "lost").await?;
                conn.one::<(bool,)>("SELECT pg_terminate_backend(pg_backend_pid())", &[]).await
            })
        });
        let lost = lost.await;
        assert!(matches!(lost, Err(DbError::Unavailable(_))), "{lost:?}");
        note(db).await.unwrap();
        assert_eq!(scribbles(db).await, 1);
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_read_blocks_no_other_query() {
    let test = async |db: &TestDb| {
        let pool = open_with(db, |options| options.connections = 2).await;
        let other = postgres_client(&db.url).await;
        other.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
        let slow = {
            let pool = pool.clone();
            tokio::spawn(async move {
                let mut reader = pool.read().await.unwrap();
                reader.one::<(i64,)>("SELECT 1::bigint FROM pg_advisory_lock(1)", &[]).await
            })
        };
        let busy = db.until_one_waits().await;
        slow.abort();
        assert!(slow.await.is_err());
        let mine = "SELECT pg_backend_pid()::bigint";
        let (mine,) = pool.read().await.unwrap().one::<(i64,)>(mine, &[]).await.unwrap();
        assert_ne!(mine, i64::from(busy));
        assert_eq!(pool.load().connections_in_use, 1);
        other.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
        while pool.load().connections_in_use > 0 {
            tokio::task::yield_now().await;
        }
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_asynchronous_commit_is_refused() {
    let test = async |db: &TestDb| {
        let url = format!("{}&options=-c%20synchronous_commit%3Doff", db.url);
        let refused = Db::open(&url.parse().unwrap()).await.err().unwrap().to_string();
        assert!(refused.contains("synchronous_commit"), "{refused}");
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test]
async fn an_unreachable_server_reports_unavailable() {
    let refused = Db::open(&"postgres://127.0.0.1:1/none?sslmode=disable".parse().unwrap()).await.err();
    assert!(matches!(refused, Some(DbError::Unavailable(_))), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn deadlocks_are_retried_until_both_transactions_commit() {
    let test = async |db: &TestDb| {
        db.ddl("CREATE TABLE twins (id BIGINT PRIMARY KEY NOT NULL, n BIGINT NOT NULL);").await;
        db.tx((), |conn, ()| Box::pin(conn.exec("INSERT INTO twins (id, n) VALUES (1, 0), (2, 0)", &[])))
            .await
            .unwrap();
        let mut tasks = JoinSet::new();
        for order in [[1_i64, 2], [2, 1], [1, 2], [2, 1]] {
            let db = Db::clone(db);
            tasks.spawn(async move {
                db.tx(order, |conn, order| {
                    Box::pin(async move {
                        for id in order {
                            conn.exec("UPDATE twins SET n = n + 1 WHERE id = $1", params![*id]).await?;
                        }
                        Ok::<_, DbError>(())
                    })
                })
                .await
            });
        }
        assert!(tasks.join_all().await.into_iter().all(|done| done.is_ok()));
        let sums = db.read().await.unwrap().all::<(i64,)>("SELECT n FROM twins ORDER BY id", &[]).await.unwrap();
        assert_eq!(sums, [(4,), (4,)]);
    };
    TestDb::postgres().await.run(test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tls_connection_needs_the_right_server_certificate() {
    let authority = std::env::var("TRUNKLINE_TEST_POSTGRES_CA").expect("no authority to trust: run make test");
    let secret = |database: &str, query: &str| {
        let url = database.replace("sslmode=disable", query);
        async move { Db::open(&url.parse::<DbOptions>().unwrap()).await }
    };
    TestDb::postgres()
        .await
        .run(async |db| {
            let known = secret(&db.url, &format!("sslmode=verify-full&sslrootcert={authority}")).await.unwrap();
            let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
            assert!(known.read().await.unwrap().one::<(bool,)>(sql, &[]).await.unwrap().0);
            let stranger = secret(&db.url, "sslmode=require").await.err().unwrap().to_string();
            assert!(stranger.to_lowercase().contains("certificate") || stranger.contains("TLS"), "{stranger}");
        })
        .await;
}
