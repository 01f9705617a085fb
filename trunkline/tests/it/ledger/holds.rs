//! Holds: placed, renewed, captured, released, expired.

use platform::ledger::{self, HoldState, Kind, LedgerError, NewHold};
use values::{Currency, Role};

use crate::world::World;
use crate::world::engines::both;
use crate::world::fixtures::ledger::{
    Action, DAY, MINUTE, NOW, Outcome, amounts, call, customer_with, eur, hold, release, renew, run, run_at, topup,
    verify,
};

both! {
    async fn what_is_held_is_not_available(db) {
        let account = customer_with(db, eur(10)).await;
        let placed = run(db, hold(account, "c1", eur(6))).await.unwrap().held();
        assert_eq!((placed.amount, placed.state, placed.already), (eur(6), HoldState::Open, false));
        assert_eq!(amounts(db, account).await, (eur(10), eur(6), eur(4)));
        for refused in [hold(account, "c2", eur(5)), Action::Debit(call(account, "c3", eur(5)))] {
            let refused = run(db, refused).await.unwrap_err();
            assert_eq!(refused.to_string(), "5.00 EUR is required and 4.00 EUR is available");
        }
        run(db, Action::Debit(call(account, "c3", eur(4)))).await.unwrap();
        assert_eq!(verify(db).await.unwrap().open_holds, 1);
    }

    async fn a_hold_is_placed_once(db) {
        let (account, other) = (customer_with(db, eur(10)).await, customer_with(db, eur(10)).await);
        run(db, hold(account, "c1", eur(6))).await.unwrap();
        assert!(run(db, hold(account, "c1", eur(6))).await.unwrap().held().already);
        for wrong in [hold(account, "c1", eur(5)), hold(other, "c1", eur(6))] {
            assert!(matches!(run(db, wrong).await, Err(LedgerError::Conflict { .. })));
        }
        run(db, release("c1")).await.unwrap();
        let late = run(db, hold(account, "c1", eur(6))).await.unwrap().held();
        assert_eq!((late.already, late.state), (true, HoldState::Released));
        assert_eq!(amounts(db, account).await, (eur(10), eur(0), eur(10)));
        verify(db).await.unwrap();
    }

    async fn a_hold_grows_only_by_what_is_available_and_shrinks_always(db) {
        let account = customer_with(db, eur(10)).await;
        run(db, hold(account, "c1", eur(6))).await.unwrap();
        let refused = run(db, renew("c1", eur(11))).await.unwrap_err();
        assert_eq!(refused.to_string(), "5.00 EUR is required and 4.00 EUR is available");
        let grown = run(db, renew("c1", eur(10))).await.unwrap().held();
        assert_eq!((grown.amount, grown.expires_at), (eur(10), NOW.plus(MINUTE * 2)));
        // A repeat changes nothing.
        run(db, renew("c1", eur(10))).await.unwrap();
        run(db, Action::DebitUnguarded(call(account, "c2", eur(50)))).await.unwrap();
        run(db, renew("c1", eur(3))).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(-40), eur(3), eur(-43)));
        assert!(matches!(run(db, renew("unknown", eur(1))).await, Err(LedgerError::NoHold { .. })));
        verify(db).await.unwrap();
    }

    async fn a_capture_may_charge_less_or_more_than_the_hold(db) {
        let account = customer_with(db, eur(10)).await;
        run(db, hold(account, "c1", eur(5))).await.unwrap();
        run(db, hold(account, "c2", eur(5))).await.unwrap();
        let less = run(db, Action::Capture(call(account, "c1", eur(2)))).await.unwrap().posted();
        assert_eq!(less.balance_after, eur(8));
        assert_eq!(amounts(db, account).await, (eur(8), eur(5), eur(3)));
        run(db, Action::Capture(call(account, "c2", eur(20)))).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(-12), eur(0), eur(-12)));
        assert!(run(db, Action::Capture(call(account, "c2", eur(20)))).await.unwrap().posted().already);
        assert!(matches!(run(db, renew("c1", eur(1))).await, Err(LedgerError::NoHold { .. })));
        assert!(matches!(run(db, release("c1")).await, Ok(Outcome::Released(false))));
        verify(db).await.unwrap();
    }

    async fn a_capture_needs_no_hold_and_ends_one_that_was_charged(db) {
        let account = customer_with(db, eur(10)).await;
        run(db, Action::Capture(call(account, "c1", eur(2)))).await.unwrap();
        run(db, hold(account, "c2", eur(5))).await.unwrap();
        run(db, Action::DebitUnguarded(call(account, "c2", eur(5)))).await.unwrap();
        assert!(run(db, Action::Capture(call(account, "c2", eur(5)))).await.unwrap().posted().already);
        assert_eq!(amounts(db, account).await, (eur(3), eur(0), eur(3)));
        verify(db).await.unwrap();
    }

    async fn an_expired_hold_blocks_nothing_and_can_be_renewed(db) {
        let account = customer_with(db, eur(10)).await;
        let later = NOW.plus(MINUTE * 5);
        run(db, hold(account, "c1", eur(10))).await.unwrap();
        run(db, Action::Debit(call(account, "c2", eur(4)))).await.unwrap_err();
        run_at(db, Action::Debit(call(account, "c2", eur(4))), later).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(6), eur(0), eur(6)));
        let again = Action::Renew { reference: "c1".into(), amount: eur(6), until: later.plus(MINUTE) };
        assert_eq!(run_at(db, again, later).await.unwrap().held().state, HoldState::Open);
        assert_eq!(amounts(db, account).await, (eur(6), eur(6), eur(0)));
        // A hold that is being renewed does not give way to itself; another that expired does.
        run(db, Action::Credit(topup(account, "t2", eur(4)))).await.unwrap();
        run(db, hold(account, "c3", eur(4))).await.unwrap();
        let grow = Action::Renew { reference: "c1".into(), amount: eur(10), until: later.plus(DAY) };
        run_at(db, grow, later.plus(DAY)).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(10), eur(10), eur(0)));
        run_at(db, Action::Capture(call(account, "c3", eur(1))), later.plus(DAY)).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(9), eur(10), eur(-1)));
        verify(db).await.unwrap();
    }

    async fn ended_holds_are_purged_and_open_ones_are_kept(db) {
        let account = customer_with(db, eur(10)).await;
        run(db, hold(account, "c1", eur(1))).await.unwrap();
        run(db, hold(account, "c2", eur(1))).await.unwrap();
        run(db, release("c1")).await.unwrap();
        let forget = || db.tx((), |conn, ()| Box::pin(ledger::purge_holds(conn, NOW.plus(DAY), 100)));
        assert_eq!((forget().await.unwrap(), forget().await.unwrap()), (1, 0));
        assert_eq!(amounts(db, account).await.1, eur(1));
        verify(db).await.unwrap();
    }

    async fn a_schedule_expires_overdue_holds(db) {
        let world = World::unlimited(db).await;
        world.user("cora@customer.example", Role::Customer).await;
        let account = customer_with(db, eur(10)).await;
        let until = world.node.app.clock.now().plus(MINUTE);
        for (reference, until) in [("soon", until), ("later", until.plus(DAY))] {
            let new = (account, reference, until);
            let placed = db.tx(new, |conn, (account, reference, until)| Box::pin(async move {
                let new = NewHold { account: *account, kind: Kind::Call, reference, amount: eur(2), until: *until };
                conn.set_now(NOW);
                ledger::hold(conn, &new).await
            }));
            placed.await.unwrap();
        }
        world.advance(30).await;
        let held = async || ledger::balance(&mut db.read().await.unwrap(), account, Currency::EUR).await.unwrap().held;
        assert_eq!(held().await, eur(4));
        world.advance(120).await;
        assert_eq!(held().await, eur(2));
        world.end().await;
    }
}
