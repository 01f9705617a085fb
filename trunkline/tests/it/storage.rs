//! Reads and writes behave alike on both databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::row_values;
use db::{Conn, Db, DbError, Result};
use db::{params, row};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::world::engines::{TestDb, both, uuid};

const SPECIMENS: &str = "
    CREATE TABLE specimens (
        id UUID PRIMARY KEY NOT NULL,
        email TEXT NOT NULL,
        name TEXT,
        balance BIGINT NOT NULL CONSTRAINT balance_not_negative CHECK (balance >= 0),
        active BOOLEAN NOT NULL DEFAULT TRUE,
        parent_id UUID REFERENCES specimens (id),
        secret BYTEA,
        alias TEXT,
        UNIQUE (email)
    );
    CREATE UNIQUE INDEX specimens_name_live ON specimens (name) WHERE active;
    CREATE UNIQUE INDEX specimens_alias_folded ON specimens (lower(alias));";

row! {
    #[derive(Debug, PartialEq)]
    struct Specimen { id: Uuid, email: String, name: Option<String>, balance: i64, active: bool, secret: Option<Vec<u8>> }
}

async fn specimens(db: &TestDb) -> &TestDb {
    db.ddl(SPECIMENS).await;
    db
}

async fn insert(conn: &mut Conn, id: Uuid, email: &str, balance: i64) -> Result<u64> {
    let sql = "INSERT INTO specimens (id, email, balance) VALUES ($1, $2, $3)";
    conn.exec(sql, params![id, email, balance]).await
}

async fn add(db: &Db, id: Uuid, email: &'static str, balance: i64) -> Result<u64> {
    db.tx((id, email, balance), |conn, input| Box::pin(insert(conn, input.0, input.1, input.2))).await
}

async fn balance(db: &Db, id: Uuid) -> i64 {
    let sql = "SELECT balance FROM specimens WHERE id = $1";
    db.read().await.unwrap().one::<(i64,)>(sql, params![id]).await.unwrap().0
}

async fn count(db: &Db) -> i64 {
    db.read().await.unwrap().one::<(i64,)>("SELECT COUNT(*) FROM specimens", &[]).await.unwrap().0
}

/// Runs one statement in a transaction of its own.
async fn exec(db: &Db, sql: &'static str) -> Result<u64> {
    db.tx(sql, |conn, sql| Box::pin(conn.exec(sql, &[]))).await
}

