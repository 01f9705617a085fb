//! Lists of CDRs and their filters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use values::Role;

use crate::world::client::Client;
use crate::world::engines::{TestDb, both, postgres_client};
use crate::world::fixtures::cdrs::{call_ids, cdr_line, import_cdrs, rfc3339, unanswered_line};
use crate::world::fixtures::switch::{Scene, trunk_with_source};

/// The Call-IDs of every page of a list, and how many pages there were.
async fn walk(caller: &Client, path: &str) -> (Vec<String>, usize) {
    let (mut found, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let page = caller.get(&format!("{path}{cursor}")).await.ok();
        found.extend(call_ids(&page).into_iter().map(str::to_owned));
        pages += 1;
        match page["meta"]["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (found, pages),
        }
    }
}

both! {
    async fn cdrs_are_listed_newest_first_and_filtered(db) {
        let scene = Scene::start(db, 10_000).await;
        let other = trunk_with_source(&scene.customer, json!({}), "8.8.4.9").await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_600_000;
        let at = |seconds: i64| began + seconds * 1000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "dutch", at(0), 60, json!({})),
            cdr_line(&scene, "british", at(1), 60, json!({"called": "+442071234567", "trunk_id": other})),
            unanswered_line(&scene, "busy", at(2), json!({"calling": "anonymous"})),
            cdr_line(&scene, "mobile", at(3), 61, json!({"called": "+31612345678", "calling": "+4930123456"})),
            cdr_line(&scene, "inbound", at(4), 30, json!({"leg": "origination", "calling": "=cmd()"})),
        ]).await;
        let customer = scene.world.sign_in("cora@customer.example").await;
        let found = async |query: &str| {
            let page = customer.get(&format!("/cdrs?{query}")).await.ok();
            assert_eq!(page["meta"]["next_cursor"], Value::Null, "{query}");
            call_ids(&page).join(" ")
        };
        assert_eq!(found("").await, "inbound mobile busy british dutch");
        for (query, expected) in [
            (format!("from={}&to={}", rfc3339(at(1)), rfc3339(at(3))), "busy british"),
            (format!("trunk_id={other}"), "british"),
            (format!("trunk_id={other}&status=busy"), ""),
            ("status=answered".into(), "inbound mobile british dutch"),
            ("leg=origination".into(), "inbound"),
            ("country=NL".into(), "mobile busy dutch"),
            ("country=NL&status=busy".into(), "busy"),
            ("called=%2B31".into(), "inbound mobile busy dutch"),
            ("called=+316".into(), "mobile"),
            ("called=316&country=GB".into(), ""),
            ("called=442071234567".into(), "british"),
            ("called=0044207".into(), "british"),
            ("called=00-44%20207".into(), "british"),
            ("calling=49".into(), "mobile"),
            ("calling=31&called=44".into(), "british"),
            ("call_id=busy".into(), "busy"),
            ("call_id=busy&status=answered".into(), ""),
            (format!("call_id=british&trunk_id={other}"), "british"),
            ("call_id=bus".into(), ""),
        ] {
            assert_eq!(found(&query).await, expected, "{query}");
        }
        let first = customer.get("/cdrs?limit=2").await.ok();
        assert_eq!(call_ids(&first), ["inbound", "mobile"]);
        assert_eq!(walk(&customer, "/cdrs?limit=2").await.0.len(), 5);
        assert_eq!(walk(&customer, "/cdrs?limit=1&called=31").await.0, ["inbound", "mobile", "busy", "dutch"]);
        assert_eq!(walk(&customer, "/cdrs?limit=1&status=answered").await.0.len(), 4);

        let mobile = &first["data"][1];
        assert_eq!(mobile["customer_charge"], json!({"amount_minor": 17, "amount": "0.17", "currency": "EUR"}));
        assert_eq!((&mobile["duration_seconds"], &mobile["destination_name"]), (&json!(61), &json!("Netherlands mobile")));
        assert_eq!(first["data"][0]["country"], Value::Null);
        for query in ["limit=1001", "from=yesterday", "status=lost", "country=nl", "colour=red"] {
            assert_eq!(customer.get(&format!("/cdrs?{query}")).await.invalid().len(), 1, "{query}");
        }
        let turned = format!("/cdrs?from={}&to={}", rfc3339(at(3)), rfc3339(at(1)));
        assert_eq!(customer.get(&turned).await.invalid(), ["to"]);
        assert_eq!(customer.get("/cdrs?limit=1000").await.status, 200);
        let stranger = scene.world.minted(Role::Customer).await;
        assert_eq!(stranger.get(&format!("/cdrs?trunk_id={other}")).await.ok()["data"], json!([]));
        assert_eq!(mobile["trunk_name"], "Main");
        assert_eq!(stranger.get("/cdrs?call_id=busy").await.ok()["data"], json!([]));
        let id = mobile["id"].as_str().unwrap();
        stranger.get(&format!("/cdrs/{id}")).await.problem(404, "not_found");
        scene.end().await;
    }

    async fn the_team_lists_all_cdrs_with_cost_and_margin(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(600).await;
        let began = scene.now() - 500_000;
        import_cdrs(&scene.world, &[
            cdr_line(&scene, "one", began, 60, json!({"upstream_id": scene.upstream})),
            unanswered_line(&scene, "two", began + 1, json!({})),
            cdr_line(&scene, "three", began + 2, 10, json!({"leg": "origination"})),
        ]).await;
        let team = scene.world.minted(Role::Support).await;
        let page = team.get("/admin/cdrs").await.ok();
        assert_eq!(call_ids(&page), ["three", "two", "one"]);
        let one = &page["data"][2];
        assert_eq!((&one["account_id"], &one["upstream_id"]), (&json!(scene.customer.account_id), &json!(scene.upstream)));
        assert_eq!((&one["our_cost"]["amount"], &one["customer_charge"]["amount"]), (&json!("0.06"), &json!("0.06")));
        assert_eq!(one["margin"]["amount"], "0.00");
        let shown = team.get(&format!("/admin/cdrs/{}", one["id"].as_str().unwrap())).await.ok();
        for name in ["customer_name", "upstream_name"] {
            assert!(one[name].is_string(), "{one}");
            assert_eq!(shown[name], one[name]);
        }
        let account = &scene.customer.account_id;
        for (query, expected) in [
            (format!("account_id={account}&status=busy"), "two"),
            (format!("account_id={account}&called=3120"), "three two one"),
            (format!("trunk_id={}", scene.trunk), "three two one"),
            (format!("upstream_id={}&status=answered", scene.upstream), "one"),
            ("leg=origination".into(), "three"),
            ("country=NL&called=31".into(), "two one"),
            ("country=GB".into(), ""),
            ("call_id=two".into(), "two"),
            (format!("call_id=two&account_id={account}"), "two"),
            (format!("to={}", rfc3339(began + 1)), "one"),
            (format!("from={}&calling=3120", rfc3339(began + 2)), "three"),
        ] {
            assert_eq!(call_ids(&team.get(&format!("/admin/cdrs?{query}")).await.ok()).join(" "), expected, "{query}");
        }
        scene.end().await;
    }

    async fn a_rare_cdr_is_found_without_scanning_all_of_them(db) {
        let scene = Scene::start(db, 10_000).await;
        scene.world.advance(4000).await;
        let began = scene.now() - 3_900_000;
        let mut lines = vec![cdr_line(&scene, "rare", began - 1, 60, json!({"called": "+442071234567"}))];
        lines.extend((0..10_500).map(|number| unanswered_line(&scene, &format!("c{number}"), began + number / 3, json!({}))));
        import_cdrs(&scene.world, &lines).await;
        let customer = scene.world.sign_in("cora@customer.example").await;

        let (all, _) = walk(&customer, "/cdrs?limit=1000").await;
        assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (10_501, 10_501));
        assert_eq!(all.last().unwrap(), "rare");
        // A filter that ten thousand CDRs do not match gives an empty page with a cursor; the next page has the rest.
        let (answered, pages) = walk(&customer, "/cdrs?status=answered").await;
        assert_eq!((answered.as_slice(), pages), (["rare".to_owned()].as_slice(), 2));
        // A number is found without a scan, however old its call is.
        assert_eq!(walk(&customer, "/cdrs?called=44").await, (vec!["rare".to_owned()], 1));
        // One that nearly all calls go to is met on the way.
        let (common, _) = walk(&customer, "/cdrs?limit=1000&called=3120").await;
        assert_eq!((common.len(), common.iter().collect::<BTreeSet<_>>().len()), (10_500, 10_500));
        assert_eq!(common, all[..10_500]);
        let everybody = scene.world.minted(Role::Admin).await;
        assert_eq!(walk(&everybody, "/admin/cdrs?country=GB").await, (vec!["rare".to_owned()], 2));
        scene.end().await;
    }
}

