//! Calls through the edge: the SIP result, the CDR and the ledger agree.

use super::lab::{Lab, NANOS_PER_CENT};
use super::programs::Sipp;
use crate::world::engines::both;
use crate::world::fixtures::count;

both! {
    async fn the_sip_result_the_cdr_and_the_charge_agree(db) {
        let lab = Lab::start(db, 1000, 100).await;
        // The first upstream refuses every call, so each of these is carried by the second.
        let calls = [
            ("caller", "+31201234567", 1200, 200, "answered", 2),
            ("caller", "+31201230486", 0, 486, "busy", 0),
            ("caller", "+31201230404", 0, 404, "failed", 0),
            ("caller", "+31201230503", 0, 503, "failed", 0),
            ("caller", "+31201230180", 0, 480, "no_answer", 0),
            ("cancel_ringing", "+31201240180", 300, 487, "cancelled", 0),
            ("wait_for_bye", "+31201230700", 0, 200, "answered", 1),
            ("reinvite", "+31201234568", 300, 200, "answered", 1),
            ("caller", "0031201234569", 100, 200, "answered", 1),
        ];
        let mut heard = Vec::new();
        for (scenario, number, talk, code, ..) in calls {
            let phone = lab.heard(lab.dial(scenario, number, talk)).await;
            assert_eq!(phone.code(), code, "{number}");
            heard.push(phone);
        }
        let records = lab.cdrs(9).await;
        for ((_, number, _, _, status, seconds), record) in calls.iter().zip(&records) {
            let number = number.replacen("00", "+", usize::from(number.starts_with("00")));
            assert_eq!((&record.0, record.1.as_str()), (&number, *status), "{records:?}");
            // On a busy machine a BYE is late, so the call lasts longer than the caller intended.
            assert!(record.2 >= *seconds && (record.2 > 0) == (*seconds > 0), "{records:?}");
        }
        for phone in &heard {
            assert_eq!(phone.talks.len(), usize::from(phone.code() == 200));
            lab.agrees_with(phone, NANOS_PER_CENT / 10).await;
        }
        let charged: i64 = records.iter().map(|record| record.3).sum();
        assert_eq!(lab.balance_and_held().await, (1000 * NANOS_PER_CENT - charged, 0));
        lab.end().await;
    }

    async fn a_call_to_a_did_rings_at_its_trunks_uri_and_costs_nothing(db) {
        let lab = Lab::start(db, 1000, 100).await;
        let number = lab.rent_number().await;
        let _office = Sipp::upstream(lab.folder.path(), "callee", &lab.net.office());
        let upstream = lab.net.first_upstream();
        let heard = lab.dial_from(&upstream, "caller", &number, 1200).over().await;
        assert_eq!((heard.code(), heard.is_complete), (200, true), "{:#?}", lab.kamailio.complaints());
        // A number that is not rented.
        assert_eq!(lab.call_from(&upstream, "+31201999999").await.code(), 404);
        let (called, status, seconds, charge) = lab.cdrs(1).await.remove(0);
        assert_eq!((called, status.as_str(), charge), (number, "answered", 0));
        assert!(seconds >= 2, "{seconds}");
        lab.agrees_with(&heard, 0).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM cdrs WHERE leg = 'origination'").await, 1);
        assert_eq!(lab.balance_and_held().await, (800 * NANOS_PER_CENT, 0));
        lab.end().await;
    }

    async fn unknown_sources_and_calls_over_the_channel_cap_are_refused(db) {
        let lab = Lab::start(db, 1000, 1).await;
        // The second time the edge does not ask the service.
        for _ in 0..2 {
            assert_eq!(lab.call_from(&lab.net.stranger(), "+31201234567").await.code(), 403);
        }
        let talking = lab.dial("caller", "+31201234567", 1500);
        lab.until("somebody talks", async || lab.answered_calls().await == 1).await;
        assert_eq!(lab.call("caller", "+31201234568", 100).await, 503);
        assert!(talking.over().await.is_complete);
        lab.until("the channel is free", async || lab.live_calls().await == 0).await;
        assert_eq!(lab.call("caller", "+31201234569", 100).await, 200);
        assert_eq!(lab.call("caller", "+99912345678", 100).await, 404);
        assert_eq!(lab.call("caller", "alice", 100).await, 404);
        lab.cdrs(2).await;
        lab.end().await;
    }
}

/// The upstream that carried the last call, by its dispatcher's group.
const CARRIED_LAST: &str = "SELECT dispatcher_group_id FROM cdrs JOIN upstreams ON upstreams.id = cdrs.upstream_id
    ORDER BY cdrs.started_at DESC LIMIT 1";

/// What the team sees of each upstream, by its dispatcher's group.
async fn health(lab: &Lab<'_>) -> [String; 2] {
    let listed = lab.admin.get("/admin/upstreams").await.ok();
    [10, 20].map(|group| {
        let one = listed["data"].as_array().unwrap().iter().find(|one| one["dispatcher_group_id"] == group).unwrap();
        one["health"].as_str().unwrap().to_owned()
    })
}

on_sqlite! {
    async fn unresponsive_upstreams_are_skipped_until_they_answer(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        // The cheaper upstream is down and no longer tried.
        drop(lab.upstreams.remove(0));
        lab.wait_for_upstreams("down", 1).await;
        assert_eq!(health(&lab).await, ["down", "up"]);
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        lab.cdrs(1).await;
        assert_eq!(count(db, CARRIED_LAST).await, 20);

        lab.upstreams.clear();
        lab.wait_for_upstreams("down", 2).await;
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 503);
        assert_eq!(lab.live_calls().await, 0, "nothing was set aside for a call with no way to go");

        // It is back, and takes calls.
        let address = lab.net.first_upstream();
        lab.upstreams.push(Sipp::upstream(lab.folder.path(), "callee", &address));
        lab.wait_for_upstreams("up", 1).await;
        assert_eq!(health(&lab).await, ["up", "down"]);
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        lab.cdrs(2).await;
        assert_eq!(count(db, CARRIED_LAST).await, 10);
        lab.end().await;
    }
}
