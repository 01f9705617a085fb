//! Notices of the operator, and the catalogue of notifications.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use identity::notifications::NotificationCode;
use serde_json::{Value, json};
use values::{Rfc3339, Role, Time};

use crate::world::World;
use crate::world::client::Client;
use crate::world::engines::both;
use crate::world::fixtures::notifications::notify;

fn titles(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|notice| notice["title"].as_str().unwrap()).collect()
}

async fn announce(admin: &Client, title: &str, from: i64, to: Option<i64>) -> String {
    let at = |seconds| json!(Rfc3339(Time::from_seconds(seconds)));
    let mut body = json!({"severity": "warning", "title": title, "body": "Short.", "starts_at": at(from)});
    if let Some(to) = to {
        body["ends_at"] = at(to);
    }
    let made = admin.post("/admin/notices", body).await.expect(201);
    format!("/admin/notices/{}", made["id"].as_str().unwrap())
}

both! {
    async fn a_notice_is_visible_from_its_start_until_its_end_or_deletion(db) {
        let world = World::unlimited(db).await;
        let (admin, cora) = (world.minted(Role::Admin).await, world.minted(Role::Customer).await);
        let now = world.seconds();
        announce(&admin, "Ended", now - 100, Some(now - 10)).await;
        let endless = announce(&admin, "Endless", now - 50, None).await;
        announce(&admin, "Short", now - 20, Some(now + 60)).await;
        announce(&admin, "Soon", now + 30, None).await;
        assert_eq!(titles(&cora.get("/notices").await.ok()), ["Short", "Endless"]);
        assert_eq!(titles(&admin.get("/admin/notices").await.ok()), ["Soon", "Short", "Endless", "Ended"]);
        let first = cora.get("/notices?limit=1").await.ok();
        let cursor = first["meta"]["next_cursor"].as_str().unwrap();
        assert_eq!(titles(&cora.get(&format!("/notices?limit=1&cursor={cursor}")).await.ok()), ["Endless"]);
        world.advance(61).await;
        assert_eq!(titles(&cora.get("/notices").await.ok()), ["Soon", "Endless"]);

        let changed = admin.patch(&endless, json!({"title": "Not so endless", "severity": "info"})).await.ok();
        assert_eq!((&changed["severity"], &changed["ends_at"]), (&json!("info"), &Value::Null));
        let early = json!({"ends_at": Rfc3339(Time::from_seconds(now - 51))});
        assert_eq!(admin.patch(&endless, early).await.invalid(), ["ends_at"]);
        admin.delete(&endless).await.expect(204);
        admin.delete(&endless).await.problem(404, "not_found");
        assert_eq!(titles(&cora.get("/notices").await.ok()), ["Soon"]);
        let sam = world.minted(Role::Support).await;
        sam.get("/admin/notices").await.ok();
        sam.post("/admin/notices", json!({})).await.problem(403, "auth.forbidden");
        world.end().await;
    }

    async fn every_code_of_a_notification_is_described_with_a_schema_of_its_payload(db) {
        let world = World::unlimited(db).await;
        let cora = world.customer("cora@customer.example").await;
        let codes = cora.get("/notification-codes").await.ok();
        let codes = codes["data"].as_array().unwrap();
        assert_eq!(codes.len(), NotificationCode::ALL.len());
        for kind in codes {
            assert!(jsonschema::draft202012::meta::is_valid(&kind["payload"]), "{kind}");
            assert!(kind["description"].as_str().is_some_and(|text| text.ends_with('.')), "{kind}");
            let text = kind["payload"].to_string();
            let (references, inside) = (text.matches(r##""$ref":"##).count(), text.matches(r##""$ref":"#/$defs/"##).count());
            assert_eq!(references, inside, "{kind}");
        }
        notify(&world, &cora.account_id, "NL1").await;
        let told = cora.get("/notifications").await.ok()["data"][0].clone();
        let kind = codes.iter().find(|kind| kind["code"] == told["code"]).unwrap();
        assert!(jsonschema::is_valid(&kind["payload"], &told["payload"]), "{kind}");
        assert!(!jsonschema::is_valid(&kind["payload"], &json!({})), "{kind}");
        world.end().await;
    }
}
