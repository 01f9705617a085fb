//! What is killed amid calls: every finished call has one record after recovery, and no money stays held.

use super::lab::Lab;
use crate::decks::count;
use crate::world::engines::both;

both! {
    async fn calls_outlive_the_service_and_what_they_came_to_is_told_when_it_is_back(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let talking: Vec<_> = (0..5).map(|number| lab.dial("caller", &format!("+3120123456{number}"), 1500)).collect();
        lab.until("five talk", async || lab.answered_calls().await == 5).await;
        lab.service.kill();
        for call in talking {
            assert!(call.over().await.is_complete);
        }
        // Nobody answers for new calls, so none begin; soon without even asking.
        for _ in 0..4 {
            assert_eq!(lab.call("caller", "+31201234567", 100).await, 503);
        }
        assert_eq!(lab.healthz().await, Some(503));
        lab.serve_again();
        let records = lab.records(5).await;
        assert!(records.iter().all(|record| record.1 == "answered" && record.2 == 2), "{records:?}");
        assert_eq!(count(db, "SELECT COUNT(*) FROM cdrs WHERE review").await, 0);
        lab.until("the edge takes calls", async || lab.healthz().await == Some(200)).await;
        assert_eq!(lab.call("caller", "+31201234567", 100).await, 200);
        lab.records(6).await;
        lab.end().await;
    }

    async fn calls_outlive_the_edge_and_those_it_forgot_are_closed(db) {
        let mut lab = Lab::start(db, 1000, 100).await;
        let written: Vec<_> = (0..4).map(|number| lab.dial("caller", &format!("+3120123456{number}"), 4000)).collect();
        lab.until("four talk", async || lab.answered_calls().await == 4).await;
        // Heard of again after their answer: they are written down.
        let seen = "SELECT COUNT(*) FROM live_calls WHERE seen_at > answered_at";
        lab.until("they are kept alive", async || count(db, seen).await == 4).await;
        let ringing = lab.dial("listener", "+31201230180", 0);
        lab.until("one rings", async || lab.live_calls().await == 5).await;
        lab.kamailio.kill();
        lab.carry_again().await;
        for call in written {
            assert!(call.over().await.is_complete, "the caller could hang up");
        }
        drop(ringing);
        lab.until("only the forgotten one is left", async || lab.live_calls().await == 1).await;
        lab.service.advance(1200).await;
        let records = lab.records(5).await;
        assert_eq!(records.iter().filter(|record| record.1 == "answered" && (4..=6).contains(&record.2)).count(), 4);
        let forgotten = records.iter().find(|record| record.0 == "+31201230180").unwrap();
        assert_eq!((forgotten.2, forgotten.3), (0, 0), "{forgotten:?}");
        lab.end().await;
    }
}
