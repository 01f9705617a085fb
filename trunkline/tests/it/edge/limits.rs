//! Calls end when the balance is used up, and continue when there is more. The edge renews a call's reservation with
//! keepalives, here every second.

use super::lab::{Lab, NANOS_PER_CENT};
use crate::world::fixtures::count;

/// What a second to the United Kingdom costs.
const A_SECOND: i64 = NANOS_PER_CENT / 2;

on_sqlite! {
    async fn a_call_ends_before_it_costs_more_than_the_balance(db) {
        let lab = Lab::start(db, 2, 100).await;
        // Four seconds at half a cent.
        let heard = lab.heard(lab.dial("wait_for_bye", "+442012345678", 0)).await;
        assert_eq!(heard.code(), 200);
        lab.both_got_bye(&heard).await;
        let record = lab.cdrs(1).await.remove(0);
        assert!((1..=4).contains(&record.2), "{record:?}");
        lab.agrees_with(&heard, A_SECOND).await;
        assert_eq!(lab.balance_and_held().await, (2 * NANOS_PER_CENT - record.3, 0));
        lab.end().await;
    }

    async fn a_call_outlasts_its_reservation_after_a_top_up_until_that_is_used_up(db) {
        // Six seconds, and six more.
        let lab = Lab::start(db, 3, 100).await;
        let talking = lab.dial("wait_for_bye", "+442012345678", 0);
        lab.until("somebody talks", async || lab.answered_calls().await == 1).await;
        lab.top_up(3).await;
        lab.until("there is more for it", async || {
            count(lab.db, "SELECT reserved_seconds FROM live_calls").await == 12
        })
        .await;
        let heard = lab.heard(talking).await;
        lab.both_got_bye(&heard).await;
        let record = lab.cdrs(1).await.remove(0);
        assert!((7..=12).contains(&record.2), "{record:?}");
        lab.agrees_with(&heard, A_SECOND).await;
        assert_eq!(lab.balance_and_held().await, (6 * NANOS_PER_CENT - record.3, 0));
        lab.end().await;
    }

    async fn a_call_with_enough_balance_lasts_until_hangup_and_is_billed_in_full(db) {
        let lab = Lab::start(db, 3, 100).await;
        let talking = lab.dial("caller", "+442012345678", 8000);
        lab.until("somebody talks", async || lab.answered_calls().await == 1).await;
        lab.top_up(1000).await;
        let heard = lab.heard(talking).await;
        assert!(heard.talks[0].byes[0] >= 7900, "{heard:?}");
        lab.cdrs(1).await;
        lab.agrees_with(&heard, A_SECOND).await;
        lab.end().await;
    }

    async fn a_call_keeps_the_limit_that_a_killed_edge_had_not_saved(db) {
        let mut lab = Lab::start(db, 10_000, 200).await;
        let talking = lab.dial("caller", "+31201234567", 8000);
        lab.until_saved(1).await;
        lab.kamailio.kill();
        lab.saved_calls("UPDATE dialog SET timeout = strftime('%s', 'now')");
        lab.carry_again().await;
        let heard = lab.heard(talking).await;
        assert!(heard.talks[0].byes[0] >= 7900, "{heard:?}");
        lab.cdrs(1).await;
        lab.agrees_with(&heard, A_SECOND / 5).await;
        lab.end().await;
    }
}
