//! Importing rate decks from files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod hold;
mod imap;
mod killed;
mod mail;
mod pull;
mod sheets;

use reqwest::Method;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::rates::{DECK, import_counts, import_deck, import_report, large_deck, price, upload_deck};
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};
use crate::world::fixtures::{count, key};
use crate::world::process;

both! {
    async fn an_imported_deck_prices_calls(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let accepted = upload_deck(&admin, &upstream, "", DECK).await.expect(202);
        assert_eq!((&accepted["rows_total"], &accepted["errors"]), (&json!(3), &json!([])));
        world.settle().await;
        let report = import_report(&admin, &upstream, &accepted).await;
        assert_eq!(report["status"], "completed");
        assert_eq!((&report["rows_done"], &report["rows_total"]), (&json!(3), &json!(3)));
        assert_eq!(import_counts(&report), [3, 0, 0, 0]);
        assert_eq!((&report["mode"], &report["dry_run"]), (&json!("replace"), &json!(false)));
        assert_eq!((&report["error_count"], &report["errors"], &report["reason"]), (&json!(0), &json!([]), &Value::Null));
        assert_eq!(price(&world, "31612345678").await.as_deref(), Some("0.0209"));
        let shown = admin.get(&format!("/admin/upstreams/{upstream}")).await.ok();
        assert_eq!(shown["last_import_at"], report["completed_at"]);
        let listed = admin.get(&format!("/admin/upstreams/{upstream}/imports")).await.ok();
        assert_eq!(listed["data"][0]["id"], report["id"]);
        assert_eq!(listed["data"][0].get("errors"), None);
        world.end().await;
    }

    async fn rows_are_counted_the_same_however_the_file_ends(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        for deck in [DECK.trim_end().to_owned(), format!("{DECK}\r\n \n"), DECK.replace('\n', "\n\n")] {
            let accepted = upload_deck(&admin, &upstream, "", &deck).await.expect(202);
            assert_eq!(accepted["rows_total"], 3, "{deck:?}");
            world.settle().await;
            assert_eq!(import_report(&admin, &upstream, &accepted).await["rows_total"], 3, "{deck:?}");
        }
        world.end().await;
    }

    async fn one_bad_line_in_a_hundred_thousand_is_named_and_changes_nothing(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &upstream, "", DECK).await;
        let mut lines: Vec<String> = large_deck(100_000, "0.01").lines().map(str::to_owned).collect();
        lines[50_000] = "3149999,Amsterdam,NL,O.01".to_owned();
        let report = import_deck(&world, &admin, &upstream, "", &lines.join("\r\n")).await;
        assert_eq!(report["status"], "failed");
        assert_eq!((&report["error_count"], import_counts(&report)), (&json!(1), [0; 4]));
        assert_eq!(report["errors"].as_array().unwrap().len(), 1);
        assert_eq!(report["errors"][0]["line"], 50_001);
        assert_eq!(report["errors"][0]["column"], "rate_per_minute");
        assert_eq!(report["rows_done"], 100_000);
        assert_eq!(price(&world, "31201234567").await.as_deref(), Some("0.00495"));
        assert_eq!(price(&world, "44201234567").await.as_deref(), Some("0.00671"));
        assert_eq!(count(db, "SELECT COUNT(*) FROM decks").await, 1);
        world.end().await;
    }

    async fn the_first_thousand_faults_are_listed_and_all_are_counted(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let report = import_deck(&world, &admin, &upstream, "", &large_deck(1_500, "much")).await;
        assert_eq!((&report["status"], &report["error_count"]), (&json!("failed"), &json!(1_500)));
        assert_eq!(report["errors"].as_array().unwrap().len(), 1_000);
        world.end().await;
    }

    async fn a_dry_run_reports_the_changes_and_makes_none(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &upstream, "", DECK).await;
        let next = DECK.replace("0.0045", "0.005").replace("0.019", "0.01").replace("44,United Kingdom,GB", "49,Germany,DE");
        let report = import_deck(&world, &admin, &upstream, "?dry_run=true", &next).await;
        assert_eq!((&report["status"], &report["dry_run"]), (&json!("completed"), &json!(true)));
        assert_eq!(import_counts(&report), [1, 1, 1, 1]);
        assert_eq!(price(&world, "49301234567").await, None);
        assert_eq!(count(db, "SELECT COUNT(*) FROM decks").await, 1);
        assert_eq!(import_counts(&import_deck(&world, &admin, &upstream, "", &next).await), [1, 1, 1, 1]);
        assert_eq!(price(&world, "49301234567").await.as_deref(), Some("0.00671"));
        assert_eq!(price(&world, "44201234567").await, None);
        world.end().await;
    }

    async fn a_merged_deck_keeps_unnamed_prefixes(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &upstream, "", DECK).await;
        let more = "country;prefix;rate_per_minute;destination_name\r\nDE;+49;0,01;\"Germany; all\"\r\n";
        assert_eq!(import_counts(&import_deck(&world, &admin, &upstream, "?mode=merge", more).await), [1, 0, 0, 0]);
        assert_eq!(price(&world, "49301234567").await.as_deref(), Some("0.011"));
        assert_eq!(price(&world, "44201234567").await.as_deref(), Some("0.00671"));
        world.end().await;
    }

    async fn imports_of_one_upstream_take_turns_and_the_last_one_counts(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let mut accepted = Vec::new();
        for cents in 1..=5 {
            let deck = large_deck(3_000, &format!("0.0{cents}"));
            accepted.push(upload_deck(&admin, &upstream, "", &deck).await.expect(202));
        }
        world.settle().await;
        for one in &accepted {
            assert_eq!(import_report(&admin, &upstream, one).await["status"], "completed");
        }
        assert_eq!(price(&world, "3100001").await.as_deref(), Some("0.055"));
        let in_order = "SELECT COUNT(*) FROM deck_imports AS one JOIN deck_imports AS other
                        ON one.created_at < other.created_at AND one.completed_at > other.started_at";
        assert_eq!(count(db, in_order).await, 0);
        world.end().await;
    }

    async fn customers_are_notified_once_of_each_import_that_changes_prices(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let customer = world.customer("rates@example.com").await;
        let told = async || {
            let list = customer.get("/notifications").await.ok();
            let codes = list["data"].as_array().unwrap().iter().filter(|one| one["code"] == "rates.changed");
            codes.cloned().collect::<Vec<Value>>()
        };
        let upstream = create_upstream(&admin, upstream_body()).await;
        import_deck(&world, &admin, &upstream, "", DECK).await;
        assert_eq!(told().await.len(), 1);
        import_deck(&world, &admin, &upstream, "", DECK).await;
        assert_eq!(told().await.len(), 1);
        import_deck(&world, &admin, &upstream, "?dry_run=true", &DECK.replace("0.0045", "0.0046")).await;
        assert_eq!(told().await.len(), 1);
        import_deck(&world, &admin, &upstream, "", &DECK.replace("0.0045", "0.0046")).await;
        let told = told().await;
        assert_eq!(told.len(), 2);
        let (from, to) = (told[0]["payload"]["from"].as_str().unwrap(), told[0]["payload"]["to"].as_str().unwrap());
        let changes = customer.get(&format!("/rates/diff?from={from}&to={to}")).await.ok();
        assert_eq!(changes["data"].as_array().unwrap().len(), 1);
        assert_eq!((&changes["data"][0]["prefix"], &changes["data"][0]["change"]), (&json!("31"), &json!("increased")));
        world.end().await;
    }

    async fn a_body_that_is_not_csv_and_an_unset_pull_url_are_refused(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let path = format!("/admin/upstreams/{upstream}/rates/import");
        admin.with_key(key()).post(&path, json!({})).await.problem(415, "request.unsupported_media_type");
        admin.with_key(key()).call(Method::POST, &path, None).await.problem(409, "state.conflict");
        assert_eq!(upload_deck(&admin, &upstream, "?mode=append", DECK).await.invalid(), ["mode"]);
        world.end().await;
    }

    async fn an_idempotency_key_covers_the_query_and_the_file_of_an_import(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        let caller = admin.with_key(key());
        let send = async |query: &str, deck: &'static str| {
            let path = format!("/admin/upstreams/{upstream}/rates/import{query}");
            caller.send(caller.request(Method::POST, &path).header("content-type", "text/csv").body(deck)).await
        };
        let first = send("?dry_run=true", DECK).await.expect(202);
        assert_eq!(send("?dry_run=true", DECK).await.expect(202), first);
        send("", DECK).await.problem(409, "idempotency.conflict");
        send("?dry_run=true", "another").await.problem(409, "idempotency.conflict");
        assert_eq!(count(db, "SELECT COUNT(*) FROM deck_imports").await, 1);
        world.end().await;
    }

    async fn a_deck_can_be_imported_on_the_command_line(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        update_upstream(&admin, &upstream, json!({"markup_percent": 0})).await.ok();
        let folder = world.data_folder().to_owned();
        let file = folder.join("deck.csv");
        let settings = [("TRUNKLINE_MASTER_SECRET", crate::world::MASTER_SECRET)];
        let run = |deck: &str| {
            std::fs::write(&file, deck).unwrap();
            let arguments = ["rates", "import", "--upstream", &upstream, file.to_str().unwrap()];
            tokio::task::block_in_place(|| process::run(db, &folder, &settings, &arguments))
        };
        let done = run(DECK);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let words = String::from_utf8(done.stdout).unwrap();
        assert_eq!(words, "Imported 3 rows: 3 added, 0 removed, 0 increased, 0 decreased.\n");
        assert_eq!(price(&world, "44201234567").await.as_deref(), Some("0.0061"));
        let refused = run("prefix,destination_name,country,rate_per_minute\n31,Netherlands,XX,0.01\n");
        assert!(!refused.status.success());
        assert!(String::from_utf8(refused.stdout).unwrap().starts_with("line 2: country "));
        world.end().await;
    }
}
