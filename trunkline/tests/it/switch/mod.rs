//! What switches ask and tell, and what it comes to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod alarms;
mod authorize;
mod desk;
mod events;
mod inbound;
mod late;
mod lines;
mod prices;
mod races;

use db::DbError;
use db::params;
use platform::ledger;
use serde_json::{Value, json};
use values::{AccountId, CallId, Currency};

use crate::coverage::examples::{fresh_email, key};
use crate::decks::{import, upstream};
use crate::upstreams::wanted;
use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::engines::TestDb;

pub const SOURCE: &str = "8.8.4.7";
/// A thousandth of a euro for each second, and other ways to count them.
pub const DECK: &str =
    "prefix,destination_name,country,rate_per_minute,connect_fee,billing_increment_seconds,minimum_seconds
31,Netherlands,NL,0.06,0,1,1
316,Netherlands mobile,NL,0.06,0.05,60,60
44,United Kingdom,GB,0.6,0,1,1
1900,Premium,US,2,0,60,60
";

/// A service with one upstream and one customer who has a trunk.
pub struct Scene {
    pub world: World,
    pub admin: Client,
    pub customer: Session,
    pub upstream: String,
    pub trunk: String,
}

impl Scene {
    /// The customer has so many cents.
    pub async fn start(db: &TestDb, cents: i64) -> Scene {
        let world = World::unlimited(db).await;
        // No day may end in the middle of a test.
        if world.seconds().rem_euclid(86_400) > 86_400 - 1800 {
            world.advance(3600).await;
        }
        let admin = world.admin().await.into_client();
        let mut body = wanted();
        (body["markup_percent"], body["dispatcher_group_id"]) = (json!(0), json!(10));
        body["gateways"] = json!(["sip:gw1.carrier.example"]);
        body["signaling_ips"] = json!(["9.9.9.9"]);
        let upstream = upstream(&admin, body).await;
        let report = import(&world, &admin, &upstream, "", DECK).await;
        assert_eq!(report["status"], "completed", "{report}");
        let customer = world.customer("cora@customer.example").await;
        if cents > 0 {
            world.top_up(&customer.account_id, cents).await;
        }
        let trunk = trunk(&customer, json!({}), SOURCE).await;
        Scene { world, admin, customer, upstream, trunk }
    }

    pub fn now(&self) -> i64 {
        self.world.node.app.clock.now().millis()
    }

    /// Asks whether a call may begin.
    pub async fn ask(&self, changes: Value) -> Value {
        self.world.operations().post("/switch/authorize", call(changes)).await.ok()
    }

    /// The answer to a call that may.
    pub async fn allowed(&self, changes: Value) -> Value {
        let answer = self.ask(changes).await;
        assert_eq!(answer["decision"], "allow", "{answer}");
        answer
    }

    /// Why a call may not begin, and the code for the caller.
    pub async fn denied(&self, changes: Value) -> (String, i64) {
        let answer = self.ask(changes).await;
        assert_eq!(answer["decision"], "deny", "{answer}");
        assert!(answer["sip_reason"].as_str().is_some_and(|reason| !reason.is_empty()));
        (answer["reason"].as_str().unwrap().to_owned(), answer["sip_code"].as_i64().unwrap())
    }

    pub async fn tell(&self, events: Value) -> Value {
        self.world.operations().post("/switch/events", json!({"events": events})).await.ok()
    }

    /// An event of a call, so many milliseconds from now.
    pub fn event(&self, kind: &str, token: &Value, after: i64, changes: Value) -> Value {
        let event = json!({
            "event_id": key().to_string(), "type": kind, "call_token": token, "edge_id": "edge-1", "call_id": "ignored",
            "at": self.now() + after,
        });
        merged(event, changes)
    }

    /// What the customer has, and what of it is held; in nanos.
    pub async fn purse(&self) -> (i64, i64) {
        let account: AccountId = self.customer.account_id.parse().unwrap();
        let mut conn = self.world.node.app.db.read().await.unwrap();
        let balance = ledger::balance(&mut conn, account, Currency::EUR).await.unwrap();
        (balance.current.nanos(), balance.held.nanos())
    }

    /// The record of a call: its status, length, charge and cost, and whether somebody should look at it.
    pub async fn record(&self, token: &Value) -> Option<(String, i64, i64, i64, bool)> {
        let id: CallId = token.as_str().unwrap().parse().unwrap();
        let mut conn = self.world.node.app.db.read().await.unwrap();
        conn.opt("SELECT status, duration_seconds, charge, cost, review FROM cdrs WHERE id = $1", params![id])
            .await
            .unwrap()
    }

    pub async fn number(&self, sql: &'static str) -> i64 {
        crate::decks::count(&self.world.node.app.db, sql).await
    }

    pub async fn end(self) {
        self.world.end().await;
    }
}

fn merged(mut base: Value, changes: Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        base[name] = value.clone();
    }
    base
}

/// A call to a Dutch number, unless something else is said.
pub fn call(changes: Value) -> Value {
    let base = json!({
        "edge_id": "edge-1", "call_id": key().to_string(), "from_tag": "t1", "source_ip": SOURCE, "source_port": 5060,
        "calling": "+31201111111", "called": "+31201234567",
    });
    merged(base, changes)
}

/// The id of a new trunk whose calls come from an address.
pub async fn trunk(customer: &Client, changes: Value, source: &str) -> String {
    let body = merged(json!({"name": "Main", "zone": "eu-west", "channel_cap": 10_000}), changes);
    let made = customer.with_key(key()).post("/trunks", body).await.expect(201);
    let id = made["id"].as_str().unwrap().to_owned();
    let path = format!("/trunks/{id}/ip-allow-list");
    customer.with_key(key()).post(&path, json!({"cidr": source})).await.expect(201);
    id
}

/// The id of a call that goes on, of a customer of its own.
pub async fn live_call(world: &World) -> String {
    let account: AccountId = world.customer(&fresh_email()).await.account_id.parse().unwrap();
    let app = &world.node.app;
    let now = app.clock.now();
    let token = app.entropy.uuid(now);
    let begun = app.db.tx((token, account, now), |conn, (token, account, now)| {
        Box::pin(async move {
            conn.exec(
                "INSERT INTO live_calls (token, edge_id, call_id, from_tag, account_id, trunk_id, leg, zone, calling, called,
                     currency, rate_per_minute, connect_fee, increment_seconds, minimum_seconds, routes, started_at,
                     seen_at, reserved, reserved_seconds, expires_at, hang_up)
                 VALUES ($1, 'edge-1', $2, '', $3, $1, 'origination', 'eu-west', '+31201111111', '+31201234567',
                     'EUR', 0, 0, 1, 0, '[]', $4, $4, 0, 300, $5, FALSE)",
                params![*token, token.to_string(), *account, *now, now.plus(std::time::Duration::from_secs(600))],
            )
            .await?;
            conn.exec(
                "INSERT INTO trunk_load (trunk_id, live, second, in_second) VALUES ($1, 1, 0, 1)",
                params![*token],
            )
            .await?;
            conn.exec(
                "INSERT INTO zone_load (account_id, zone, live, hour, hour_peak, changes, before_hour, before_peak, day,
                                        day_peak)
                 VALUES ($1, 'eu-west', 1, 0, 1, 1, 0, 0, 0, 1), ($1, '', 1, 0, 1, 1, 0, 0, 0, 1)",
                params![*account],
            )
            .await?;
            Ok::<_, DbError>(())
        })
    });
    begun.await.unwrap();
    token.to_string()
}
