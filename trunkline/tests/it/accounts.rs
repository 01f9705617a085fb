//! The account as its users read and update it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::{TestDb, both};

const CORA: &str = "cora@customer.example";

async fn account(db: &TestDb) -> (World, Session) {
    let world = World::unlimited(db).await;
    let cora = world.customer(CORA).await;
    (world, cora)
}

fn address() -> Value {
    json!({"line1": "Keizersgracht 1", "city": "Amsterdam", "postal_code": "1015 CJ", "country": "NL"})
}

both! {
    async fn an_account_is_shown_with_every_field(db) {
        let (world, cora) = account(db).await;
        let shown = cora.get("/account").await.ok();
        let mut names: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, [
            "account_manager", "company_name", "created_at", "id", "invoice_address", "locale", "onboarding_status",
            "postal_address", "updated_at", "vat_id", "vat_status",
        ]);
        assert_eq!(shown["company_name"], "Customer GmbH");
        assert_eq!(shown["vat_status"], "not_verified");
        assert!(uuid::Uuid::try_parse(shown["id"].as_str().unwrap()).is_ok());
        assert_eq!(cora.get("/me").await.ok()["account"], shown);
        world.anyone().get("/account").await.problem(401, "auth.token_invalid");
        world.end().await;
    }

    async fn a_patch_keeps_omitted_fields_and_clears_null_ones(db) {
        let (world, cora) = account(db).await;
        let before = cora.get("/account").await.ok();
        world.advance(5).await;
        let all = json!({"postal_address": address(), "invoice_address": address(), "vat_id": "NL123456789B01",
            "locale": "nl-BE", "company_name": "  Customer BV "});
        let changed = cora.patch("/account", all).await.ok();
        assert_eq!(changed["postal_address"], address());
        assert_eq!(changed["company_name"], "Customer BV");
        assert!(changed["updated_at"].as_str() > before["updated_at"].as_str());
        assert_eq!(changed["created_at"], before["created_at"]);

        let nothing = cora.patch("/account", json!({})).await.ok();
        let cleared = cora.patch("/account", json!({"postal_address": null, "vat_id": null})).await.ok();
        assert_eq!((&nothing["vat_id"], &nothing["locale"]), (&changed["vat_id"], &changed["locale"]));
        assert!(cleared["postal_address"].is_null() && cleared["vat_id"].is_null());
        assert_eq!(cleared["invoice_address"], address());
        assert_eq!(cora.get("/account").await.ok(), cleared);
        world.end().await;
    }

    async fn the_audit_log_has_the_old_and_new_value_of_each_changed_field(db) {
        let (world, cora) = account(db).await;
        let changes = json!({"company_name": "Customer BV", "locale": "en", "postal_address": address(), "vat_id": "NL123456789B01"});
        cora.patch("/account", changes).await.ok();
        cora.patch("/account", json!({"vat_id": null, "company_name": "Customer BV"})).await.ok();
        cora.patch("/account", json!({})).await.ok();
        let log = world.minted(Role::Support).await.get("/admin/audit-log?action=account.update").await.ok();
        let metas: Vec<Option<Value>> = log["rows"].as_array().unwrap().iter()
            .map(|row| row["meta"].as_str().map(|text| serde_json::from_str(text).unwrap())).collect();
        assert_eq!(metas, [
            None,
            Some(json!({"vat_id": {"from": "NL123456789B01", "to": null}})),
            Some(json!({
                "company_name": {"from": "Customer GmbH", "to": "Customer BV"},
                "postal_address": {"from": null, "to": address()},
                "vat_id": {"from": null, "to": "NL123456789B01"},
            })),
        ]);
        world.end().await;
    }

    async fn every_failing_field_of_a_patch_is_named(db) {
        let (world, cora) = account(db).await;
        let before = cora.get("/account").await.ok();
        for (body, names) in [
            (json!({"company_name": null}), vec!["company_name"]),
            (json!({"locale": null, "company_name": ""}), vec!["company_name", "locale"]),
            (json!({"locale": "english"}), vec!["locale"]),
            (json!({"colour": "red"}), vec!["colour"]),
            (json!({"vat_status": "valid"}), vec!["vat_status"]),
            (json!({"onboarding_status": "approved", "id": "x"}), vec!["id", "onboarding_status"]),
            (json!({"postal_address": {}}), vec![
                "postal_address.city", "postal_address.country", "postal_address.line1", "postal_address.postal_code"]),
            (json!({"postal_address": {"line1": "a", "city": "b", "postal_code": "c", "country": "XX"}}),
                vec!["postal_address.country"]),
            (json!({"invoice_address": {"line1": "a", "city": "b", "postal_code": "c", "country": "NL", "floor": 2}}),
                vec!["invoice_address.floor"]),
            (json!({"postal_address": "Amsterdam"}), vec!["postal_address"]),
            (json!({"postal_address": ["a", null, "b", "c", "NL"]}), vec!["postal_address"]),
            (json!({"vat_id": "x".repeat(21), "company_name": 7}), vec!["company_name", "vat_id"]),
            (json!({"company_name": "a\u{0}b"}), vec!["company_name"]),
        ] {
            let mut found = cora.patch("/account", body.clone()).await.invalid();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, names, "{body}");
        }
        for body in [json!([]), json!(["Another name"]), json!("text"), json!(null)] {
            cora.patch("/account", body).await.problem(422, "validation.failed");
        }
        assert_eq!(cora.get("/account").await.ok(), before);
        world.end().await;
    }

    async fn a_changed_vat_id_is_unverified_again(db) {
        let (world, cora) = account(db).await;
        cora.patch("/account", json!({"vat_id": "NL123456789B01"})).await.ok();
        db.ddl("UPDATE accounts SET vat_status = 'valid';").await;
        let same = cora.patch("/account", json!({"vat_id": "NL123456789B01", "locale": "nl"})).await.ok();
        assert_eq!(same["vat_status"], "valid");
        let other = cora.patch("/account", json!({"vat_id": "NL999999999B99"})).await.ok();
        assert_eq!(other["vat_status"], "not_verified");
        world.end().await;
    }

    async fn an_unchanged_account_is_answered_with_not_modified(db) {
        let (world, cora) = account(db).await;
        let first = cora.get("/account").await;
        let tag = first.header("etag").unwrap().to_owned();
        assert!(tag.starts_with('"'));
        for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".into()] {
            let again = cora.header("If-None-Match", &known).get("/account").await;
            assert_eq!((again.status, again.bytes.len()), (304, 0), "{known}");
            assert_eq!(again.header("etag"), Some(tag.as_str()));
        }
        cora.patch("/account", json!({"locale": "nl"})).await.ok();
        let changed = cora.header("If-None-Match", &tag).get("/account").await;
        assert_ne!(changed.header("etag"), Some(tag.as_str()));
        changed.ok();
        world.end().await;
    }

    async fn a_stale_change_is_refused(db) {
        let (world, cora) = account(db).await;
        let tag = cora.get("/account").await.header("etag").unwrap().to_owned();
        cora.header("If-Match", &tag).patch("/account", json!({"locale": "nl"})).await.ok();
        let stale = cora.header("If-Match", &tag).patch("/account", json!({"locale": "de"})).await;
        stale.problem(412, "precondition.failed");
        for values in [&[b"\"\xe9\"".as_slice()] as &[_], &[b"\"zz\"", tag.as_bytes(), b"\"yy\""]] {
            let request = cora.request(Method::PATCH, "/account").json(&json!({"locale": "de"}));
            let request = values.iter().fold(request, |request, value| request.header("if-match", *value));
            cora.send(request).await.problem(412, "precondition.failed");
        }
        cora.header("If-Match", "\"zz\"").header("If-Match", "*").patch("/account", json!({"locale": "de"})).await.ok();
        cora.header("If-Match", "*").patch("/account", json!({"locale": "fr"})).await.ok();
        assert_eq!(cora.get("/account").await.ok()["locale"], "fr");
        world.end().await;
    }

    async fn one_of_twenty_concurrent_changes_to_a_version_succeeds(db) {
        let (world, cora) = account(db).await;
        let tag = cora.get("/account").await.header("etag").unwrap().to_owned();
        let caller = cora.header("If-Match", &tag);
        let changes = (0..20).map(|n| caller.patch("/account", json!({"company_name": format!("Company {n}")})));
        let (won, lost): (Vec<_>, Vec<_>) = join_all(changes).await.into_iter().partition(|answer| answer.status == 200);
        assert_eq!(won.len(), 1);
        for answer in lost {
            answer.problem(412, "precondition.failed");
        }
        let won = won.into_iter().next().unwrap().ok();
        assert_eq!(cora.get("/account").await.ok(), won);
        world.end().await;
    }

    async fn concurrent_changes_of_different_fields_are_all_kept(db) {
        let (world, cora) = account(db).await;
        for round in 0..10 {
            let (name, vat_id) = (format!("Company {round}"), format!("NL{round}"));
            let address = json!({"line1": format!("{round}"), "city": "A", "postal_code": "1", "country": "NL"});
            let changes = [json!({"company_name": name}), json!({"vat_id": vat_id}), json!({"invoice_address": address})];
            for answer in join_all(changes.into_iter().map(|change| cora.patch("/account", change))).await {
                answer.ok();
            }
            let now = cora.get("/account").await.ok();
            assert_eq!((&now["company_name"], &now["vat_id"]), (&name.into(), &vat_id.into()));
            assert_eq!(now["invoice_address"], address);
        }
        world.end().await;
    }

    async fn support_reads_the_operators_account_and_only_admins_change_it(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let wanted = json!({"email": "sam@carrier.example", "name": "Sam Support", "roles": ["support"]});
        admin.post("/admin/users", wanted).await.expect(201);
        let token = world.mails().await.pop().unwrap().token();
        let sam = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());
        assert_eq!(sam.get("/account").await.ok()["company_name"], "Carrier BV");
        sam.patch("/account", json!({"company_name": "Sam BV"})).await.problem(403, "auth.forbidden");
        assert_eq!(admin.patch("/account", json!({"company_name": "Carrier NV"})).await.ok()["company_name"], "Carrier NV");
        world.end().await;
    }

    async fn a_caller_sees_only_its_own_account(db) {
        let (world, cora) = account(db).await;
        let carl = world.customer("carl@customer.example").await;
        carl.patch("/account", json!({"company_name": "Carl's"})).await.ok();
        assert_eq!(cora.get("/account").await.ok()["company_name"], "Customer GmbH");
        world.end().await;
    }
}
