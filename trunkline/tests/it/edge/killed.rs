//! Kills during a hundred calls: each finished call has one CDR after recovery, and no hold remains.

use super::lab::{Lab, NANOS_PER_CENT};
use super::programs::Sipp;
use crate::world::engines::both;
use crate::world::fixtures::count;

/// Live calls at the time of the kill.
const LIVE: usize = 100;
/// Long enough for all of them to be live at the same time on a busy machine.
const TALK_MILLIS: u64 = 15_000;
/// What a second to the Netherlands costs.
const A_SECOND: i64 = NANOS_PER_CENT / 10;
const CENTS: i64 = 10_000;

/// A hundred answered live calls.
async fn a_hundred_talk(lab: &Lab<'_>) -> Sipp {
    let phones = lab.dial_many("caller", "+31201234567", TALK_MILLIS, LIVE);
    lab.until("a hundred talk", async || lab.answered_calls().await == 100).await;
    assert_eq!(lab.talking().await.len(), LIVE);
    phones
}

/// More calls, some in authorization, some ringing, some answered.
async fn more_begin(lab: &Lab<'_>, scenario: &str) -> Sipp {
    let (before, phones) = (lab.live_calls().await, lab.dial_many(scenario, "+31201234568", 100, 20));
    lab.until("more calls begin", async || lab.live_calls().await > before).await;
    phones
}

both! {
    async fn calls_survive_a_service_outage_and_are_reported_afterwards(db) {
        let mut lab = Lab::start(db, CENTS, 200).await;
        let phones = a_hundred_talk(&lab).await;
        let late = more_begin(&lab, "caller").await;
        lab.service.kill();
        let late = lab.heard(late).await;
        assert!(late.codes.len() == 20 && late.codes.iter().all(|code| [200, 503].contains(code)), "{late:?}");
        // Without the service no new call begins; soon the edge does not even ask.
        lab.until("nobody asks any more", async || {
            assert_eq!(lab.call("caller", "+31201234567", 100).await, 503);
            lab.healthz().await == Some(503)
        })
        .await;
        let hung_up = || phones.messages().iter().filter(|message| message.is_sent && message.is_bye()).count();
        lab.until("half have hung up", async || hung_up() >= LIVE / 2).await;
        lab.serve_again();
        let heard = lab.heard(phones).await;
        assert_eq!((&heard.codes, heard.talks.len()), (&vec![200; LIVE], LIVE));
        lab.until("the edge takes calls", async || lab.healthz().await == Some(200)).await;
        let after = lab.heard(lab.dial("caller", "+31201234567", 100)).await;
        let talked = i64::try_from(heard.talks.len() + late.talks.len() + after.talks.len()).unwrap();
        let answered = "SELECT COUNT(*) FROM cdrs WHERE status = 'answered'";
        let refused = late.codes.iter().filter(|code| **code == 503).count();
        lab.until("all is told", async || {
            count(db, answered).await == talked && lab.live_calls().await <= i64::try_from(refused).unwrap()
        })
        .await;
        for heard in [&heard, &late, &after] {
            lab.agrees_with(heard, A_SECOND).await;
        }
        assert_eq!(count(db, "SELECT COUNT(*) FROM cdrs WHERE review").await, 0);

        // A service that dies between decision and response leaves a live call without any event.
        lab.until("the unspoken are closed", async || {
            lab.service.advance(600).await;
            lab.live_calls().await == 0
        })
        .await;
        assert_eq!(count(db, answered).await, talked);
        assert_eq!(count(db, "SELECT COUNT(*) - COUNT(DISTINCT call_id) FROM cdrs").await, 0, "no call has two");
        let charged = count(db, "SELECT CAST(SUM(charge) AS BIGINT) FROM cdrs").await;
        assert_eq!(lab.balance_and_held().await, (CENTS * NANOS_PER_CENT - charged, 0));
        lab.end().await;
    }

    async fn calls_survive_an_edge_restart_and_lost_ones_are_closed(db) {
        let mut lab = Lab::start(db, CENTS, 200).await;
        let phones = a_hundred_talk(&lab).await;
        lab.until_saved(LIVE).await;
        let ringing = lab.dial("wait_for_bye", "+31201230180", 0);
        lab.until("one rings", async || lab.live_calls().await == 101).await;
        let late = more_begin(&lab, "wait_for_bye").await;
        lab.kamailio.kill();
        lab.carry_again().await;
        let heard = lab.heard(phones).await;
        assert_eq!((&heard.codes, heard.talks.len()), (&vec![200; LIVE], LIVE), "the callers could hang up");
        let kept = "SELECT COUNT(*) FROM cdrs WHERE called = '+31201234567'";
        lab.until("they have their records", async || count(db, kept).await == 100).await;
        lab.agrees_with(&heard, A_SECOND).await;
        assert_eq!(count(db, "SELECT COUNT(*) FROM cdrs WHERE review").await, 0);

        // The ringing call, and those the edge had not stored yet, get no more events.
        drop((ringing, late));
        lab.until("the forgotten are closed", async || {
            lab.service.advance(600).await;
            lab.live_calls().await == 0
        })
        .await;
        assert_eq!(lab.balance_and_held().await.1, 0, "money is still held");
        assert_eq!(count(db, kept).await, 100);
        assert_eq!(count(db, "SELECT COUNT(*) - COUNT(DISTINCT call_id) FROM cdrs").await, 0, "no call has two");
        let rang = "SELECT COUNT(*) FROM cdrs WHERE called = '+31201230180' AND duration_seconds = 0 AND charge = 0";
        assert_eq!(count(db, rang).await, 1);
        lab.end().await;
    }
}
