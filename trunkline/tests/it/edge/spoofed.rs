//! Packets with a source address that is not the sender's: they reach the edge, but what it replies goes elsewhere.

use super::hostile::Rogue;
use super::lab::{Lab, NANOS_PER_CENT};
use crate::world::engines::uuid;

/// How many calls the service denied because of their source.
async fn strangers_seen(lab: &Lab<'_>) -> u64 {
    let metrics = reqwest::get(format!("http://{}/metrics", lab.net.service())).await.unwrap().text().await.unwrap();
    let line =
        metrics.lines().find(|line| line.starts_with("trunkline_calls_refused_total{reason=\"source_not_allowed\"}"));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

on_sqlite! {
    async fn calls_from_many_unknown_addresses_share_one_budget(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        lab.kamailio.kill();
        lab.carry_again_with(&[("EDGE_STRANGERS_PER_SECOND", "2")]).await;
        for host in 20..=250 {
            let stranger = Rogue::at(&lab, &lab.net.host(host));
            stranger.say("INVITE", b"+31201234567", b"+31201111111", "", &uuid().to_string(), b"");
        }
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        let seen = strangers_seen(&lab).await;
        assert!((1..100).contains(&seen), "{seen} of 231 calls were checked");
        lab.cdrs(1).await;
        lab.end().await;
    }

    async fn a_call_that_is_never_acknowledged_ends_soon_and_costs_nothing(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        lab.kamailio.kill();
        lab.carry_again_with(&[("EDGE_ACK_SECONDS", "3")]).await;
        let (rogue, call_id) = (Rogue::at(&lab, &lab.net.customer()), uuid().to_string());
        rogue.talk(b"+31201234567", &call_id);
        let (called, status, seconds, charge) = lab.cdrs(1).await.remove(0);
        assert_eq!((called.as_str(), seconds, charge), ("+31201234567", 0, 0));
        assert_ne!(status, "answered");
        let callee = lab.upstreams.last().unwrap();
        lab.until("the callee gets a BYE", async || {
            callee.messages().iter().any(|message| message.call_id == call_id && message.is_bye())
        })
        .await;
        assert_eq!(lab.balance_and_held().await, (1000 * NANOS_PER_CENT, 0));
        // One that is acknowledged lasts longer than that.
        let heard = lab.heard(lab.dial("caller", "+31201234567", 5000)).await;
        lab.cdrs(2).await;
        lab.agrees_with(&heard, NANOS_PER_CENT / 10).await;
        lab.end().await;
    }

    async fn a_repeated_invite_after_a_restart_gets_a_decision_of_its_own(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let (rogue, call_id) = (Rogue::at(&lab, &lab.net.customer()), uuid().to_string());
        let ring = || rogue.say("INVITE", b"+31201230180", b"+31201111111", "", &call_id, b"");
        ring();
        lab.until("it rings", async || lab.live_calls().await == 1).await;
        lab.kamailio.kill();
        lab.carry_again().await;
        ring();
        lab.until("it rings again, on its own money", async || lab.live_calls().await == 2).await;
        lab.until("the lost one is closed", async || {
            lab.service.advance(600).await;
            lab.live_calls().await == 0
        })
        .await;
        lab.cdrs(2).await;
        lab.end().await;
    }
}
