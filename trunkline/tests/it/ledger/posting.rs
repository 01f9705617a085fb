//! Charges, credits, and reading them.

use db::{Db, DbError};
use platform::ledger::{self, Book, Entry, Kind, LedgerError, Line, Sum};
use values::{AccountId, Currency, Money, Time};

use crate::world::engines::both;
use crate::world::fixtures::ledger::{
    Action, DAY, NOW, amounts, balance, call, customer_with, eur, run, run_at, topup, verify,
};

const MOST: i64 = 2_000_000_000;

both! {
    async fn a_top_up_and_a_charge_add_up_to_the_balance(db) {
        let account = customer_with(db, eur(0)).await;
        let paid = run(db, Action::Credit(topup(account, "t1", eur(100)))).await.unwrap().posted();
        assert_eq!((paid.number, paid.amount, paid.balance_after), (1, eur(100), eur(100)));
        assert_eq!(balance(db, account).await.last_debit_at, None);
        let charged = run(db, Action::Debit(call(account, "c1", eur(30)))).await.unwrap().posted();
        assert_eq!((charged.number, charged.amount, charged.balance_after), (2, eur(-30), eur(70)));
        assert_eq!(amounts(db, account).await, (eur(70), eur(0), eur(70)));
        assert_eq!(balance(db, account).await.last_debit_at, Some(NOW));
        let verified = verify(db).await.unwrap();
        assert_eq!((verified.customers, verified.transactions, verified.postings), (1, 2, 4));
    }

    async fn a_debit_over_the_available_amount_leaves_the_transaction_usable(db) {
        let account = customer_with(db, eur(10)).await;
        let wanted = db.tx((call(account, "c1", eur(11)), call(account, "c2", eur(10))), |conn, (dear, cheap)| {
            Box::pin(async move {
                let refused = ledger::debit(conn, dear).await;
                ledger::debit(conn, cheap).await?;
                Ok::<_, LedgerError>(refused.unwrap_err().to_string())
            })
        });
        assert_eq!(wanted.await.unwrap(), "11.00 EUR is required and 10.00 EUR is available");
        assert_eq!(amounts(db, account).await.0, eur(0));
        let refused = run(db, Action::Debit(call(customer_with(db, eur(0)).await, "c3", eur(1)))).await.unwrap_err();
        assert!(matches!(refused, LedgerError::Insufficient { available, .. } if available.is_zero()), "{refused}");
        verify(db).await.unwrap();
    }

    async fn debits_that_are_posted_together_are_judged_one_by_one(db) {
        let (rich, poor) = (customer_with(db, eur(10)).await, customer_with(db, eur(1)).await);
        run(db, Action::Debit(call(poor, "known", eur(1)))).await.unwrap();
        let order = [(Book::NumberSetup, eur(2)), (Book::NumberRental, eur(1))];
        let order = Entry::charge(rich, Kind::NumberOrder, "o1", &order).unwrap();
        let entries = vec![
            call(rich, "c1", eur(6)), call(poor, "c2", eur(1)), call(rich, "c3", eur(5)), order.clone(),
            call(poor, "known", eur(1)), call(rich, "c1", eur(6)), call(rich, "c2", eur(1)), call(rich, "c4", eur(1)),
        ];
        let posted = db.tx(entries, |conn, entries| Box::pin(ledger::debit_each(conn, entries))).await.unwrap();
        let seen: Vec<String> = posted
            .into_iter()
            .map(|outcome| match outcome {
                Ok(posted) => format!("{} {} {}", posted.number, posted.balance_after, posted.already),
                Err(error) => error.to_string(),
            })
            .collect();
        assert_eq!(seen, [
            "2 4.00 EUR false", "1.00 EUR is required and 0.00 EUR is available",
            "5.00 EUR is required and 0.00 EUR is available", "3 1.00 EUR false", "2 0.00 EUR true", "2 4.00 EUR true",
            "1.00 EUR is required and 0.00 EUR is available", "4 0.00 EUR false",
        ]);
        assert_eq!(run(db, Action::Debit(order)).await.unwrap().posted().number, 3);
        assert_eq!((amounts(db, rich).await.0, amounts(db, poor).await.0), (eur(0), eur(0)));
        assert_eq!(verify(db).await.unwrap().postings, 13);
    }

    async fn a_transaction_is_never_before_the_one_with_the_number_before(db) {
        let account = customer_with(db, eur(10)).await;
        let seconds = |seconds: u64| NOW.plus(std::time::Duration::from_secs(seconds));
        let ahead = run_at(db, Action::Debit(call(account, "c1", eur(1))), seconds(30)).await.unwrap().posted();
        let behind = run_at(db, Action::Debit(call(account, "c2", eur(1))), seconds(10)).await.unwrap().posted();
        assert_eq!((ahead.at, behind.at), (seconds(30), seconds(30)));
        let later = run_at(db, Action::Debit(call(account, "c3", eur(1))), seconds(31)).await.unwrap().posted();
        assert_eq!(later.at, seconds(31));
        // A clock that was wrong by a day does not date the next transactions.
        run_at(db, Action::Debit(call(account, "c4", eur(1))), NOW.plus(DAY)).await.unwrap();
        let now = run_at(db, Action::Debit(call(account, "c5", eur(1))), seconds(32)).await.unwrap().posted();
        assert_eq!((now.at, now.number), (seconds(32), 6));
        verify(db).await.unwrap();
    }

    async fn a_transaction_far_ahead_of_the_clock_is_no_gap_in_a_long_book(db) {
        let account = customer_with(db, eur(10)).await;
        run_at(db, Action::Debit(call(account, "ahead", eur(1))), NOW.plus(DAY)).await.unwrap();
        // More than verification reads at once.
        for group in 0..11 {
            let entries: Vec<Entry> =
                (0..500).map(|number| call(account, &format!("{group}-{number}"), Money::from_nanos(1, Currency::EUR))).collect();
            let posted = db.tx(entries, |conn, entries| Box::pin(async move {
                conn.set_now(NOW);
                ledger::debit_each(conn, entries).await
            }));
            assert!(posted.await.unwrap().iter().all(Result::is_ok));
        }
        assert_eq!(verify(db).await.unwrap().transactions, 5502);
    }

    async fn usage_is_charged_whatever_the_balance(db) {
        let account = customer_with(db, eur(0)).await;
        let posted = run(db, Action::DebitUnguarded(call(account, "c1", eur(5)))).await.unwrap().posted();
        assert_eq!(posted.balance_after, eur(-5));
        verify(db).await.unwrap();
    }

    async fn a_minimum_cannot_be_spent_and_a_negative_one_is_a_credit_line(db) {
        let account = customer_with(db, eur(10)).await;
        run(db, Action::SetMinimum { account, minimum: eur(4) }).await.unwrap();
        assert!(matches!(
            run(db, Action::Debit(call(account, "c1", eur(7)))).await,
            Err(LedgerError::Insufficient { required, available }) if (required, available) == (eur(7), eur(6))
        ));
        run(db, Action::Debit(call(account, "c1", eur(6)))).await.unwrap();
        run(db, Action::SetMinimum { account, minimum: eur(-20) }).await.unwrap();
        run(db, Action::Debit(call(account, "c2", eur(24)))).await.unwrap();
        assert_eq!(amounts(db, account).await, (eur(-20), eur(0), eur(0)));
    }

    async fn a_repeated_transaction_is_posted_once_and_reported_as_known(db) {
        let account = customer_with(db, eur(10)).await;
        let first = run(db, Action::Debit(call(account, "c1", eur(10)))).await.unwrap().posted();
        for again in [Action::Debit(call(account, "c1", eur(10))), Action::DebitUnguarded(call(account, "c1", eur(10)))] {
            let again = run_at(db, again, NOW.plus(DAY)).await.unwrap().posted();
            assert!(again.already && !first.already);
            assert_eq!((again.id, again.number, again.balance_after, again.at), (first.id, 2, eur(0), NOW));
        }
        // The same reference names another event under another kind.
        run(db, Action::Credit(topup(account, "c1", eur(1)))).await.unwrap();
        assert_eq!(amounts(db, account).await.0, eur(1));
        assert_eq!(verify(db).await.unwrap().transactions, 3);
    }

    async fn other_content_under_a_known_reference_is_a_conflict(db) {
        let (account, other) = (customer_with(db, eur(10)).await, customer_with(db, eur(10)).await);
        run(db, Action::Debit(call(account, "c1", eur(1)))).await.unwrap();
        let dollars = Money::from_minor(100, "USD".parse().unwrap()).unwrap();
        let elsewhere = Entry::charge(account, Kind::Call, "c1", &[(Book::NumberRental, eur(1))]).unwrap();
        for entry in [call(account, "c1", eur(2)), call(other, "c1", eur(1)), call(account, "c1", dollars), elsewhere] {
            for attempt in [Action::Debit(entry.clone()), Action::DebitUnguarded(entry.clone()), Action::Capture(entry.clone())] {
                let refused = run(db, attempt).await.unwrap_err();
                assert!(matches!(refused, LedgerError::Conflict { .. }), "{entry:?}: {refused}");
            }
        }
        assert_eq!((amounts(db, account).await.0, amounts(db, other).await.0), (eur(9), eur(10)));
        verify(db).await.unwrap();
    }

    async fn a_charge_cannot_be_posted_as_a_credit_or_vice_versa(db) {
        let account = customer_with(db, eur(10)).await;
        let (charge, credit) = (call(account, "c1", eur(1)), topup(account, "t1", eur(1)));
        let wrong = [
            Action::Credit(charge), Action::Debit(credit.clone()), Action::DebitUnguarded(credit.clone()), Action::Capture(credit),
        ];
        for wrong in wrong {
            assert!(matches!(run(db, wrong).await, Err(LedgerError::Invalid(_))));
        }
    }

    async fn no_book_holds_more_than_two_billion(db) {
        let account = customer_with(db, eur(0)).await;
        assert!(Entry::credit(account, Kind::Topup, "t", &[(Book::Clearing, eur(MOST + 1))]).is_err());
        run(db, Action::Credit(topup(account, "t1", eur(MOST)))).await.unwrap();
        assert!(matches!(run(db, Action::Credit(topup(account, "t2", eur(1)))).await, Err(LedgerError::TooLarge)));
        assert!(matches!(run(db, Action::Credit(topup(account, "t2", eur(MOST)))).await, Err(LedgerError::TooLarge)));
        for (number, reference) in ["c1", "c2", "c3"].into_iter().enumerate() {
            let charged = run_at(db, Action::DebitUnguarded(call(account, reference, eur(MOST))), NOW.plus(DAY * number as u32));
            assert_eq!(charged.await.is_ok(), number < 2, "{reference}");
        }
        assert_eq!(amounts(db, account).await.0, eur(-MOST));
        let wild = Action::SetMinimum { account, minimum: Money::from_nanos(i64::MAX, Currency::EUR) };
        assert!(matches!(run(db, wild).await, Err(LedgerError::TooLarge)));
        verify(db).await.unwrap();
    }

    async fn an_account_that_does_not_exist_has_no_book(db) {
        let nobody = AccountId::new(crate::world::engines::uuid());
        let refused = run(db, Action::Credit(topup(nobody, "t1", eur(1)))).await;
        assert!(matches!(refused, Err(LedgerError::Db(DbError::ForeignKey))));
    }

    async fn postings_are_paged_newest_first(db) {
        let account = customer_with(db, eur(100)).await;
        for number in 1..=4 {
            let entry = call(account, &format!("c{number}"), eur(number)).with_note("A call");
            run(db, Action::Debit(entry)).await.unwrap();
        }
        run(db, Action::Credit(topup(customer_with(db, eur(7)).await, "of another", eur(7)))).await.unwrap();
        let first = lines(db, account, None).await;
        let shown: Vec<_> = first.iter().map(|line| (line.number, line.reference.as_str(), line.amount)).collect();
        assert_eq!(shown, [(5, "c4", eur(-4)), (4, "c3", eur(-3)), (3, "c2", eur(-2))]);
        assert_eq!((first[0].balance_after, first[0].note.as_deref(), first[0].at), (eur(90), Some("A call"), NOW));
        run(db, Action::Debit(call(account, "meanwhile", eur(1)))).await.unwrap();
        let second = lines(db, account, Some(&first[2])).await;
        let shown: Vec<_> = second.iter().map(|line| (line.number, line.kind, line.balance_after)).collect();
        assert_eq!(shown, [(2, Kind::Call, eur(99)), (1, Kind::Topup, eur(100))]);
        let found = ledger::find(&mut db.read().await.unwrap(), Kind::Call, "c4").await.unwrap();
        assert_eq!(found.as_ref(), first.first());
    }

    async fn days_are_totalled_by_kind_and_book(db) {
        let account = customer_with(db, eur(1000)).await;
        let order = [(Book::NumberSetup, eur(5)), (Book::NumberRental, eur(2))];
        let ordered = Entry::charge(account, Kind::NumberOrder, "n1", &order).unwrap();
        let vat = Entry::charge(account, Kind::InvoiceVat, "i1", &[(Book::Vat, eur(3))]).unwrap();
        let refund = [(Book::Refunds, eur(7))];
        let refunded = Entry::credit(account, Kind::NumberRefund, "n1", &refund).unwrap();
        for (days, act) in [
            (0, Action::Debit(ordered)), (0, Action::Debit(vat)), (1, Action::Debit(call(account, "c1", eur(10)))),
            (1, Action::Debit(call(account, "c2", eur(20)))), (29, Action::Credit(refunded)), (30, Action::Debit(call(account, "c3", eur(40)))),
        ] {
            run_at(db, act, NOW.plus(DAY * days)).await.unwrap();
        }
        let mut reader = db.read().await.unwrap();
        let (conn, currency) = (&mut *reader, Currency::EUR);
        let sums = ledger::sums(conn, account, currency, NOW.plus(DAY), NOW.plus(DAY * 2)).await.unwrap();
        let sum = |kind, book, amount, entries| Sum { kind, book, amount, entries };
        assert_eq!(sums, [sum(Kind::Call, Book::Calls, eur(30), 2)]);
        // Setup, rental and calls, without the VAT; then without the first day and with the refund.
        conn.set_now(NOW.plus(DAY * 2));
        assert_eq!(ledger::spend(conn, account, currency, 30).await.unwrap(), eur(37));
        conn.set_now(NOW.plus(DAY * 30));
        assert_eq!(ledger::spend(conn, account, currency, 30).await.unwrap(), eur(63));
        let ever = (Time::EPOCH, NOW.plus(DAY * 99));
        for (book, total) in [(Book::Calls, 70), (Book::NumberSetup, 5), (Book::Vat, 3), (Book::Clearing, -1000), (Book::Refunds, -7)] {
            assert_eq!(ledger::book_total(conn, book, currency, ever.0, ever.1).await.unwrap(), eur(total), "{book}");
        }
        drop(reader);
        verify(db).await.unwrap();
    }

    async fn postings_can_be_neither_changed_nor_deleted(db) {
        let order = [(Book::NumberSetup, eur(1)), (Book::NumberRental, eur(2))];
        let order = Entry::charge(customer_with(db, eur(3)).await, Kind::NumberOrder, "o1", &order).unwrap();
        run(db, Action::Debit(order)).await.unwrap();
        for sql in [
            "UPDATE ledger_transactions SET reference = 'x'", "DELETE FROM ledger_transactions",
            "UPDATE ledger_splits SET amount = amount + 1", "DELETE FROM ledger_splits",
        ] {
            let refused = write(db, sql).await.unwrap_err().to_string();
            assert!(refused.contains("append-only"), "{sql}: {refused}");
        }
        verify(db).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_takes_no_split_of_a_committed_transaction() {
    crate::world::engines::TestDb::postgres()
        .await
        .run(async |db| {
            customer_with(db, eur(1)).await;
            let sql = "INSERT INTO ledger_splits SELECT id, 'calls', 1 FROM ledger_transactions";
            let refused = write(db, sql).await.unwrap_err();
            assert!(matches!(&refused, DbError::Check(name) if name == "ledger_is_closed"), "{refused}");
            verify(db).await.unwrap();
        })
        .await;
}

async fn write(db: &Db, sql: &'static str) -> Result<u64, DbError> {
    db.tx(sql, |conn, sql| Box::pin(conn.exec(sql, &[]))).await
}

async fn lines(db: &Db, account: AccountId, after: Option<&Line>) -> Vec<Line> {
    let before = after.map_or((NOW.plus(DAY), 0), |line| (line.at, line.number));
    let book = (account, Currency::EUR);
    ledger::lines(&mut db.read().await.unwrap(), book, None, Time::EPOCH, before, 3).await.unwrap()
}