both! {
    async fn a_row_comes_back_as_it_was_written(db) {
        specimens(db).await;
        let specimen = Specimen {
            id: uuid(), email: "a@x.io".into(), name: None, balance: 7, active: false, secret: Some(vec![0, 255]),
        };
        db.tx((specimen.id, specimen.secret.clone()), |conn, (id, secret)| Box::pin(async move {
            let sql = "INSERT INTO specimens (id, email, name, balance, active, secret) VALUES ($1, $2, $3, $4, $5, $6)";
            conn.exec(sql, params![*id, "a@x.io", None::<&str>, 7_i64, false, *secret]).await
        })).await.unwrap();
        let mut reader = db.read().await.unwrap();
        let sql = db::sql!("SELECT ", Specimen::COLS, " FROM specimens WHERE id = $1");
        assert_eq!(reader.one::<Specimen>(sql, params![specimen.id]).await.unwrap(), specimen);
        assert_eq!(reader.opt::<Specimen>(sql, params![uuid()]).await.unwrap(), None);
        assert!(matches!(reader.one::<Specimen>(sql, params![uuid()]).await, Err(DbError::NotFound)));
    }

    async fn parameters_are_bound_by_the_number_that_is_written(db) {
        let mut reader = db.read().await.unwrap();
        let row: (String, i64, String) =
            reader.one("SELECT CAST($2 AS TEXT), CAST($1 AS BIGINT), CAST($2 AS TEXT)", params![7_i64, "x"]).await.unwrap();
        assert_eq!(row, ("x".into(), 7, "x".into()));
    }

    async fn null_is_distinct_from_a_value(db) {
        let mut reader = db.read().await.unwrap();
        let sql = "SELECT CAST($1 AS BIGINT), CAST($2 AS TEXT)";
        let row: (Option<i64>, Option<String>) = reader.one(sql, params![None::<i64>, Some("")]).await.unwrap();
        assert_eq!(row, (None, Some(String::new())));
        let wrong = reader.one::<(i64, String)>(sql, params![None::<i64>, "x"]).await;
        assert!(matches!(wrong, Err(DbError::Column { .. })), "{wrong:?}");
        let wrong = reader.one::<(String, String)>(sql, params![Some(1_i64), "x"]).await;
        assert!(matches!(wrong, Err(DbError::Column { .. })), "{wrong:?}");
    }

    async fn errors_have_the_same_names(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 5).await.unwrap();
        exec(db, "UPDATE specimens SET name = 'acme'").await.unwrap();
        let unique = |result: Result<u64>| match result { Err(DbError::Unique(name)) => name, other => panic!("{other:?}") };
        assert_eq!(unique(add(db, id, "b@x.io", 5).await), "specimens_pkey");
        assert_eq!(unique(add(db, uuid(), "a@x.io", 5).await), "specimens_email_key");
        add(db, uuid(), "c@x.io", 5).await.unwrap();
        assert_eq!(unique(exec(db, "UPDATE specimens SET name = 'acme'").await), "specimens_name_live");
        assert_eq!(unique(exec(db, "UPDATE specimens SET alias = 'Acme'").await), "specimens_alias_folded");
        let failed = add(db, uuid(), "d@x.io", -1).await;
        assert!(matches!(&failed, Err(DbError::Check(name)) if name == "balance_not_negative"), "{failed:?}");
        let failed = exec(db, "UPDATE specimens SET email = NULL").await;
        assert!(matches!(&failed, Err(DbError::NotNull(column)) if column == "email"), "{failed:?}");
        let failed = db.tx((id, uuid()), |conn, (id, nobody)| Box::pin(
            conn.exec("UPDATE specimens SET parent_id = $2 WHERE id = $1", params![*id, *nobody].to_vec().leak())
        )).await;
        assert!(matches!(failed, Err(DbError::ForeignKey)), "{failed:?}");
        assert!(matches!(exec(db, "UPDATE nothing SET a = 1").await, Err(DbError::Other(_))));
    }

    async fn an_error_rolls_back_the_transaction(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 5).await.unwrap();
        let failed = db.tx((), |conn, ()| Box::pin(async move {
            conn.exec("UPDATE specimens SET balance = 9", &[]).await?;
            Err::<(), _>(DbError::NotFound)
        })).await;
        assert!(matches!(failed, Err(DbError::NotFound)));
        assert_eq!(balance(db, id).await, 5);
    }

    async fn a_failed_statement_fails_the_transaction_even_when_it_is_ignored(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 5).await.unwrap();
        let ignored = db.tx(id, |conn, id| Box::pin(async move {
            conn.exec("UPDATE specimens SET balance = 9", &[]).await?;
            let _ = insert(conn, *id, "b@x.io", 1).await;
            let after = conn.exec("UPDATE specimens SET balance = 10", &[]).await;
            assert!(matches!(after, Err(DbError::Aborted)), "{after:?}");
            Ok::<_, DbError>(())
        })).await;
        assert!(matches!(ignored, Err(DbError::Aborted)), "{ignored:?}");
        assert_eq!(balance(db, id).await, 5);
    }

    async fn a_panic_rolls_back_only_its_transaction(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 5).await.unwrap();
        let panicked: Result<()> = db.tx((), |conn, ()| Box::pin(async move {
            conn.exec("UPDATE specimens SET balance = 9", &[]).await?;
            panic!("on purpose")
        })).await;
        assert!(panicked.unwrap_err().to_string().contains("panicked"));
        assert_eq!(balance(db, id).await, 5);
        add(db, uuid(), "b@x.io", 5).await.unwrap();
    }

    async fn transactions_in_one_group_fail_separately(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 1000).await.unwrap();
        let mut tasks = JoinSet::new();
        for number in 0..200_i64 {
            let db = Db::clone(db);
            tasks.spawn(async move {
                let debited = db.tx((id, number), |conn, (id, number)| Box::pin(async move {
                    conn.exec("UPDATE specimens SET balance = balance - 1 WHERE id = $1", params![*id]).await?;
                    if number % 2 == 0 { Err(DbError::NotFound) } else { Ok(()) }
                }));
                debited.await.is_ok()
            });
        }
        assert_eq!(tasks.join_all().await.into_iter().filter(|done| *done).count(), 100);
        assert_eq!(balance(db, id).await, 900);
    }

    async fn a_transaction_ends_after_its_caller_is_dropped(db) {
        specimens(db).await;
        let (started, mut has_started) = tokio::sync::mpsc::channel::<()>(1);
        let caller = tokio::spawn({
            let db = Db::clone(db);
            async move {
                db.tx(started, |conn, started| Box::pin(async move {
                    insert(conn, Uuid::nil(), "a@x.io", 1).await?;
                    let _ = started.try_send(());
                    insert(conn, Uuid::max(), "b@x.io", 1).await
                })).await
            }
        });
        has_started.recv().await;
        caller.abort();
        let _ = caller.await;
        // The sender lives in the input: the channel closes when the transaction is over.
        while has_started.recv().await.is_some() {}
        add(db, uuid(), "c@x.io", 1).await.unwrap();
        assert_eq!(count(db).await, 3);
    }

    async fn serializable_transactions_retry_until_all_commit(db) {
        specimens(db).await;
        let id = uuid();
        add(db, id, "a@x.io", 0).await.unwrap();
        let mut tasks = JoinSet::new();
        for _ in 0..6 {
            let db = Db::clone(db);
            tasks.spawn(async move {
                for _ in 0..5 {
                    // Reading first and writing after is wrong under READ COMMITTED and right here.
                    db.tx_serializable(id, |conn, id| Box::pin(async move {
                        let (now,): (i64,) =
                            conn.one("SELECT balance FROM specimens WHERE id = $1", params![*id]).await?;
                        conn.exec("UPDATE specimens SET balance = $2 WHERE id = $1", params![*id, now + 1]).await
                    })).await.unwrap();
                }
            });
        }
        tasks.join_all().await;
        assert_eq!(balance(db, id).await, 30);
    }

    async fn a_reader_cannot_write(db) {
        specimens(db).await;
        let mut reader = db.read().await.unwrap();
        assert!(reader.exec("DELETE FROM specimens", &[]).await.is_err());
        assert!(reader.insert_many("specimens", ["balance"], &[1_i64], |balance| row_values![*balance]).await.is_err());
        assert_eq!(reader.one::<(i64,)>("SELECT COUNT(*) FROM specimens", &[]).await.unwrap(), (0,));
    }

    async fn a_reader_works_after_a_failed_read(db) {
        let mut reader = db.read().await.unwrap();
        assert!(reader.one::<(i64,)>("SELECT COUNT(*) FROM nothing", &[]).await.is_err());
        assert_eq!(reader.one::<(i64,)>("SELECT CAST(1 AS BIGINT)", &[]).await.unwrap(), (1,));
    }

    async fn a_bulk_insert_is_atomic(db) {
        specimens(db).await;
        let rows: Vec<(Uuid, String, Option<String>)> =
            (0..10_000).map(|n| (uuid(), format!("{n}@x.io"), (n % 2 == 0).then(|| format!("name {n}")))).collect();
        const COLUMNS: [&str; 4] = ["id", "email", "name", "balance"];
        let inserted = db.tx(rows, |conn, rows| Box::pin(async move {
            conn.insert_many("specimens", COLUMNS, rows, |row| row_values![row.0, row.1, row.2, 1_i64]).await
        })).await;
        assert_eq!(inserted.unwrap(), 10_000);
        let mut reader = db.read().await.unwrap();
        let sql = "SELECT COUNT(*), COUNT(name), CAST(SUM(balance) AS BIGINT) FROM specimens";
        assert_eq!(reader.one::<(i64, i64, i64)>(sql, &[]).await.unwrap(), (10_000, 5_000, 10_000));
        let twice = db.tx((), |conn, ()| Box::pin(async move {
            let rows = [(uuid(), "new@x.io"), (uuid(), "5@x.io")];
            conn.insert_many("specimens", ["id", "email", "balance"], &rows, |row| row_values![row.0, row.1, 1_i64]).await
        })).await;
        assert!(twice.as_ref().is_err_and(|error| error.is_unique("specimens_email_key")), "{twice:?}");
        let none = db.tx((), |conn, ()| Box::pin(conn.insert_many("specimens", ["id"], &[], |id: &Uuid| row_values![*id]))).await;
        assert_eq!(none.unwrap(), 0);
        assert_eq!(count(db).await, 10_000);
    }

    async fn a_large_result_streams_row_by_row(db) {
        specimens(db).await;
        let sum = db.report((), |conn, ()| Box::pin(async move {
            let mut sum = 0;
            let sql = "WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                       SELECT i FROM n";
            let rows = conn.each(sql, &[], |(i,): (i64,)| { sum += i; Ok(()) }).await?;
            assert_eq!(rows, 100_000);
            Ok::<_, DbError>(sum)
        })).await;
        assert_eq!(sum.unwrap(), 5_000_050_000);
    }

    async fn a_visitor_can_stop_a_stream(db) {
        let mut reader = db.read().await.unwrap();
        let sql = "WITH RECURSIVE n (i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n";
        let stopped = reader.each(sql, &[], |(i,): (i64,)| if i < 3 { Ok(()) } else { Err(DbError::NotFound) }).await;
        assert!(matches!(stopped, Err(DbError::NotFound)));
        assert_eq!(reader.all::<(i64,)>(sql, &[]).await.unwrap().len(), 1000);
    }

    async fn a_report_may_wait_for_its_receiver(db) {
        let (rows, mut received) = tokio::sync::mpsc::channel::<i64>(1);
        let report = tokio::spawn({
            let db = Db::clone(db);
            async move {
                db.report(rows, |conn, rows| Box::pin(async move {
                    for _ in 0..10 {
                        let (row,): (i64,) = conn.one("SELECT CAST(4 AS BIGINT)", &[]).await?;
                        rows.send(row).await.map_err(DbError::other)?;
                    }
                    Ok::<_, DbError>(())
                })).await
            }
        });
        let mut sum = 0;
        while let Some(row) = received.recv().await { sum += row; }
        report.await.unwrap().unwrap();
        assert_eq!(sum, 40);
    }

    async fn a_snapshot_reads_one_state_and_the_next_read_the_latest(db) {
        specimens(db).await;
        add(db, uuid(), "a@x.io", 1).await.unwrap();
        let seen = db.snapshot(Db::clone(db), |conn, db| Box::pin(async move {
            let sql = "SELECT COUNT(*) FROM specimens";
            let (before,): (i64,) = conn.one(sql, &[]).await?;
            add(db, uuid(), "b@x.io", 1).await?;
            let (after,): (i64,) = conn.one(sql, &[]).await?;
            assert!(conn.exec("DELETE FROM specimens", &[]).await.is_err());
            Ok::<_, DbError>((before, after))
        }));
        assert_eq!(seen.await.unwrap(), (1, 1));
        for _ in 0..8 {
            let sql = "SELECT COUNT(*) FROM specimens";
            let counted = db.report(sql, |conn, sql| Box::pin(conn.one::<(i64,)>(sql, &[])));
            assert_eq!(counted.await.unwrap(), (2,));
        }
    }

    async fn a_transaction_with_a_conflict_is_retried(db) {
        specimens(db).await;
        let attempts = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let outcome = db.tx((attempts.clone(), uuid()), |conn, (attempts, id)| Box::pin(async move {
            insert(conn, *id, "a@x.io", 1).await?;
            if attempts.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
                return Err(conn.retry_conflict());
            }
            Ok(())
        })).await;
        // SQLite runs one write transaction at a time, so there is no conflict.
        let tried = attempts.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!((outcome.is_ok(), tried, count(db).await), if db.is_shared() { (true, 2, 1) } else { (false, 1, 0) });
    }

    async fn the_database_answers_a_ping(db) {
        db.ping().await.unwrap();
    }
}
