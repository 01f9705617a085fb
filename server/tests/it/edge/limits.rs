//! Calls end when their money does, and go on when there is more.

use super::lab::{Lab, NANOS_PER_CENT};

on_sqlite! {
    async fn a_call_ends_before_it_costs_more_than_there_is(db) {
        let lab = Lab::start(db, 2, 100).await;
        // Four seconds at half a cent.
        assert_eq!(lab.call("listener", "+442012345678", 0).await, 200);
        let record = lab.records(1).await.remove(0);
        assert!((1..=4).contains(&record.2), "{record:?}");
        assert_eq!(lab.purse().await, (2 * NANOS_PER_CENT - record.3, 0));
        assert_eq!(record.3, record.2 * NANOS_PER_CENT / 2);
        lab.end().await;
    }

    async fn money_that_comes_amid_a_call_lets_it_go_on_until_the_team_ends_it(db) {
        let lab = Lab::start(db, 3, 100).await;
        let talking = lab.dial("listener", "+442012345678", 0);
        lab.until("somebody talks", async || lab.answered_calls().await == 1).await;
        lab.top_up(1000).await;
        let seconds = "SELECT COALESCE(SUM((seen_at - answered_at) / 1000), 0) FROM live_calls";
        lab.until("the call lasts longer", async || crate::decks::count(lab.db, seconds).await >= 7).await;
        lab.db.ddl("UPDATE live_calls SET hang_up = TRUE;").await;
        let record = lab.records(1).await.remove(0);
        drop(talking);
        assert!((7..=12).contains(&record.2), "{record:?}");
        lab.end().await;
    }
}
