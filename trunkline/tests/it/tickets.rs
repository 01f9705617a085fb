//! Support tickets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use futures_util::future::join_all;
use serde_json::{Value, json};
use values::Role;

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::notifications::notification_codes;
use crate::world::fixtures::switch::Scene;
use crate::world::fixtures::tickets::ticket_body;

async fn opened(customer: &Client) -> String {
    let made = customer.post("/tickets", ticket_body()).await.expect(201);
    assert_eq!((&made["status"], &made["priority"]), (&json!("open"), &json!("normal")));
    format!("/tickets/{}", made["id"].as_str().unwrap())
}

async fn say(writer: &Client, ticket: &str, body: &str) -> Value {
    writer.post(&format!("{ticket}/messages"), json!({"body": body})).await.expect(201)
}

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|row| format!("/tickets/{}", row["id"].as_str().unwrap())).collect()
}

both! {
    async fn a_refused_text_is_told_what_is_wrong_with_it(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        for (subject, reason) in [
            ("", "must not be empty"),
            (" ", "must not be blank"),
            ("\n\u{3000}", "must not be blank"),
            ("a\u{7}b", "must not contain control characters other than line feeds and tabs"),
        ] {
            let refused = cora.post("/tickets", json!({"subject": subject, "body": " "})).await.problem(422, "validation.failed");
            let blank = json!({"name": "body", "reason": "must not be blank"});
            assert_eq!(refused["invalid_params"], json!([blank, {"name": "subject", "reason": reason}]));
        }
        // Another value says what it must be.
        let refused = cora.patch("/me/account", json!({"contact_phone": " "})).await.problem(422, "validation.failed");
        assert_eq!(refused["invalid_params"][0]["reason"], "must be an E.164 number such as +31201234567");
        world.end().await;
    }

    async fn a_ticket_waits_for_the_other_side_until_it_is_closed(db) {
        let world = World::unlimited(db).await;
        let (sam, cora) = (world.minted(Role::Support).await, world.customer("cora@customer.example").await);
        let admin = world.minted(Role::Admin).await;
        let path = opened(&cora).await;
        let desk = format!("/admin{path}");
        assert_eq!(say(&sam, &desk, "We are <b>looking</b> into it.").await["status"], "pending_customer");
        assert_eq!(say(&cora, &path, "Thank you").await["status"], "pending_team");
        let resolved = admin.patch(&desk, json!({"status": "resolved", "priority": "high"})).await.ok();
        assert_eq!((&resolved["status"], &resolved["priority"]), (&json!("resolved"), &json!("high")));
        assert_eq!(say(&cora, &path, "It is back").await["status"], "pending_team");
        for status in ["open", "pending_customer"] {
            admin.patch(&desk, json!({"status": status})).await.problem(409, "state.conflict");
        }
        let closed = cora.post(&format!("{path}/close"), json!({})).await.ok();
        assert_eq!(closed["status"], "closed");
        for (caller, at) in [(&*cora, &path), (&sam, &desk)] {
            caller.post(&format!("{at}/messages"), json!({"body": "Hello?"})).await.problem(409, "state.conflict");
        }
        cora.post(&format!("{path}/close"), json!({})).await.problem(409, "state.conflict");
        admin.patch(&desk, json!({"priority": "low"})).await.problem(409, "state.conflict");
        admin.patch(&desk, json!({"status": "resolved"})).await.problem(409, "state.conflict");

        let shown = cora.get(&path).await.ok();
        let authors: Vec<&str> = shown["messages"].as_array().unwrap().iter().map(|said| said["author_kind"].as_str().unwrap()).collect();
        assert_eq!(authors, ["customer", "team", "customer", "customer"]);
        assert_eq!(shown["messages"][1]["author_name"], "Cora Customer");
        assert_eq!(notification_codes(&cora).await, ["ticket.reply"]);
        let mails = world.mails().await;
        let [mail] = &mails[..] else { panic!("{mails:?}") };
        assert_eq!((mail.to.as_str(), mail.subject.as_str()), ("cora@customer.example", "New reply to your support ticket"));
        assert!(mail.html.contains("&#60;b&#62;looking") && mail.text.contains("Calls to Belgium fail"));
        world.end().await;
    }

    async fn a_closed_ticket_refuses_changes(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.minted(Role::Admin).await, world.customer("cora@customer.example").await);
        let path = opened(&cora).await;
        let desk = format!("/admin{path}");
        cora.post(&format!("{path}/close"), json!({})).await.ok();
        let closed = cora.get(&path).await.ok();
        world.advance(60).await;
        let message = json!({"body": "One more thing"});
        for refused in [
            cora.post(&format!("{path}/messages"), message.clone()).await,
            cora.post(&format!("{path}/close"), json!({})).await,
            admin.post(&format!("{desk}/messages"), message).await,
            admin.patch(&desk, json!({"status": "resolved"})).await,
            admin.patch(&desk, json!({"status": "open"})).await,
            admin.patch(&desk, json!({"priority": "high"})).await,
        ] {
            let detail = refused.problem(409, "state.conflict")["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains("is closed") && detail.contains("open a new one"), "{detail}");
        }
        // Setting the current status again is allowed.
        admin.patch(&desk, json!({"status": "closed", "priority": "normal"})).await.ok();
        assert_eq!(cora.get(&path).await.ok(), closed);
        world.end().await;
    }

    async fn a_ticket_refers_only_to_the_customers_own_calls(db) {
        let scene = Scene::start(db, 1000).await;
        let token = scene.allowed(json!({})).await["call_token"].clone();
        scene.send_events(json!([scene.event("answered", &token, 0, json!({})), scene.event("ended", &token, 5000, json!({}))])).await;
        let stranger = scene.world.minted(Role::Customer).await;
        let mut body = ticket_body();
        (body["cdr_ids"], body["request_id"]) = (json!([token]), json!("019a85d0c1b87cc2a7a05b0c4f6ad7c1"));
        let made = scene.customer.post("/tickets", body.clone()).await.expect(201);
        assert_eq!((&made["cdr_ids"], &made["request_id"]), (&body["cdr_ids"], &body["request_id"]));
        assert_eq!(stranger.post("/tickets", body.clone()).await.invalid(), ["cdr_ids.0"]);
        body["cdr_ids"] = json!([token, uuid::Uuid::max(), uuid::Uuid::nil()]);
        assert_eq!(scene.customer.post("/tickets", body.clone()).await.invalid(), ["cdr_ids.1", "cdr_ids.2"]);
        body["cdr_ids"] = json!(vec![token; 21]);
        assert_eq!(scene.customer.post("/tickets", body).await.invalid(), ["cdr_ids"]);
        scene.end().await;
    }

    async fn customers_list_their_own_tickets_and_the_team_lists_all(db) {
        let world = World::unlimited(db).await;
        let (sam, cora, paul) =
            (world.minted(Role::Support).await, world.customer("cora@customer.example").await, world.minted(Role::Customer).await);
        let admin = world.minted(Role::Admin).await;
        let mut paths = Vec::new();
        for customer in [&*cora, &paul, &*cora] {
            paths.push(opened(customer).await);
            world.advance(1).await;
        }
        cora.post(&format!("{}/close", paths[0]), json!({})).await.ok();
        admin.patch(&format!("/admin{}", paths[1]), json!({"priority": "high"})).await.ok();
        let list = async |caller: &Client, path: &str| ids(&caller.get(path).await.ok());
        assert_eq!(list(&cora, "/tickets").await, [paths[2].clone(), paths[0].clone()]);
        assert_eq!(list(&cora, "/tickets?status=closed").await, [paths[0].clone()]);
        assert_eq!(list(&sam, "/admin/tickets").await, [paths[2].clone(), paths[1].clone(), paths[0].clone()]);
        assert_eq!(list(&sam, "/admin/tickets?status=open").await, [paths[2].clone(), paths[1].clone()]);
        assert_eq!(list(&sam, "/admin/tickets?priority=high").await, [paths[1].clone()]);
        assert_eq!(list(&sam, "/admin/tickets?status=open&priority=normal").await, [paths[2].clone()]);
        assert_eq!(list(&sam, &format!("/admin/tickets?account_id={}&status=closed", cora.account_id)).await, [paths[0].clone()]);
        let first = sam.get("/admin/tickets?limit=2").await.ok();
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(list(&sam, &format!("/admin/tickets?limit=2&cursor={cursor}")).await, [paths[0].clone()]);
        assert!(first["data"][0].get("messages").is_none());
        let shown = sam.get(&format!("/admin{}", paths[2])).await.ok();
        assert_eq!(shown["customer_name"], first["data"][0]["customer_name"]);
        assert!(shown["customer_name"].is_string(), "{shown}");
        world.end().await;
    }

    async fn concurrent_messages_are_all_kept(db) {
        let world = World::unlimited(db).await;
        let (sam, cora) = (world.minted(Role::Support).await, world.minted(Role::Customer).await);
        let path = opened(&cora).await;
        let desk = format!("/admin{path}");
        join_all((0..8).map(|turn| {
            let (writer, at) = if turn % 2 == 0 { (&cora, &path) } else { (&sam, &desk) };
            async move { say(writer, at, &format!("Message {turn}")).await }
        }))
        .await;
        assert_eq!(cora.get(&path).await.ok()["messages"].as_array().unwrap().len(), 9);
        world.end().await;
    }
}
