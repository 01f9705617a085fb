//! Invoices over HTTP, with use put straight into the ledger.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod documents;
mod issuing;
mod killed;
mod number_refunds;
mod taking_back;
mod year;

use billing::invoices::{self, InvoiceId, IssueRequest, Month};
use db::params;
use platform::ledger::{self, Book, Entry, Kind, LedgerError, Posted};
use serde_json::Value;
use values::{AccountId, Currency, Money, Role, Time};

use crate::coverage::examples::fresh_email;
use crate::world::World;
use crate::world::client::{Client, Session};
use crate::world::engines::uuid;
use crate::world::people;

const HOUR: u64 = 3600;

fn eur(nanos: i64) -> Money {
    Money::from_nanos(nanos, Currency::EUR)
}

fn euros(units: i64) -> Money {
    eur(units * 1_000_000_000)
}

/// Posts as a feature would, at a moment of the test's choosing.
async fn post(world: &World, entry: Entry, at: Time) -> Posted {
    let app = &world.node.app;
    let posted = app.db.tx((entry, app.entropy, at), |conn, (entry, entropy, at)| {
        Box::pin(async move {
            if entry.amount().is_negative() {
                ledger::debit_unguarded(conn, *entropy, entry, *at).await
            } else {
                ledger::credit(conn, *entropy, entry, *at).await
            }
        })
    });
    posted.await.map_err(|error: LedgerError| error.to_string()).unwrap()
}

fn call(account: AccountId, amount: Money) -> Entry {
    Entry::charge(account, Kind::Call, uuid().to_string(), &[(Book::Calls, amount)]).unwrap()
}

fn topup(account: AccountId, amount: Money) -> Entry {
    Entry::credit(account, Kind::Topup, uuid().to_string(), &[(Book::Clearing, amount)]).unwrap()
}

fn now(world: &World) -> Time {
    world.node.app.clock.now()
}

/// Some moment of the month before this one.
fn last_month(world: &World) -> Time {
    Time::from_millis(Month::of(now(world)).start().millis() - 5 * 24 * 3600 * 1000)
}

/// Moves the time to the third hour of the next month, when the one before has been invoiced.
async fn next_month(world: &World) {
    let target = Month::of(now(world)).end().seconds() + 3 * 3600;
    world.advance((target - world.seconds()).unsigned_abs()).await;
}

/// A customer's account, without anyone who could sign in.
async fn account(world: &World) -> AccountId {
    let moment = now(world);
    let made =
        world.node.app.db.tx(moment, |conn, moment| {
            Box::pin(async move { people::live_account(conn, &fresh_email(), *moment).await })
        });
    made.await.unwrap()
}

fn account_of(session: &Session) -> AccountId {
    session.account_id.parse().unwrap()
}

/// Issues an account's invoice for the last month at once.
async fn issue(world: &World, account: AccountId) -> Option<InvoiceId> {
    let month = Month::of(last_month(world));
    let order = IssueRequest { app: world.node.app.clone(), account, currency: Currency::EUR, month, now: now(world) };
    invoices::issue(order).await.unwrap()
}

/// A signed-in customer with an invoice of 100 and its VAT for last month; the balance covers it or does not.
pub async fn invoiced(world: &World, covered: bool) -> (Client, InvoiceId) {
    let customer = world.minted(Role::Customer).await;
    let shown = customer.get("/account").await.ok();
    let account: AccountId = shown["id"].as_str().unwrap().parse().unwrap();
    let at = last_month(world);
    if covered {
        post(world, topup(account, euros(1000)), at).await;
    }
    post(world, call(account, euros(100)), at).await;
    let invoice = issue(world, account).await.unwrap();
    world.settle().await;
    (customer, invoice)
}

async fn balance(world: &World, account: AccountId) -> Money {
    let mut reader = world.node.app.db.read().await.unwrap();
    ledger::balance(&mut reader, account, Currency::EUR).await.unwrap().current
}

/// The owner of an invoice.
/// Why the team should speak to the customer about money.
async fn reasons(world: &World, account: AccountId) -> Vec<String> {
    let admin = world.minted(Role::Admin).await;
    let listed = admin.get("/admin/dunning").await.ok();
    let found = listed["data"].as_array().unwrap().iter().find(|one| one["id"] == account.uuid().to_string());
    let reasons = found.map(|one| one["reasons"].as_array().unwrap().clone()).unwrap_or_default();
    reasons.iter().map(|one| one["reason"].as_str().unwrap().to_owned()).collect()
}

async fn owner(world: &World, invoice: InvoiceId) -> AccountId {
    let mut reader = world.node.app.db.read().await.unwrap();
    reader.one::<(AccountId,)>("SELECT account_id FROM invoices WHERE id = $1", params![invoice]).await.unwrap().0
}

/// Every invoice number of a kind, in order.
async fn numbers(world: &World, sql: &'static str) -> Vec<String> {
    let rows: Vec<(String,)> = world.node.app.db.read().await.unwrap().all(sql, &[]).await.unwrap();
    rows.into_iter().map(|(number,)| number).collect()
}

const INVOICE_NUMBERS: &str = "SELECT number FROM invoices ORDER BY number";

/// Whether these are all numbers from 1 on, in each year.
#[track_caller]
fn assert_gapless(numbers: &[String]) {
    let mut expected = Vec::new();
    for year in 2000..2100 {
        let count = numbers.iter().filter(|number| number.starts_with(&year.to_string())).count();
        expected.extend((1..=count).map(|number| format!("{year}-{number:06}")));
    }
    assert_eq!(numbers, expected);
}

/// The exact amount of a money object.
fn exact(money: &Value) -> Money {
    Money::from_decimal_str(money["amount"].as_str().unwrap(), money["currency"].as_str().unwrap().parse().unwrap())
        .unwrap()
}
