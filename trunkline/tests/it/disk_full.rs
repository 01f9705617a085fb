//! A full disk: requests that would write say so, the node is not ready, and it recovers by itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::json;
use tempfile::TempDir;
use values::Role;

use crate::world::client::{Answer, Client};
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::metrics::Scrape;
use crate::world::form::{Form, png};
use crate::world::process::Process;
use crate::world::{World, accounts};
use db::DbError;
use platform::app::App;

/// How long the database's disk counts as full after a write that failed.
const FULL_SECONDS: u64 = 15;

both! {
    async fn a_full_disk_is_named_until_there_is_room_again(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let ops = world.anyone_at_operations();
        for _ in 0..3 {
            fill_disk(db, &world.node.app).await;
            let refused = rename_until_refused(&cora).await.problem(503, "service.unavailable");
            assert!(refused["detail"].as_str().unwrap().contains("disk of the database is full"), "{refused}");
            let unready = ops.get("/readyz").await.problem(503, "service.unavailable");
            assert!(unready["detail"].as_str().unwrap().starts_with("disk: "), "{unready}");
            cora.get("/account").await.expect(200);

            free_disk(db, &world.node.app).await;
            cora.patch("/account", json!({"company_name": "Room again"})).await.expect(200);
            world.advance(FULL_SECONDS).await;
            ops.get("/readyz").await.expect(200);
        }
        assert!(Scrape::of(&world).await.value("trunkline_db_errors_total{kind=\"disk_full\"}") >= 3.0);
        world.end().await;
    }

    async fn an_upload_without_room_names_the_disk_and_leaves_nothing(db) {
        let folder = TempDir::new().unwrap();
        let service = Process::serve_on_small_disk(db, folder.path(), &[("TRUNKLINE_RATE_LIMITS", "off")], 4);
        let cora = service.sign_in(&accounts::insert(db, Role::Customer, 1).await.remove(0).email).await;
        upload(&cora, 1, MIB).await.expect(201);
        for _ in 0..3 {
            names_the_disk(&upload(&cora, 2, 6 * MIB).await.problem(503, "service.unavailable"));
        }
        // The refused ones are gone, so that a smaller one has room.
        upload(&cora, 3, MIB).await.expect(201);
        let mut last = upload(&cora, 4, MIB).await;
        for seed in 5..8 {
            last = upload(&cora, seed, MIB).await;
        }
        names_the_disk(&last.problem(503, "service.unavailable"));
        cora.get("/me/kyb").await.expect(200);
    }
}

const MIB: usize = 1 << 20;

async fn upload(caller: &Client, seed: u8, length: usize) -> Answer {
    let mut picture = png(10, 10);
    picture.resize(length, seed);
    Form::document("other", "passport.png", &picture).post(caller, "/me/kyb/documents").await
}

fn names_the_disk(problem: &serde_json::Value) {
    assert!(problem["detail"].as_str().unwrap().contains("disk of the file store is full"), "{problem}");
}

/// Every change needs a little room, so one of them finds none.
async fn rename_until_refused(caller: &Client) -> Answer {
    for number in 0..2000 {
        let answer = caller.patch("/account", json!({"company_name": format!("Company {number}")})).await;
        if answer.status != 200 {
            return answer;
        }
    }
    panic!("the disk is not full");
}

async fn fill_disk(db: &TestDb, app: &App) {
    if db.is_shared() {
        let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                      $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$";
        run(app, refuse).await;
        run(app, "CREATE TRIGGER refuse BEFORE UPDATE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse()").await;
    } else {
        // The file cannot grow beyond its pages, of which none is free.
        run_pragma(app, "PRAGMA max_page_count = 1").await;
    }
}

async fn free_disk(db: &TestDb, app: &App) {
    if db.is_shared() {
        run(app, "DROP TRIGGER refuse ON accounts").await;
        run(app, "DROP FUNCTION refuse()").await;
    } else {
        run_pragma(app, "PRAGMA max_page_count = 1000000").await;
    }
}

async fn run(app: &App, sql: &'static str) {
    app.db.tx(sql, |conn, sql| Box::pin(conn.exec(sql, &[]))).await.unwrap();
}

/// On the service's own connection, since the limit is that of a connection.
async fn run_pragma(app: &App, sql: &'static str) {
    app.db
        .tx(sql, |conn, sql| Box::pin(async move { conn.one::<(i64,)>(sql, &[]).await.map_err(DbError::other) }))
        .await
        .unwrap();
}
