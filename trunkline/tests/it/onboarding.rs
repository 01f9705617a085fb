//! Onboarding: from signup to approval in the beta.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use identity::onboarding::Event;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::client::Session;
use crate::world::engines::both;
use crate::world::fixtures::onboarding::{apply_event, sign_up, signup_body, submit_kyb_and_card, traffic_profile};

both! {
    async fn a_prospect_signs_up_and_can_sign_in_immediately(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let account = petra.get("/me/account").await.ok();
        assert_eq!(account["status"], "beta_signup");
        assert_eq!(account["legal_name"], "Prospect BV");
        assert_eq!(account["contact_phone"], "+31201234567");
        assert_eq!(account["waitlist_position"], Value::Null);
        assert!(account["created_at"].is_i64());
        assert_eq!(petra.get("/account").await.ok()["onboarding_status"], "signup_pending");
        let mails = world.mails().await;
        assert_eq!(mails.len(), 1);
        assert_eq!(mails[0].to, "petra@prospect.example");
        world.end().await;
    }

    async fn a_signup_with_an_email_alone_is_completed_later(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let signup = json!({"email": "petra@prospect.example", "company": "Prospect BV", "expected_volume": "much"});
        let id = world.anyone().post("/signup", signup).await.expect(202)["signup_id"].as_str().unwrap().to_owned();
        let asked = admin.get(&format!("/admin/beta/{id}")).await.ok();
        assert_eq!((&asked["account"]["expected_volume"], &asked["account"]["country"]), (&json!("much"), &json!("ZZ")));
        admin.post(&format!("/admin/beta/{id}/approve"), json!({})).await.ok();
        let token = world.mails().await.pop().unwrap().token();
        let petra = world.session(&world.anyone().post("/auth/first-login", json!({"token": token})).await.ok());

        for (wrong, name) in [(json!({"country": "ZZ"}), "country"), (json!({"contact_name": null}), "contact_name")] {
            assert_eq!(petra.patch("/me/account", wrong).await.invalid(), [name]);
        }
        let details = json!({
            "country": "DE", "contact_name": "Petra Prospect", "contact_phone": "+4930123456", "trading_name": "Prospect",
        });
        let changed = petra.patch("/me/account", details.clone()).await.ok();
        assert_eq!(petra.get("/me/account").await.ok(), changed);
        let known = admin.get(&format!("/admin/beta/{id}")).await.ok();
        for (name, value) in details.as_object().unwrap() {
            assert_eq!((&changed[name], &known["account"][name]), (value, value), "{name}");
        }
        let found = admin.get("/admin/customers?q=petra+prospect").await.ok();
        assert_eq!(found["data"][0]["contact_email"], "petra@prospect.example");
        let ticket = petra.post("/tickets", json!({"subject": "Hello", "body": "It is me"})).await.expect(201);
        assert_eq!(ticket["messages"][0]["author_name"], "Petra Prospect");
        let log = admin.get(&format!("/admin/audit-log?action=account.update&account_id={id}&outcome=success")).await.ok();
        let meta: Value = serde_json::from_str(log["rows"][0]["meta"].as_str().unwrap()).unwrap();
        assert_eq!(meta["country"], json!({"from": "ZZ", "to": "DE"}));

        // The country can be changed until the KYB intake is submitted.
        petra.patch("/me/account", json!({"country": "NL"})).await.ok();
        petra.get("/me/kyb").await.ok();
        apply_event(&world, &petra, Event::KybSubmitted).await;
        let refused = petra.patch("/me/account", json!({"country": "DE"})).await.problem(409, "state.conflict");
        assert!(refused["detail"].as_str().unwrap().contains("under_review"), "{refused}");
        let cleared = petra.patch("/me/account", json!({"country": "NL", "contact_phone": null})).await.ok();
        assert_eq!((&cleared["country"], &cleared["contact_phone"]), (&json!("NL"), &Value::Null));
        world.end().await;
    }

    async fn a_signup_with_a_known_email_is_answered_alike_and_gets_a_mail(db) {
        let world = World::start(db).await;
        let first = world.anyone().post("/beta/signup", signup_body("petra@prospect.example")).await;
        let mut again = signup_body("Petra@Prospect.example");
        again["legal_name"] = json!("Somebody Else");
        let second = world.anyone().post("/beta/signup", again).await;
        assert_eq!((first.status, &first.bytes), (second.status, &second.bytes));
        let third = world.anyone()
            .post("/signup", json!({"email": "petra@prospect.example", "company": "X", "expected_volume": "much"})).await;
        assert!(third.expect(202)["signup_id"].as_str().unwrap().starts_with("acc_"));
        let subjects: Vec<String> = world.mails().await.into_iter().map(|mail| mail.subject).collect();
        assert_eq!(subjects.iter().filter(|subject| *subject == "You already have an account").count(), 2);
        // The account belongs to the first signup.
        let petra = world.sign_in("petra@prospect.example").await;
        assert_eq!(petra.get("/me/account").await.ok()["legal_name"], "Prospect BV");
        world.end().await;
    }

    async fn markup_and_line_breaks_in_a_name_are_escaped_in_mail(db) {
        let world = World::start(db).await;
        let mut signup = signup_body("petra@prospect.example");
        signup["contact_name"] = json!("Petra <script>\nBcc \nX-Mark");
        world.anyone().post("/beta/signup", signup).await.expect(202);
        let mail = world.mails().await.pop().unwrap();
        let headers = ["From", "To", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type"];
        assert_eq!(mail.headers, headers);
        assert!(mail.text.starts_with("Hello Petra <script> Bcc X-Mark,"), "{}", mail.text);
        assert!(mail.html.contains("Hello Petra &#60;script&#62; Bcc X-Mark,"), "{}", mail.html);
        assert!(!mail.html.contains("<script"));
        world.end().await;
    }

    async fn twenty_signups_with_one_address_make_one_account(db) {
        let world = World::unlimited(db).await;
        let anyone = world.anyone();
        let signup = || anyone.post("/signup", json!({"email": "p@prospect.example", "company": "P", "expected_volume": "1"}));
        for answer in join_all((0..20).map(|_| signup())).await {
            answer.expect(202);
        }
        let (accounts,): (i64,) = db.read().await.unwrap().one("SELECT COUNT(*) FROM accounts", &[]).await.unwrap();
        assert_eq!(accounts, 1);
        world.end().await;
    }

    async fn a_traffic_profile_names_every_failing_field(db) {
        let world = World::start(db).await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        petra.get("/me/traffic-profile").await.problem(404, "not_found");
        let put = |body: Value| petra.send(petra.request(reqwest::Method::PUT, "/me/traffic-profile").json(&body));
        let failing = put(json!({
            "estimated_minutes_per_month": -1, "target_countries": ["NL", "DE", "XX"], "traffic_types": ["spam"],
            "notes": "x".repeat(2001), "colour": "blue",
        }))
        .await
        .invalid();
        assert_eq!(
            failing,
            ["colour", "estimated_minutes_per_month", "notes", "target_countries.2", "traffic_types.0"]
        );
        // Nothing is there that could be meant.
        let any = petra.request(reqwest::Method::PUT, "/me/traffic-profile").header("If-Match", "*").json(&traffic_profile());
        petra.send(any).await.problem(412, "precondition.failed");
        assert_eq!(put(traffic_profile()).await.ok()["notes"], Value::Null);
        let any = petra.request(reqwest::Method::PUT, "/me/traffic-profile").header("If-Match", "*").json(&traffic_profile());
        petra.send(any).await.expect(200);
        assert_eq!(petra.get("/me/traffic-profile").await.ok()["target_countries"], json!(["NL", "DE"]));
        world.end().await;
    }

    async fn concurrent_joins_and_approvals_leave_waitlist_positions_one_to_ten(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        let mut prospects = Vec::new();
        for number in 0..20 {
            let session = sign_up(&world, &format!("p{number}@prospect.example")).await;
            submit_kyb_and_card(db, &session.account_id).await;
            prospects.push(session);
        }
        let put = |session: &Session| {
            let session = session.clone();
            async move { session.send(session.request(reqwest::Method::PUT, "/me/traffic-profile").json(&traffic_profile())).await }
        };
        for answer in join_all(prospects.iter().map(put)).await {
            answer.expect(200);
        }
        assert_eq!(positions(&prospects).await, (1..=20).map(Some).collect::<Vec<_>>());

        let approve = |session: &Session| {
            let (admin, path) = (admin.clone(), format!("/admin/beta/{}/approve", session.account_id));
            async move { admin.post(&path, json!({"reviewer_note": "Welcome"})).await }
        };
        for answer in join_all(prospects.iter().step_by(2).map(approve)).await {
            assert_eq!(answer.expect(200)["account"]["status"], "beta_approved");
        }
        let left: Vec<Session> = prospects.iter().skip(1).step_by(2).cloned().collect();
        assert_eq!(positions(&left).await, (1..=10).map(Some).collect::<Vec<_>>());
        let waitlist = left[0].get("/me/waitlist").await.ok();
        assert_eq!((&waitlist["total"], &waitlist["status"]), (&json!(10), &json!("beta_waitlist")));
        let stats = admin.get("/admin/beta/stats").await.ok();
        assert_eq!(stats, json!({"total": 20, "pending": 10, "approved_this_week": 10, "declined_this_week": 0}));
        world.end().await;
    }

    async fn an_approved_prospect_signs_in_by_the_magic_link_in_its_mail(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let signup = json!({"email": "p@prospect.example", "company": "P", "expected_volume": "1000"});
        let id = world.anyone().post("/signup", signup).await.expect(202)["signup_id"].as_str().unwrap().to_owned();
        let note = json!({"reviewer_note": "Good traffic."});
        let detail = admin.post(&format!("/admin/beta/{id}/approve"), note).await.ok();
        assert_eq!(detail["account"]["status"], "beta_approved");
        assert_eq!(detail["account"]["reviewer_note"], "Good traffic.");
        let mail = world.mails().await.pop().unwrap();
        assert!(mail.text.contains("Good traffic."));
        let tokens = world.anyone().post("/auth/magic-link/redeem", json!({"token": mail.token()})).await.ok();
        let prospect = world.session(&tokens);
        assert_eq!(prospect.get("/me").await.ok()["account"]["onboarding_status"], "docs_requested");
        world.end().await;
    }

    async fn a_disallowed_decision_names_the_allowed_states(db) {
        let world = World::start(db).await;
        let admin = world.admin().await;
        let petra = sign_up(&world, "petra@prospect.example").await;
        let act = |action: &str| {
            let (admin, path) = (admin.clone(), format!("/admin/beta/{}/{action}", petra.account_id));
            async move { admin.post(&path, json!({})).await }
        };
        act("decline").await.expect(200);
        let problem = act("decline").await.problem(409, "state.conflict");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("beta_declined") && detail.contains("beta_waitlist"), "{detail}");
        act("approve").await.expect(200);
        act("decline").await.problem(409, "state.conflict");
        world.end().await;
    }

    async fn the_queue_lists_prospects_newest_first_and_by_status(db) {
        let world = World::unlimited(db).await;
        let admin = world.admin().await;
        for number in 0..5 {
            sign_up(&world, &format!("p{number}@prospect.example")).await;
            world.advance(1).await;
        }
        let mut seen = Vec::new();
        let mut path = "/admin/beta?limit=2".to_owned();
        loop {
            let page = admin.get(&path).await.ok();
            seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["contact_email"].as_str().unwrap().to_owned()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/admin/beta?limit=2&cursor={cursor}");
        }
        assert_eq!(seen, (0..5).rev().map(|number| format!("p{number}@prospect.example")).collect::<Vec<_>>());
        let none = admin.get("/admin/beta?status=beta_waitlist").await.ok();
        assert_eq!(none, json!({"items": []}));
        let item = &admin.get("/admin/beta?status=beta_signup&limit=1").await.ok()["items"][0];
        assert_eq!((&item["kyb_status"], &item["card_status"]), (&json!("none"), &json!("none")));
        assert_eq!(admin.get("/admin/beta?status=nonsense").await.invalid(), ["status"]);
        world.end().await;
    }
}

/// Everyone's position, in order.
async fn positions(prospects: &[Session]) -> Vec<Option<i64>> {
    let mut positions = Vec::new();
    for session in prospects {
        positions.push(session.get("/me/waitlist").await.ok()["position"].as_i64());
    }
    positions.sort_unstable();
    positions
}