/// As much of a record as the columns demand, for eight accounts in turn; and statements as the service sends them, with
/// its own settings, once it has sent them often enough to have one plan for all values.
const MANY: &str = "
    INSERT INTO cdrs SELECT gen_random_uuid(), ('00000000-0000-0000-0000-00000000000' || n % 8)::UUID,
        '00000000-0000-0000-0000-000000000000', 'c' || n, 'termination', 'eu-west', '+31', '+31', NULL, NULL, NULL,
        1800000000000 + n, NULL, 1800000000000 + n, 0, 0, 'busy', 'EUR', 0, 0, 1, 1, NULL, NULL, 0, 0, NULL, FALSE, FALSE,
        1800000000000 + n FROM generate_series(1, 50000) AS n;
    ANALYZE cdrs;
    SET plan_cache_mode = force_generic_plan;
    PREPARE newest (UUID) AS SELECT * FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 201;
    PREPARE page (UUID, BIGINT, BIGINT, UUID, BIGINT) AS SELECT * FROM cdrs WHERE account_id = $1 AND started_at >= $2
        AND started_at <= $3 AND (started_at, id) < ($3, $4) ORDER BY started_at DESC, id DESC LIMIT $5;
    PREPARE everybodys (BIGINT, BIGINT, UUID, BIGINT, UUID) AS SELECT * FROM cdrs WHERE started_at >= $1
        AND started_at <= $2 AND id > $5 AND id < $3 ORDER BY id DESC LIMIT $4;";

#[tokio::test(flavor = "multi_thread")]
async fn the_cdrs_of_one_account_are_found_by_its_index() {
    let test = async |postgres: &TestDb| {
        let client = postgres_client(&postgres.url).await;
        client.batch_execute(MANY).await.unwrap();
        let id = "'00000000-0000-0000-0000-000000000001'";
        let plan = async |statement: &str| {
            let rows = client.query(&format!("EXPLAIN EXECUTE {statement}"), &[]).await.unwrap();
            rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
        };
        for statement in [format!("newest ({id})"), format!("page ({id}, 0, 1900000000000, {id}, 51)")] {
            let plan = plan(&statement).await;
            assert!(plan.contains("Index Cond: ((account_id = $1)") || plan.contains("Index Cond: (account_id = $1)"));
            assert!(!plan.contains("Filter: (account_id"), "{plan}");
            assert!(!plan.contains("Sort  ("), "{plan}");
        }
        let plan = plan(&format!("everybodys (0, 1900000000000, {id}, 51, {id})")).await;
        assert!(plan.contains("Index Cond: ((id > $5) AND (id < $3)") && !plan.contains("Sort  ("), "{plan}");
    };
    TestDb::postgres().await.run(test).await;
}
