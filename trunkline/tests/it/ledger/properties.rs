//! Property tests: the ledger adds up after random steps.
//!
//! Sequential steps are compared with a small model. Concurrent steps have no known order, so only the invariants are
//! checked.

use std::collections::BTreeMap;

use db::Db;
use platform::ledger::{HoldState, LedgerError};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::task::JoinSet;
use values::{AccountId, Time};

use crate::world::engines::both;
use crate::world::fixtures::ledger::{
    Action, MINUTE, NOW, Outcome, amounts, call, customer_with, eur, run_at, topup, verify,
};

const CASES: u32 = 24;

/// A step: what to do, with which of a few names, how much, and how many minutes after the step before.
type Step = (u8, u8, i64, u32);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0u8..8, 0u8..6, 1i64..40, 0u32..2), 1..40)
}

fn act_of(account: AccountId, (what, name, amount, _): Step, now: Time) -> Action {
    // Names of different cases must not meet in one database.
    let reference = format!("{account} {name}");
    let until = now.plus(MINUTE);
    match what {
        0 => Action::Credit(topup(account, &reference, eur(amount))),
        1 => Action::Debit(call(account, &reference, eur(amount))),
        2 => Action::DebitUnguarded(call(account, &reference, eur(amount))),
        3 => Action::Hold { account, reference, amount: eur(amount), until },
        4 => Action::Renew { reference, amount: eur(amount), until },
        5 => Action::Capture(call(account, &reference, eur(amount))),
        6 => Action::Release { reference },
        _ => Action::Expire,
    }
}

/// The ledger of one customer, in whole euros.
#[derive(Default)]
struct Model {
    balance: i64,
    topups: BTreeMap<u8, i64>,
    calls: BTreeMap<u8, i64>,
    /// Placed with, held now, until when, and whether it is open.
    holds: BTreeMap<u8, (i64, i64, Time, HoldState)>,
}

impl Model {
    fn held(&self) -> i64 {
        self.holds.values().filter(|hold| hold.3 == HoldState::Open).map(|hold| hold.1).sum()
    }

    fn expire(&mut self, now: Time, spared: Option<u8>) {
        for (name, hold) in &mut self.holds {
            if hold.3 == HoldState::Open && hold.2 <= now && Some(*name) != spared {
                hold.3 = HoldState::Expired;
            }
        }
    }

    /// Whether so much is available, if need be after ending what has expired.
    fn affords(&mut self, amount: i64, now: Time, spared: Option<u8>) -> bool {
        if amount > 0 && self.balance - self.held() < amount {
            self.expire(now, spared);
        }
        amount <= 0 || self.balance - self.held() >= amount
    }

    /// A step that is refused is undone with its transaction, and with it the end of what had expired.
    fn whole_step(&mut self, step: Step, now: Time) -> &'static str {
        let before = self.holds.clone();
        let outcome = self.step(step, now);
        if outcome == "refused" {
            self.holds = before;
        }
        outcome
    }

    /// What the ledger must say: done, done already, or refused.
    fn step(&mut self, (what, name, amount, _): Step, now: Time) -> &'static str {
        let until = now.plus(MINUTE);
        match what {
            0 => self.post(name, amount, false),
            1 if !self.calls.contains_key(&name) && !self.affords(amount, now, None) => "refused",
            1 | 2 => self.post(name, amount, true),
            3 => match self.holds.get(&name).copied() {
                Some(hold) if hold.0 == amount => "already",
                Some(_) => "conflict",
                None if !self.affords(amount, now, None) => "refused",
                None => {
                    self.holds.insert(name, (amount, amount, until, HoldState::Open));
                    "done"
                }
            },
            4 => match self.holds.get(&name).copied() {
                Some((placed, held, _, state @ (HoldState::Open | HoldState::Expired))) => {
                    let more = amount - if state == HoldState::Open { held } else { 0 };
                    if !self.affords(more, now, Some(name)) {
                        return "refused";
                    }
                    self.holds.insert(name, (placed, amount, until, HoldState::Open));
                    "done"
                }
                _ => "no hold",
            },
            5 => {
                let outcome = self.post(name, amount, true);
                if outcome != "conflict" {
                    self.end(name, HoldState::Captured);
                }
                outcome
            }
            6 => {
                self.end(name, HoldState::Released);
                "done"
            }
            _ => {
                self.expire(now, None);
                "done"
            }
        }
    }

    fn post(&mut self, name: u8, amount: i64, is_charge: bool) -> &'static str {
        let posted = if is_charge { &mut self.calls } else { &mut self.topups };
        match posted.get(&name) {
            Some(before) if *before == amount => "already",
            Some(_) => "conflict",
            None => {
                posted.insert(name, amount);
                self.balance += if is_charge { -amount } else { amount };
                "done"
            }
        }
    }

    fn end(&mut self, name: u8, state: HoldState) {
        if let Some(hold) = self.holds.get_mut(&name).filter(|hold| hold.3 == HoldState::Open) {
            hold.3 = state;
        }
    }
}

