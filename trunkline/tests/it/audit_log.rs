//! The audit log as the team reads it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::{Value, json};
use values::{Rfc3339, Role, Time};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;

async fn read(team: &Client, query: &[(&str, &str)]) -> Value {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
    team.get(&format!("/admin/audit-log?{query}")).await.ok()
}

async fn actions(team: &Client, query: &[(&str, &str)]) -> Vec<String> {
    let log = read(team, query).await;
    log["rows"].as_array().unwrap().iter().map(|row| row["action"].as_str().unwrap().to_owned()).collect()
}

both! {
    async fn the_audit_log_is_filtered_by_actor_action_time_and_outcome(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.admin().await, world.customer("cora@customer.example").await);
        world.advance(10).await;
        let middle = Rfc3339(Time::from_seconds(world.seconds()));
        let middle = json!(middle).as_str().unwrap().to_owned();
        cora.patch("/account", json!({"company_name": "New GmbH"})).await.ok();
        cora.post("/admin/notices", json!({})).await.problem(403, "auth.forbidden");
        admin.post(&format!("/admin/customers/{}/notes", cora.account_id), json!({"body": "x"})).await.expect(201);
        let sam = world.minted(Role::Support).await;

        assert_eq!(
            actions(&sam, &[]).await,
            ["note.create", "notice.create", "account.update", "session.sign_in", "session.sign_in", "admin.bootstrap"]
        );
        let account = cora.account_id.as_str();
        assert_eq!(
            actions(&sam, &[("account_id", account)]).await,
            ["note.create", "notice.create", "account.update", "session.sign_in"]
        );
        assert_eq!(actions(&sam, &[("account_id", account), ("user_id", &admin.user_id)]).await, ["note.create"]);
        assert_eq!(actions(&sam, &[("account_id", account), ("outcome", "failure")]).await, ["notice.create"]);
        assert_eq!(actions(&sam, &[("user_id", &cora.user_id), ("from", &middle)]).await, ["notice.create", "account.update"]);
        assert_eq!(actions(&sam, &[("user_id", &cora.user_id), ("to", &middle)]).await, ["session.sign_in"]);
        assert_eq!(actions(&sam, &[("action", "session.sign_in"), ("actor", "admin")]).await, ["session.sign_in"]);
        assert_eq!(actions(&sam, &[("action", "nothing")]).await, Vec::<String>::new());
        assert_eq!(actions(&sam, &[("outcome", "failure")]).await, ["notice.create"]);
        assert_eq!(actions(&sam, &[("actor", "admin"), ("from", &middle)]).await, ["note.create"]);
        assert_eq!(actions(&sam, &[("actor", "customer"), ("outcome", "success")]).await, ["account.update", "session.sign_in"]);
        assert_eq!(actions(&sam, &[("actor", "system")]).await, Vec::<String>::new());

        let failure = &read(&sam, &[("outcome", "failure")]).await["rows"][0];
        assert_eq!((&failure["reason"], &failure["account_id"]), (&json!("auth.forbidden"), &json!(account)));
        assert!(failure["ts"].as_i64().unwrap() > 1_700_000_000_000 && failure["ip"].is_string());
        sam.get("/admin/audit-log?actor=nobody").await.invalid();
        cora.get("/admin/audit-log").await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn audit_pages_neither_repeat_nor_miss_rows_during_writes(db) {
        let world = World::unlimited(db).await;
        let cora = world.minted(Role::Customer).await;
        let sam = world.minted(Role::Support).await;
        let write = async |number: i32| {
            cora.patch("/account", json!({"company_name": format!("Name {number}")})).await.ok();
        };
        for number in 0..5 {
            write(number).await;
        }
        let (mut seen, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut query = vec![("limit", "2"), ("action", "account.update")];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = read(&sam, &query).await;
            seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()));
            write(9).await;
            match page.get("next_cursor") {
                Some(next) => cursor = Some(next.as_str().unwrap().to_owned()),
                None => break,
            }
        }
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!((seen.len(), once.len()), (5, 5));
        world.end().await;
    }
}
