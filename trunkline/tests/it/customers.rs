//! Customers as the team finds, suspends and annotates them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::key;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::numbers::{AMSTERDAM, create_group, customer_with_trunk, list_numbers, order_number};
use crate::world::fixtures::onboarding::sign_up;
use crate::world::fixtures::switch::{Scene, call_request};
use crate::world::fixtures::tickets::ticket_body;
use crate::world::fixtures::trunks::{allow_network, trunk_body};

/// The addresses of the customers on a page.
fn emails(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|row| row["contact_email"].as_str().unwrap()).collect()
}

fn path(account: &str) -> String {
    format!("/admin/customers/{account}")
}

async fn found(team: &Client, query: &[(&str, &str)]) -> Vec<String> {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    let page = team.get(&format!("/admin/customers?{query}")).await.ok();
    emails(&page).into_iter().map(str::to_owned).collect()
}

async fn manager(admin: &Client, email: &str) -> String {
    let made = admin.post("/admin/account-managers", json!({"name": "Max Manager", "email": email})).await;
    made.expect(201)["id"].as_str().unwrap().to_owned()
}

both! {
    async fn a_customer_is_found_by_any_of_its_identifiers(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let group = create_group(&world, &admin, 1, AMSTERDAM).await;
        let (cora, trunk) = customer_with_trunk(&world, "cora@customer.example", 2000).await;
        order_number(&cora, &group, &trunk).await.expect(201);
        world.settle().await;
        let number = list_numbers(&cora).await[0]["e164"].as_str().unwrap().to_owned();
        allow_network(&cora, &format!("/trunks/{trunk}"), "8.8.4.0/24").await.expect(201);
        cora.patch("/account", json!({"company_name": "Müller & Söhne Telefonie GmbH"})).await.ok();
        let other = sign_up(&world, "paul@prospect.example").await;

        let id = cora.account_id.clone();
        let (uuid, national) = (cora.get("/account").await.ok()["id"].as_str().unwrap().to_owned(), &number[1..]);
        for q in [
            &id, &uuid, &cora.user_id, "cora@customer.example", "CORA@customer", "müller", "Söhne tele", "gmbh müll",
            &number, national, "8.8.4.77", "8.8.4.128/25",
        ] {
            assert_eq!(found(&admin, &[("q", q)]).await, ["cora@customer.example"], "{q}");
        }
        for q in ["nobody", "müller prospect", "8.8.5.1", "+31209999999", "ustomer", "%", "acc_1"] {
            assert_eq!(found(&admin, &[("q", q)]).await, Vec::<String>::new(), "{q}");
        }
        // A former name finds nothing.
        assert_eq!(found(&admin, &[("q", "customer gmbh cora"), ("onboarding_status", "suspended")]).await, Vec::<String>::new());
        assert_eq!(found(&admin, &[("q", &other.account_id), ("onboarding_status", "approved")]).await, Vec::<String>::new());
        assert_eq!(found(&admin, &[("onboarding_status", "signup_pending")]).await, ["paul@prospect.example"]);
        let waiting = admin.get("/admin/onboarding").await.ok();
        assert_eq!(emails(&waiting), ["paul@prospect.example"]);
        world.end().await;
    }

    async fn an_account_suspended_before_approval_still_needs_verification(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        sign_up(&world, "paul@prospect.example").await;
        for account in [&cora.account_id, &petra.account_id] {
            admin.patch(&path(account), json!({"onboarding_status": "suspended"})).await.ok();
        }
        let waiting = admin.get("/admin/onboarding").await.ok();
        assert_eq!(emails(&waiting), ["paul@prospect.example", "petra@prospect.example"]);
        let suspended = &waiting["data"][1];
        assert_eq!((&suspended["onboarding_status"], &suspended["suspended_from"]), (&json!("suspended"), &json!("signup_pending")));
        assert_eq!(found(&admin, &[("onboarding_status", "suspended")]).await, ["petra@prospect.example", "cora@customer.example"]);
        world.end().await;
    }

    async fn customers_are_listed_newest_first_with_their_spend(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let mut accounts = Vec::new();
        for email in ["a@example.com", "b@example.com", "c@example.com"] {
            accounts.push(world.customer(email).await.account_id);
        }
        world.top_up(&accounts[0], 1000).await;
        world.use_up(&accounts[0], 250).await;
        let first = admin.get("/admin/customers?limit=2").await.ok();
        assert_eq!(emails(&first), ["c@example.com", "b@example.com"]);
        world.customer("d@example.com").await;
        let next = format!("/admin/customers?limit=2&cursor={}", first["meta"]["next_cursor"].as_str().unwrap());
        let second = admin.get(&next).await.ok();
        // The operator's own account is not a customer.
        assert_eq!((emails(&second), &second["meta"]["next_cursor"]), (vec!["a@example.com"], &Value::Null));
        let customer = admin.get(&path(&accounts[0])).await.ok();
        assert_eq!((&customer["balance"]["amount_minor"], &customer["monthly_spend_30d"]["amount_minor"]), (&json!(750), &json!(250)));
        assert_eq!(customer, second["data"][0]);
        world.advance(31 * 24 * 3600).await;
        let admin = world.sign_in("admin@carrier.example").await;
        assert_eq!(admin.get(&path(&accounts[0])).await.ok()["monthly_spend_30d"]["amount_minor"], 0);
        admin.get(&path(&admin.account_id)).await.problem(404, "not_found");
        world.end().await;
    }

    async fn amid_a_hundred_requests_and_calls_none_succeeds_after_a_suspension(db) {
        let scene = Scene::start(db, 100_000).await;
        let other = if db.is_shared() { Some(scene.world.another_node().await) } else { None };
        let nodes: Vec<&World> = [Some(&scene.world), other.as_ref()].into_iter().flatten().collect();
        let (token, account) = (scene.customer.token(), path(&scene.customer.account_id));
        let one = |number: usize| {
            let node = nodes[number / 2 % nodes.len()];
            let (client, switch) = (node.bearing(token), node.operations());
            async move {
                if number.is_multiple_of(2) {
                    return switch.post("/switch/authorize", call_request(json!({}))).await.ok()["decision"] == "allow";
                }
                let name = json!({"company_name": format!("Name {number}")});
                let changed = client.patch("/account", name).await;
                assert!(matches!(changed.status, 200 | 403), "{}", changed.body);
                changed.status == 200
            }
        };
        let rush = async || join_all((0..100).map(one)).await.into_iter().filter(|succeeded| *succeeded).count();
        assert_eq!(rush().await, 100);
        let suspension = json!({"onboarding_status": "suspended", "reason": "Fraud"});
        let (suspended, _) = join(scene.admin.patch(&account, suspension), rush()).await;
        suspended.expect(200);
        assert_eq!(rush().await, 0);
        if let Some(other) = other {
            other.stop().await;
        }
        scene.end().await;
    }

    async fn a_suspension_stops_calls_on_every_node_and_leaves_reads_and_tickets(db) {
        let scene = Scene::start(db, 1000).await;
        let (admin, cora, account) = (&scene.admin, &scene.customer, path(&scene.customer.account_id));
        let live = scene.allowed(json!({})).await;
        let token = live["call_token"].clone();
        scene.send_events(json!([scene.event("answered", &token, 0, json!({}))])).await;
        let other = if db.is_shared() { Some(scene.world.another_node().await) } else { None };
        let elsewhere = other.as_ref().unwrap_or(&scene.world);
        let another = elsewhere.operations().post("/switch/authorize", call_request(json!({}))).await.ok();

        assert_eq!(admin.patch(&account, json!({"reason": "None"})).await.invalid(), ["reason"]);
        let change = json!({"onboarding_status": "suspended", "reason": "Traffic to premium numbers"});
        let suspended = admin.patch(&account, change).await.ok();
        assert_eq!((&suspended["onboarding_status"], &suspended["suspended_from"]), (&json!("suspended"), &json!("approved")));
        assert_eq!(suspended["suspension_reason"], "Traffic to premium numbers");
        assert_eq!(admin.get(&account).await.ok()["suspension_reason"], "Traffic to premium numbers");
        let denied = elsewhere.operations().post("/switch/authorize", call_request(json!({}))).await.ok();
        assert_eq!(denied["reason"], "account_not_active");
        let told_switch = scene.send_events(json!([scene.event("keepalive", &token, 1000, json!({}))])).await;
        assert_eq!(told_switch["hang_up"], json!([token, another["call_token"]]), "whoever's keepalive it was");
        cora.with_key(key())
            .post("/trunks", trunk_body("Another")).await.problem(403, "account.not_active");
        let ticket = cora.post("/tickets", ticket_body()).await.expect(201);
        assert_eq!(ticket["status"], "open");
        let news = cora.get("/notifications").await.ok();
        let told_of = news["data"].as_array().unwrap().iter().find(|one| one["code"] == "account.suspended").unwrap();
        assert_eq!(told_of["payload"]["reason"], "Traffic to premium numbers");

        // Only back to where it was.
        for status in ["docs_requested", "signup_pending", "under_review"] {
            admin.patch(&account, json!({"onboarding_status": status})).await.problem(409, "state.conflict");
        }
        assert_eq!(admin.patch(&account, json!({"onboarding_status": "suspended"})).await.ok()["onboarding_status"], "suspended");
        let again = json!({"onboarding_status": "suspended", "reason": "Another one"});
        admin.patch(&account, again).await.problem(409, "state.conflict");
        let reinstated = admin.patch(&account, json!({"onboarding_status": "approved"})).await.ok();
        assert_eq!(reinstated["suspension_reason"], Value::Null);
        assert_eq!((&reinstated["onboarding_status"], &reinstated["suspended_from"]), (&json!("approved"), &Value::Null));
        let allowed = elsewhere.operations().post("/switch/authorize", call_request(json!({}))).await.ok();
        assert_eq!(allowed["decision"], "allow");
        admin.patch(&account, json!({"onboarding_status": "under_review"})).await.problem(409, "state.conflict");
        assert_eq!(notification_codes(cora).await.iter().filter(|code| code.starts_with("account.")).count(), 2);
        let mails = scene.world.mails().await;
        let subjects: Vec<&str> =
            mails.iter().filter(|mail| mail.to == "cora@customer.example").map(|mail| mail.subject.as_str()).collect();
        assert_eq!(subjects, ["Your account has been suspended", "Your account is active again"]);
        let log = admin.get(&format!("/admin/audit-log?account_id={}&action=customer.update", cora.account_id)).await.ok();
        let moves: Vec<&str> = log["rows"].as_array().unwrap().iter().filter_map(|row| row["meta"].as_str()).collect();
        assert!(moves[0].contains(r#""to":"approved""#) && moves.last().unwrap().contains(r#""to":"suspended""#), "{log}");
        assert!(moves.last().unwrap().contains(r#""to":"Traffic to premium numbers""#), "{log}");
        if let Some(other) = other {
            other.stop().await;
        }
        scene.end().await;
    }

    async fn the_team_sets_the_vat_status_and_the_manager_of_a_customer(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await.into_client();
        let cora = world.customer("cora@customer.example").await;
        let account = path(&cora.account_id);
        let max = manager(&admin, "max@carrier.example").await;
        let given = admin.patch(&account, json!({"account_manager_id": max})).await.ok();
        assert_eq!(given["account_manager_id"], json!(max));
        let known = json!({"id": max, "name": "Max Manager", "email": "max@carrier.example"});
        assert_eq!(cora.get("/account").await.ok()["account_manager"], known);
        assert_eq!(found(&admin, &[("account_manager_id", &max), ("onboarding_status", "approved"), ("q", "cora")]).await.len(), 1);
        let team = format!("/admin/account-managers/{max}");
        admin.post("/admin/account-managers", json!({"name": "M", "email": "Max@carrier.example"})).await.problem(409, "resource.in_use");
        admin.patch(&team, json!({"is_active": false})).await.ok();
        assert_eq!(cora.get("/account").await.ok()["account_manager"], Value::Null);
        let paul = path(&world.customer("paul@customer.example").await.account_id);
        assert_eq!(admin.patch(&paul, json!({"account_manager_id": max})).await.invalid(), ["account_manager_id"]);
        admin.patch(&account, json!({"account_manager_id": null})).await.ok();
        assert_eq!(found(&admin, &[("account_manager_id", &max)]).await, Vec::<String>::new());

        admin.patch(&account, json!({"vat_status": "valid"})).await.problem(409, "state.conflict");
        cora.patch("/account", json!({"vat_id": "DE136695976"})).await.ok();
        let ruled = admin.patch(&account, json!({"vat_status": "valid", "vat_treatment": "outside_scope", "telecom_reseller": true})).await.ok();
        assert_eq!((&ruled["vat_status"], &ruled["vat_treatment"], &ruled["telecom_reseller"]), (&json!("valid"), &json!("outside_scope"), &json!(true)));
        assert_eq!(cora.get("/account/vat").await.ok()["status"], "valid");
        assert_eq!(notification_codes(&cora).await, ["vat.valid"]);
        let undone = admin.patch(&account, json!({"vat_treatment": null})).await.ok();
        assert_eq!((&undone["vat_treatment"], &undone["telecom_reseller"]), (&Value::Null, &json!(true)));
        assert_eq!(admin.patch(&account, json!({"vat_treatment": "none", "balance": 1})).await.invalid(), ["balance", "vat_treatment"]);
        world.end().await;
    }

    async fn only_the_team_reads_notes_and_support_can_write_them(db) {
        let world = World::unlimited(db).await;
        let (sam, cora) = (world.minted(Role::Support).await, world.customer("cora@customer.example").await);
        let notes = format!("{}/notes", path(&cora.account_id));
        for body in ["Called about invoices", "Wants a discount"] {
            sam.post(&notes, json!({"body": body})).await.expect(201);
            world.advance(1).await;
        }
        let listed = sam.get(&notes).await.ok();
        let bodies: Vec<&str> = listed["data"].as_array().unwrap().iter().map(|note| note["body"].as_str().unwrap()).collect();
        assert_eq!(bodies, ["Wants a discount", "Called about invoices"]);
        assert!(listed["data"][0]["author_name"].is_string());
        assert_eq!(sam.post(&notes, json!({"body": " "})).await.invalid(), ["body"]);
        cora.get(&notes).await.problem(403, "auth.forbidden");
        sam.patch(&path(&cora.account_id), json!({"telecom_reseller": true})).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn a_customer_can_be_changed_although_its_balance_moves(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        let path = path(&cora.account_id);
        let read = admin.get(&path).await;
        let tag = read.header("etag").unwrap().to_owned();
        let credit = json!({
            "customer_id": cora.account_id, "amount": {"amount_minor": 100, "currency": "EUR"}, "reason": "Outage",
        });
        admin.with_key(key()).post("/admin/credits", credit).await.expect(201);
        // The resource is another, its version is not.
        let again = admin.header("If-None-Match", &tag).get(&path).await;
        assert_eq!((again.status, &again.body["balance"]["amount_minor"]), (200, &json!(100)));
        let changed = admin.header("If-Match", &tag).patch(&path, json!({"telecom_reseller": true})).await;
        assert_eq!(changed.header("etag"), admin.get(&path).await.header("etag"));
        changed.ok();
        let stale = admin.header("If-Match", &tag).patch(&path, json!({"telecom_reseller": false})).await;
        stale.problem(412, "precondition.failed");
        world.end().await;
    }
}
