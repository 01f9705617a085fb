//! Concurrency: nothing is spent twice and nothing is posted twice.

use db::{Db, DbOptions};
use platform::ledger::{self, LedgerError};
use tokio::task::JoinSet;

use crate::world::engines::{TestDb, both};
use crate::world::fixtures::ledger::{
    Action, MINUTE, NOW, Outcome, amounts, call, customer_with, eur, hold, release, renew, run, run_at, topup, verify,
};

/// More connections than usual, so that they really meet.
async fn wide(db: &TestDb) -> Db {
    let mut options: DbOptions = db.options();
    options.connections = 32;
    Db::open(&options).await.unwrap()
}

async fn all_at_once(db: &Db, acts: impl IntoIterator<Item = Action>) -> Vec<Result<Outcome, LedgerError>> {
    let mut tasks = JoinSet::new();
    for wanted in acts {
        let db = db.clone();
        tasks.spawn(async move { run(&db, wanted).await });
    }
    tasks.join_all().await
}

fn refused(outcomes: &[Result<Outcome, LedgerError>]) -> usize {
    outcomes.iter().filter(|outcome| matches!(outcome, Err(LedgerError::Insufficient { .. }))).count()
}

both! {
    async fn concurrent_debits_spend_the_balance_exactly(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(10)).await;
        let debits = (0..100).map(|number| Action::Debit(call(account, &format!("c{number}"), eur(1))));
        let outcomes = all_at_once(db, debits).await;
        assert_eq!((outcomes.iter().filter(|outcome| outcome.is_ok()).count(), refused(&outcomes)), (10, 90));
        assert_eq!(amounts(db, account).await, (eur(0), eur(0), eur(0)));
        assert_eq!(verify(db).await.unwrap().transactions, 11);
    }

    async fn groups_of_debits_of_the_same_customers_spend_their_balances_exactly(db) {
        let db = &wide(db).await;
        let mut customers = Vec::new();
        for _ in 0..5 {
            customers.push(customer_with(db, eur(10)).await);
        }
        let mut tasks = JoinSet::new();
        for group in 0..20 {
            // Each begins with another customer, and every second one goes the other way round.
            customers.rotate_left(1);
            let mut entries: Vec<_> =
                customers.iter().map(|account| call(*account, &format!("{group}-{account}"), eur(1))).collect();
            if group % 2 == 0 {
                entries.reverse();
            }
            let db = db.clone();
            tasks.spawn(async move { db.tx(entries, |conn, entries| Box::pin(ledger::debit_each(conn, entries))).await });
        }
        let outcomes: Vec<_> = tasks.join_all().await.into_iter().flat_map(Result::unwrap).collect();
        let short = outcomes.iter().filter(|outcome| matches!(outcome, Err(LedgerError::Insufficient { .. }))).count();
        assert_eq!((outcomes.iter().filter(|outcome| outcome.is_ok()).count(), short), (50, 50));
        for account in customers {
            assert_eq!(amounts(db, account).await, (eur(0), eur(0), eur(0)));
        }
        verify(db).await.unwrap();
    }

    async fn holds_and_debits_do_not_spend_the_same_money(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(10)).await;
        let acts = (0..100).map(|number| match number % 2 {
            0 => Action::Debit(call(account, &format!("c{number}"), eur(1))),
            _ => hold(account, &format!("h{number}"), eur(1)),
        });
        let outcomes = all_at_once(db, acts).await;
        assert_eq!((outcomes.iter().filter(|outcome| outcome.is_ok()).count(), refused(&outcomes)), (10, 90));
        assert_eq!(amounts(db, account).await.2, eur(0));
        verify(db).await.unwrap();
    }

    async fn one_transaction_posted_fifty_times_concurrently_has_one_effect(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(100)).await;
        for (name, wanted) in [
            ("debit", Action::Debit(call(account, "c1", eur(1)))),
            ("unguarded", Action::DebitUnguarded(call(account, "c2", eur(1)))),
            ("capture", Action::Capture(call(account, "c3", eur(1)))),
            ("credit", Action::Credit(topup(account, "t1", eur(3)))),
        ] {
            let outcomes = all_at_once(db, std::iter::repeat_n(wanted, 50)).await;
            let fresh = outcomes.into_iter().filter(|outcome| matches!(outcome, Ok(Outcome::Posted(posted)) if !posted.already));
            assert_eq!(fresh.count(), 1, "{name}");
        }
        assert_eq!(amounts(db, account).await.0, eur(100));
        assert_eq!(verify(db).await.unwrap().transactions, 5);
    }

    async fn the_first_top_up_may_be_posted_fifty_times_concurrently(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(0)).await;
        let topups = (0..50).map(|number| Action::Credit(topup(account, &format!("t{}", number % 10), eur(1))));
        assert!(all_at_once(db, topups).await.iter().all(Result::is_ok));
        assert_eq!(amounts(db, account).await.0, eur(10));
        verify(db).await.unwrap();
    }

    async fn one_hold_placed_fifty_times_concurrently_holds_once(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(100)).await;
        let outcomes = all_at_once(db, std::iter::repeat_n(hold(account, "c1", eur(2)), 50)).await;
        let fresh = outcomes.into_iter().filter(|outcome| matches!(outcome, Ok(Outcome::Held(hold)) if !hold.already));
        assert_eq!(fresh.count(), 1);
        assert_eq!(amounts(db, account).await.1, eur(2));
        verify(db).await.unwrap();
    }

    async fn a_hold_ended_concurrently_ends_once(db) {
        let db = &wide(db).await;
        let account = customer_with(db, eur(100)).await;
        for number in 0..20 {
            run(db, hold(account, &format!("c{number}"), eur(2))).await.unwrap();
        }
        let later = NOW.plus(MINUTE * 10);
        let mut tasks = JoinSet::new();
        for number in 0..20 {
            let name = format!("c{number}");
            for wanted in [
                Action::Capture(call(account, &name, eur(1))), release(&name), Action::Expire, renew(&name, eur(3)),
                Action::Debit(call(account, &format!("d{number}"), eur(3))),
            ] {
                let db = db.clone();
                tasks.spawn(async move { run_at(&db, wanted, later).await });
            }
        }
        for outcome in tasks.join_all().await {
            assert!(matches!(outcome, Ok(_) | Err(LedgerError::NoHold { .. } | LedgerError::Insufficient { .. })), "{outcome:?}");
        }
        // Renewed holds have expired by now, too; after their end nothing is held.
        while let Outcome::Expired(1..) = run_at(db, Action::Expire, later).await.unwrap() {}
        assert_eq!(amounts(db, account).await.1, eur(0));
        verify(db).await.unwrap();
    }
}
