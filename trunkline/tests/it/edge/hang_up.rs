//! Hang-ups and suspensions end calls at both phones without waiting for a keepalive.

use reqwest::Method;
use serde_json::{Value, json};

use super::lab::{Lab, NANOS_PER_CENT};
use crate::world::fixtures::{count, key};

const A_SECOND: i64 = NANOS_PER_CENT / 10;

/// Asks that the live call to this number be ended.
async fn hang_up(lab: &Lab<'_>, number: &str) -> Value {
    let calls = lab.talking().await;
    let call = calls.iter().find(|call| call["called"] == number).unwrap();
    let path = format!("/admin/calls/{}/hangup", call["id"].as_str().unwrap());
    lab.admin.with_key(key()).call(Method::POST, &path, None).await.ok()
}

async fn set_status(lab: &Lab<'_>, status: &str) {
    let path = format!("/admin/customers/{}", lab.account);
    let changed = lab.admin.with_key(key()).patch(&path, json!({"onboarding_status": status})).await.ok();
    assert_eq!(changed["onboarding_status"], status);
}

on_sqlite! {
    async fn calls_ended_by_the_team_or_a_suspension_end_at_both_phones(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        lab.kamailio.kill();
        lab.carry_again_with(&[("EDGE_KEEPALIVE_SECONDS", "600")]).await;
        let first = lab.dial("wait_for_bye", "+31201234561", 0);
        let second = lab.dial("wait_for_bye", "+31201234562", 0);
        lab.until("two talk", async || lab.answered_calls().await == 2).await;

        assert_eq!(hang_up(&lab, "+31201234561").await["hang_up"], true);
        let first = lab.heard(first).await;
        lab.both_got_bye(&first).await;
        lab.until("one goes on", async || lab.live_calls().await == 1).await;
        assert_eq!(lab.talking().await[0]["called"], "+31201234562");
        assert_eq!(count(db, "SELECT COUNT(*) FROM audit_log WHERE action = 'call.hang_up'").await, 1);

        set_status(&lab, "suspended").await;
        let second = lab.heard(second).await;
        lab.both_got_bye(&second).await;
        assert_eq!(lab.call("caller", "+31201234563", 100).await, 403);
        set_status(&lab, "approved").await;
        assert_eq!(lab.call("caller", "+31201234563", 100).await, 200);

        let records = lab.cdrs(3).await;
        assert!(records.iter().all(|record| record.1 == "answered"), "{records:?}");
        for heard in [&first, &second] {
            lab.agrees_with(heard, A_SECOND).await;
        }
        lab.end().await;
    }
}
