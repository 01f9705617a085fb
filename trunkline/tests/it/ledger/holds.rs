//! Money set aside: placed, renewed, captured, released, expired.

use platform::ledger::{self, HoldState, Kind, LedgerError, NewHold};
use values::{Currency, Role};

use super::{
    Act, DAY, Did, MINUTE, NOW, act, act_at, call, customer_with, eur, hold, release, renew, standing, topup, verify,
};
use crate::world::World;
use crate::world::engines::both;

both! {
    async fn what_is_held_is_not_available(db) {
        let account = customer_with(db, eur(10)).await;
        let placed = act(db, hold(account, "c1", eur(6))).await.unwrap().held();
        assert_eq!((placed.amount, placed.state, placed.already), (eur(6), HoldState::Open, false));
        assert_eq!(standing(db, account).await, (eur(10), eur(6), eur(4)));
        for refused in [hold(account, "c2", eur(5)), Act::Debit(call(account, "c3", eur(5)))] {
            let refused = act(db, refused).await.unwrap_err();
            assert_eq!(refused.to_string(), "5.00 EUR is required and 4.00 EUR is available");
        }
        act(db, Act::Debit(call(account, "c3", eur(4)))).await.unwrap();
        assert_eq!(verify(db).await.unwrap().open_holds, 1);
    }

    async fn a_hold_is_placed_once(db) {
        let (account, other) = (customer_with(db, eur(10)).await, customer_with(db, eur(10)).await);
        act(db, hold(account, "c1", eur(6))).await.unwrap();
        assert!(act(db, hold(account, "c1", eur(6))).await.unwrap().held().already);
        for wrong in [hold(account, "c1", eur(5)), hold(other, "c1", eur(6))] {
            assert!(matches!(act(db, wrong).await, Err(LedgerError::Conflict { .. })));
        }
        act(db, release("c1")).await.unwrap();
        let late = act(db, hold(account, "c1", eur(6))).await.unwrap().held();
        assert_eq!((late.already, late.state), (true, HoldState::Released));
        assert_eq!(standing(db, account).await, (eur(10), eur(0), eur(10)));
        verify(db).await.unwrap();
    }

    async fn a_hold_grows_only_by_what_is_available_and_shrinks_always(db) {
        let account = customer_with(db, eur(10)).await;
        act(db, hold(account, "c1", eur(6))).await.unwrap();
        let refused = act(db, renew("c1", eur(11))).await.unwrap_err();
        assert_eq!(refused.to_string(), "5.00 EUR is required and 4.00 EUR is available");
        let grown = act(db, renew("c1", eur(10))).await.unwrap().held();
        assert_eq!((grown.amount, grown.expires_at), (eur(10), NOW.plus(MINUTE * 2)));
        // Said twice it is still the same.
        act(db, renew("c1", eur(10))).await.unwrap();
        act(db, Act::DebitUnguarded(call(account, "c2", eur(50)))).await.unwrap();
        act(db, renew("c1", eur(3))).await.unwrap();
        assert_eq!(standing(db, account).await, (eur(-40), eur(3), eur(-43)));
        assert!(matches!(act(db, renew("unknown", eur(1))).await, Err(LedgerError::NoHold { .. })));
        verify(db).await.unwrap();
    }

    async fn a_capture_charges_less_or_more_than_was_held(db) {
        let account = customer_with(db, eur(10)).await;
        act(db, hold(account, "c1", eur(5))).await.unwrap();
        act(db, hold(account, "c2", eur(5))).await.unwrap();
        let less = act(db, Act::Capture(call(account, "c1", eur(2)))).await.unwrap().posted();
        assert_eq!(less.balance_after, eur(8));
        assert_eq!(standing(db, account).await, (eur(8), eur(5), eur(3)));
        act(db, Act::Capture(call(account, "c2", eur(20)))).await.unwrap();
        assert_eq!(standing(db, account).await, (eur(-12), eur(0), eur(-12)));
        assert!(act(db, Act::Capture(call(account, "c2", eur(20)))).await.unwrap().posted().already);
        assert!(matches!(act(db, renew("c1", eur(1))).await, Err(LedgerError::NoHold { .. })));
        assert!(matches!(act(db, release("c1")).await, Ok(Did::Released(false))));
        verify(db).await.unwrap();
    }

    async fn a_capture_needs_no_hold_and_ends_one_that_was_forgotten(db) {
        let account = customer_with(db, eur(10)).await;
        act(db, Act::Capture(call(account, "c1", eur(2)))).await.unwrap();
        act(db, hold(account, "c2", eur(5))).await.unwrap();
        act(db, Act::DebitUnguarded(call(account, "c2", eur(5)))).await.unwrap();
        assert!(act(db, Act::Capture(call(account, "c2", eur(5)))).await.unwrap().posted().already);
        assert_eq!(standing(db, account).await, (eur(3), eur(0), eur(3)));
        verify(db).await.unwrap();
    }

    async fn an_expired_hold_stands_in_nobodys_way_and_can_be_taken_up_again(db) {
        let account = customer_with(db, eur(10)).await;
        let later = NOW.plus(MINUTE * 5);
        act(db, hold(account, "c1", eur(10))).await.unwrap();
        act(db, Act::Debit(call(account, "c2", eur(4)))).await.unwrap_err();
        act_at(db, Act::Debit(call(account, "c2", eur(4))), later).await.unwrap();
        assert_eq!(standing(db, account).await, (eur(6), eur(0), eur(6)));
        let again = Act::Renew { reference: "c1".into(), amount: eur(6), until: later.plus(MINUTE) };
        assert_eq!(act_at(db, again, later).await.unwrap().held().state, HoldState::Open);
        assert_eq!(standing(db, account).await, (eur(6), eur(6), eur(0)));
        // A hold that is being renewed does not give way to itself; another that expired does.
        act(db, Act::Credit(topup(account, "t2", eur(4)))).await.unwrap();
        act(db, hold(account, "c3", eur(4))).await.unwrap();
        let grow = Act::Renew { reference: "c1".into(), amount: eur(10), until: later.plus(DAY) };
        act_at(db, grow, later.plus(DAY)).await.unwrap();
        assert_eq!(standing(db, account).await, (eur(10), eur(10), eur(0)));
        act_at(db, Act::Capture(call(account, "c3", eur(1))), later.plus(DAY)).await.unwrap();
        assert_eq!(standing(db, account).await, (eur(9), eur(10), eur(-1)));
        verify(db).await.unwrap();
    }

    async fn ended_holds_are_forgotten_and_open_ones_are_not(db) {
        let account = customer_with(db, eur(10)).await;
        act(db, hold(account, "c1", eur(1))).await.unwrap();
        act(db, hold(account, "c2", eur(1))).await.unwrap();
        act(db, release("c1")).await.unwrap();
        let forget = || db.tx((), |conn, ()| Box::pin(ledger::purge_holds(conn, NOW.plus(DAY), 100)));
        assert_eq!((forget().await.unwrap(), forget().await.unwrap()), (1, 0));
        assert_eq!(standing(db, account).await.1, eur(1));
        verify(db).await.unwrap();
    }

    async fn the_calendar_ends_holds_whose_time_is_over(db) {
        let world = World::unlimited(db).await;
        world.user("cora@customer.example", Role::Customer).await;
        let account = customer_with(db, eur(10)).await;
        let until = world.node.app.clock.now().plus(MINUTE);
        for (reference, until) in [("soon", until), ("later", until.plus(DAY))] {
            let new = (account, reference, until);
            let placed = db.tx(new, |conn, (account, reference, until)| Box::pin(async move {
                let new = NewHold { account: *account, kind: Kind::Call, reference, amount: eur(2), until: *until };
                ledger::hold(conn, &new, NOW).await
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