fn word(outcome: &Result<Outcome, LedgerError>) -> &'static str {
    match outcome {
        Ok(Outcome::Posted(posted)) if posted.already => "already",
        Ok(Outcome::Held(hold)) if hold.already => "already",
        Ok(_) => "done",
        Err(LedgerError::Insufficient { .. }) => "refused",
        Err(LedgerError::Conflict { .. }) => "conflict",
        Err(LedgerError::NoHold { .. }) => "no hold",
        Err(other) => panic!("{other}"),
    }
}

/// Runs the test for many plans, on a customer of its own each time.
fn for_any_steps(db: &Db, test: impl AsyncFn(&Db, AccountId, Vec<Step>)) {
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let run = || {
        runner.run(&steps(), |steps| {
            runtime.block_on(async {
                let account = customer_with(db, eur(0)).await;
                test(db, account, steps).await;
            });
            Ok(())
        })
    };
    tokio::task::block_in_place(run).unwrap();
}

both! {
    async fn sequential_steps_match_the_model(db) {
        for_any_steps(db, async |db, account, steps| {
            let (mut model, mut now) = (Model::default(), NOW);
            for step in steps {
                now = now.plus(MINUTE * step.3);
                let expected = model.whole_step(step, now);
                let outcome = run_at(db, act_of(account, step, now), now).await;
                assert_eq!(word(&outcome), expected, "{step:?}: {outcome:?}");
                let (current, held, _) = amounts(db, account).await;
                assert_eq!((current, held), (eur(model.balance), eur(model.held())), "{step:?}");
                if step.0 == 1 && expected == "done" {
                    assert!(model.balance >= model.held(), "a guarded debit took what was not available");
                }
            }
            verify(db).await.unwrap();
        });
    }

    async fn concurrent_steps_still_add_up(db) {
        for_any_steps(db, async |db, account, steps| {
            let mut tasks = JoinSet::new();
            for step in steps {
                let db = db.clone();
                tasks.spawn(async move { word(&run_at(&db, act_of(account, step, NOW), NOW).await) });
            }
            tasks.join_all().await;
            verify(db).await.unwrap();
        });
    }

    async fn concurrent_guarded_steps_never_overspend(db) {
        for_any_steps(db, async |db, account, steps| {
            run_at(db, Action::Credit(topup(account, &format!("{account} funds"), eur(60))), NOW).await.unwrap();
            let mut tasks = JoinSet::new();
            // Debits, holds, renewals and releases; nothing that may go below zero.
            for (what, name, amount, later) in steps {
                let step = ([1, 3, 4, 6][usize::from(what) % 4], name, amount, later);
                let db = db.clone();
                tasks.spawn(async move { word(&run_at(&db, act_of(account, step, NOW), NOW).await) });
            }
            tasks.join_all().await;
            let (_, _, available) = amounts(db, account).await;
            assert!(!available.is_negative(), "{available} is left");
            verify(db).await.unwrap();
        });
    }
}
