//! Price notices: what customers are sent when their prices change, and who is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{DbError, params};
use platform::crypto::passwords::{Cost, Passwords};
use platform::jobs::{self, Kind};
use serde_json::{Value, json};
use tempfile::TempDir;
use values::{Role, Time};

use crate::usage::nanos;
use crate::world::client::Client;
use crate::world::engines::{TestDb, both};
use crate::world::fixtures::cdrs::{cdr_line, import_cdrs, rfc3339};
use crate::world::fixtures::rate_plans::{assign_plan, create_plan, fixed_rule, update_plan};
use crate::world::fixtures::rates::{DECK_HEADER, import_deck, large_deck, upload_deck, upstream_with_deck};
use crate::world::fixtures::switch::{CALL_DECK, Scene};
use crate::world::fixtures::upstreams::{create_upstream, update_upstream, upstream_body};
use crate::world::fixtures::{count, execute};
use crate::world::outbox::{self, Mail};
use crate::world::process::Process;
use crate::world::{ADMIN_EMAIL, BOOTSTRAP_TOKEN, PASSWORD, World, accounts};

const ROWS: &str = "31,Netherlands,NL,0.01\n316,Netherlands mobile,NL,0.02\n49,Germany,DE,0.03\n";
const XLSX: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const DAY: i64 = 86_400_000;

async fn notices(customer: &Client) -> Vec<Value> {
    customer.get("/price-notices").await.ok()["data"].as_array().unwrap().clone()
}

fn counts(notice: &Value) -> [i64; 4] {
    ["added", "removed", "increased", "decreased"].map(|name| notice[name].as_i64().unwrap())
}

/// The mails about prices to one address.
async fn mails(world: &World, to: &str) -> Vec<Mail> {
    let about_rates = |mail: &Mail| mail.to.contains(to) && mail.subject == "Our rates change";
    world.mails().await.into_iter().filter(about_rates).collect()
}

/// The lines of a notice's CSV file, without the header.
async fn lines(customer: &Client, notice: &Value) -> Vec<String> {
    let file = customer.get(&format!("/price-notices/{}/file", notice["id"].as_str().unwrap())).await;
    assert_eq!(file.status, 200);
    String::from_utf8(file.bytes).unwrap().lines().skip(1).map(str::to_owned).collect()
}

