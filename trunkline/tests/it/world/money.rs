//! Top-ups and usage posted straight to the ledger.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Money};

use super::World;
use super::engines::uuid;

impl World {
    /// Posts a top-up of this many cents and runs the jobs that follow.
    pub async fn top_up(&self, account: &str, cents: i64) {
        let from = [(Book::Clearing, euros(cents))];
        let entry = Entry::credit(id(account), Kind::Topup, uuid().to_string(), &from).unwrap();
        let posted = self
            .node
            .app
            .db
            .tx(entry, |conn, entry| Box::pin(async move { ledger::credit(conn, entry).await.map(drop) }));
        posted.await.unwrap();
        self.settle().await;
    }

    /// Posts a call charge of this many cents, whatever the balance, and runs the jobs that follow.
    pub async fn use_up(&self, account: &str, cents: i64) {
        let to = [(Book::Calls, euros(cents))];
        let entry = Entry::charge(id(account), Kind::Call, uuid().to_string(), &to).unwrap();
        let posted = self.node.app.db.tx(entry, |conn, entry| {
            Box::pin(async move {
                ledger::debit_unguarded(conn, entry).await?;
                Ok::<_, LedgerError>(())
            })
        });
        posted.await.unwrap();
        self.settle().await;
    }
}

fn euros(cents: i64) -> Money {
    Money::from_minor(cents, Currency::EUR).unwrap()
}

fn id(account: &str) -> AccountId {
    account.parse().unwrap()
}