both! {
    async fn a_price_change_is_mailed_with_its_changes_as_csv_and_xlsx(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let upstream = upstream_with_deck(&world, &admin, "A", "EUR", 100.0, ROWS).await;
        let cora = world.customer("cora@customer.example").await;
        assert_eq!(notices(&cora).await.len(), 0);
        world.advance(60).await;
        // Germany rises next week, the mobile network is cheaper, Belgium is new.
        let later = rfc3339((world.seconds() + 7 * 86_400) * 1000);
        let deck = format!(
            "prefix,destination_name,country,rate_per_minute,effective_at\n31,Netherlands,NL,0.01,\n\
             316,Netherlands mobile,NL,0.015,\n49,Germany,DE,0.04,{later}\n32,Belgium,BE,0.04,\n"
        );
        import_deck(&world, &admin, &upstream, "", &deck).await;
        let found = notices(&cora).await;
        let [notice] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(counts(notice), [1, 0, 1, 1]);
        assert_eq!((&notice["to"], &notice["formats"]), (&json!(later), &json!(["csv", "xlsx"])));
        let rows = lines(&cora, notice).await;
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert!(rows[0].starts_with("316,NL,Netherlands mobile,decreased,0.04,0.03,0.00,0.00,1,1,1,1,EUR,"), "{rows:?}");
        assert!(rows[1].starts_with("32,BE,Belgium,added,,0.08,,0.00,,1,,1,EUR,"), "{rows:?}");
        assert_eq!(rows[2], format!("49,DE,Germany,increased,0.06,0.08,0.00,0.00,1,1,1,1,EUR,{later}"));
        // The notification leads to the notice, and the mail has the same files.
        let list = cora.get("/notifications").await.ok();
        assert_eq!((&list["data"][0]["code"], &list["data"][0]["payload"]["price_notice_id"]), (&json!("rates.changed"), &notice["id"]));
        let sent = mails(&world, "cora@customer.example").await;
        let [mail] = sent.as_slice() else { panic!("{} mails", sent.len()) };
        let text = mail.text.replace('\n', " ");
        assert!(text.contains("1 prefixes cost more and 1 less, 1 are new, and 0 are not sold any more"), "{text}");
        let mut kinds: Vec<_> = mail.files.iter().map(|file| (file.kind.as_str(), file.name.rsplit('.').next().unwrap())).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, [(XLSX, "xlsx"), ("text/csv", "csv")]);
        for (file, format) in mail.files.iter().zip(["xlsx", "csv"]) {
            let path = format!("/price-notices/{}/file?format={format}", notice["id"].as_str().unwrap());
            let download = cora.get(&path).await;
            assert_eq!((download.status, &download.bytes), (200, &file.bytes));
            assert!(download.headers["content-type"].to_str().unwrap().starts_with(&file.kind), "{format}");
        }
        // The team sees who got it; other customers see nothing of it.
        let carl = world.customer("carl@customer.example").await;
        let path = format!("/price-notices/{}", notice["id"].as_str().unwrap());
        carl.get(&path).await.problem(404, "not_found");
        carl.get(&format!("{path}/file")).await.problem(404, "not_found");
        let support = world.minted(Role::Support).await;
        let all = support.get(&format!("/admin/price-notices?customer_id={}", cora.account_id)).await.ok();
        let seen = &all["data"][0];
        assert_eq!((&seen["cause"], &seen["mailed_to"]), (&json!("deck"), &json!(["cora@customer.example"])));
        assert_eq!((&seen["id"], seen["customer_name"].is_string()), (&notice["id"], true));
        let none = support.get(&format!("/admin/price-notices?customer_id={}", carl.account_id)).await.ok();
        assert_eq!((all["data"].as_array().unwrap().len(), &none["data"]), (1, &json!([])));
        world.end().await;
    }

    async fn every_customer_who_may_call_gets_a_notice_also_before_a_top_up(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let upstream = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, ROWS).await;
        let cora = world.customer("cora@customer.example").await;
        // Its money is a credit or a credit line, so it is not live.
        execute(db, "UPDATE onboardings SET beta_status = 'beta_approved'").await;
        import_deck(&world, &admin, &upstream, "", &format!("{DECK_HEADER}{}", ROWS.replace("0.03", "0.05"))).await;
        assert_eq!(notices(&cora).await.len(), 1);
        world.end().await;
    }

    async fn only_customers_whose_prices_change_get_a_notice_and_each_its_own(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let upstream = upstream_with_deck(&world, &admin, "A", "EUR", 0.0, ROWS).await;
        let (cora, carl) = (world.customer("cora@customer.example").await, world.customer("carl@customer.example").await);
        let fixed = json!({"markup_pct": 0, "rules": [fixed_rule("31", "0.01"), fixed_rule("49", "0.01")]});
        let plan = create_plan(&admin, fixed).await;
        assign_plan(&admin, &carl.account_id, Some(&plan), json!({})).await.ok();
        world.settle().await;
        let [assigned] = notices(&carl).await.try_into().unwrap();
        assert_eq!(counts(&assigned), [0, 0, 0, 2]);
        assert_eq!(lines(&carl, &assigned).await.len(), 2);
        // A dearer deck changes nothing for a customer whose rates are all fixed.
        let deck = format!("prefix,destination_name,country,rate_per_minute\n{}", ROWS.replace("0.03", "0.05"));
        import_deck(&world, &admin, &upstream, "", &deck).await;
        assert_eq!((notices(&cora).await.len(), notices(&carl).await.len()), (1, 1));
        // Nor does the deck of an upstream that is not the cheapest.
        upstream_with_deck(&world, &admin, "B", "EUR", 0.0, "31,Netherlands,NL,0.09\n").await;
        assert_eq!((notices(&cora).await.len(), notices(&carl).await.len()), (1, 1));
        // A markup does, and what the cheaper upstream stops selling.
        update_upstream(&admin, &upstream, json!({"markup_percent": 10})).await.ok();
        world.settle().await;
        let found = notices(&cora).await;
        assert_eq!((found.len(), counts(&found[0])), (2, [0, 0, 3, 0]));
        update_upstream(&admin, &upstream, json!({"status": "disabled"})).await.ok();
        world.settle().await;
        let found = notices(&cora).await;
        // The second upstream sells the mobile network as the rest of the country.
        assert_eq!((found.len(), counts(&found[0])), (3, [0, 1, 2, 0]));
        assert_eq!(counts(&notices(&carl).await[0]), [0, 1, 0, 0]);
        update_plan(&admin, &plan, json!({"rules": [fixed_rule("31", "0.005")]})).await.ok();
        world.settle().await;
        assert_eq!((notices(&cora).await.len(), notices(&carl).await.len()), (3, 3));
        let causes = admin.get("/admin/price-notices").await.ok();
        let causes: Vec<_> = causes["data"].as_array().unwrap().iter().map(|one| one["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["rate_plan", "upstream", "upstream", "upstream", "deck", "assignment"]);
        world.end().await;
    }

    async fn a_notice_says_what_it_means_for_the_calls_of_thirty_days(db) {
        let scene = Scene::start(db, 100_000).await;
        scene.world.advance(3 * 86_400).await;
        let admin = scene.world.minted(Role::Admin).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let now = scene.now();
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "a", now - 2 * DAY, 600, json!({"upstream_id": scene.upstream})),
            cdr_line(&scene, "b", now - DAY, 600, json!({"upstream_id": scene.upstream})),
            // To a destination whose rate stays.
            cdr_line(&scene, "c", now - DAY, 60, json!({"upstream_id": scene.upstream, "called": "+442071234567"})),
        ]).await;
        let dearer = CALL_DECK.replace("31,Netherlands,NL,0.06", "31,Netherlands,NL,0.09");
        import_deck(&scene.world, &admin, &scene.upstream, "", &dearer).await;
        let notice = &notices(&customer).await[0];
        let details = customer.get(&format!("/price-notices/{}", notice["id"].as_str().unwrap())).await.ok();
        let impact = &details["impact"];
        assert_eq!((&impact["calls"], &impact["minutes"], &impact["unsold_calls"]), (&json!(3), &json!(21.0), &json!(0)));
        let [destination] = details["destinations"].as_array().unwrap().as_slice() else { panic!("{details}") };
        let (before, after) = (nanos(&destination["before"]), nanos(&destination["after"]));
        assert_eq!((&destination["destination_name"], &destination["calls"]), (&json!("Netherlands"), &json!(2)));
        assert_eq!((after, before > 0), (before * 3 / 2, true), "{details}");
        assert_eq!(nanos(&impact["change"]), after - before);
        assert_eq!(nanos(&impact["after"]) - nanos(&impact["before"]), after - before);
        let text = mails(&scene.world, "cora@customer.example").await.last().unwrap().text.replace('\n', " ");
        assert!(text.contains("The calls of your last 30 days cost") && text.contains("Netherlands: "), "{text}");
        scene.end().await;
    }

    async fn a_repeated_job_notifies_nobody_twice(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        upstream_with_deck(&world, &admin, "A", "EUR", 0.0, ROWS).await;
        assert_eq!(notices(&cora).await.len(), 1);
        let sql = "SELECT change_id, from_at, to_at FROM price_notices LIMIT 1";
        let (change, from, to): (uuid::Uuid, Time, Time) = db.read().await.unwrap().one(sql, params![]).await.unwrap();
        let payload = json!({
            "change_id": change, "cause": "deck", "audience": "everyone", "from": from.millis(), "to": to.millis(), "after": null,
        });
        let again = world.node.app.db.tx(payload, |conn, payload| {
            Box::pin(async move {
                jobs::enqueue(conn, Kind::new("price_notices.announce"), payload.clone()).await?;
                Ok::<_, DbError>(())
            })
        });
        again.await.unwrap();
        world.settle().await;
        assert_eq!((notices(&cora).await.len(), mails(&world, "cora@").await.len()), (1, 1));
        assert_eq!(count(db, "SELECT COUNT(*) FROM price_comparisons").await, 1);
        world.end().await;
    }

    async fn a_change_of_too_many_prices_has_no_file(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        upload_deck(&admin, &upstream, "", &large_deck(100_001, "0.01")).await.expect(202);
        world.settle().await;
        let [notice] = notices(&cora).await.try_into().unwrap();
        assert_eq!((counts(&notice), &notice["formats"]), ([100_001, 0, 0, 0], &json!([])));
        let path = format!("/price-notices/{}/file?format=xlsx", notice["id"].as_str().unwrap());
        cora.get(&path).await.problem(409, "state.conflict");
        let mail = mails(&world, "cora@").await.pop().unwrap();
        assert!(mail.files.is_empty() && mail.text.contains("too many changes"), "{}", mail.text);
        world.end().await;
    }

    async fn notices_and_their_files_are_deleted_after_two_years(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        world.customer("cora@customer.example").await;
        upstream_with_deck(&world, &admin, "A", "EUR", 0.0, ROWS).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM price_notices").await, 1);
        execute(db, "UPDATE price_notices SET created_at = created_at - 731 * CAST(86400000 AS BIGINT)").await;
        execute(db, "UPDATE price_comparisons SET created_at = created_at - 731 * CAST(86400000 AS BIGINT)").await;
        world.advance(2 * 3600).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM price_notices").await, 0);
        assert_eq!(count(db, "SELECT COUNT(*) FROM price_comparisons").await, 0);
        world.end().await;
    }

    async fn a_service_killed_while_it_notifies_sends_one_notice(db) {
        let folder = TempDir::new().unwrap();
        let mut node = serve(db, &folder);
        let admin = json!({
            "legal_name": "Carrier BV", "contact_name": "Ada", "contact_email": ADMIN_EMAIL, "password": PASSWORD,
        });
        let anyone = node.anyone().header("X-Bootstrap-Token", BOOTSTRAP_TOKEN);
        anyone.post("/admin/bootstrap", admin).await.expect(201);
        let admin = node.sign_in(ADMIN_EMAIL).await;
        let upstream = create_upstream(&admin, upstream_body()).await;
        add_customer(db).await;
        upload_deck(&admin, &upstream, "", &large_deck(20_000, "0.01")).await.expect(202);
        while count(db, "SELECT COUNT(*) FROM price_comparisons").await == 0 {
            assert!(node.is_running());
            tokio::task::yield_now().await;
        }
        node.kill();

        let node = serve(db, &folder);
        // The killed process's job is free when its lease ends.
        node.advance(120).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM price_notices").await, 1);
        assert_eq!(count(db, "SELECT COUNT(*) FROM notifications WHERE code = 'rates.changed'").await, 1);
        let sent = tokio::task::block_in_place(|| outbox::read(&folder.path().join("outbox")));
        assert_eq!(sent.iter().filter(|mail| mail.subject == "Our rates change").count(), 1);
    }
}

const SETTINGS: [(&str, &str); 3] =
    [("TRUNKLINE_RATE_LIMITS", "off"), ("TRUNKLINE_TEST_CLOCK", "on"), ("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN)];

fn serve(db: &TestDb, folder: &TempDir) -> Process {
    tokio::task::block_in_place(|| Process::serve(db, folder.path(), &SETTINGS))
}

async fn add_customer(db: &TestDb) {
    let hash = Passwords::new(Cost::Minimal).hash(PASSWORD).await.unwrap();
    let added = db.tx(hash, |conn, hash| {
        Box::pin(async move {
            let (email, start) = ("cora@customer.example", Time::EPOCH);
            let account = accounts::live_account(conn, email, start).await?;
            accounts::user_of(conn, account, email, Role::Customer, Some(hash.clone()), start).await?;
            Ok::<_, DbError>(())
        })
    });
    added.await.unwrap();
}
