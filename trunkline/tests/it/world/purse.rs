//! Money put on a balance and taken from it, for tests about what follows from that.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use platform::entropy::Entropy;
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Money};

use super::World;
use super::engines::uuid;

impl World {
    /// A payment of so many cents, and what follows from it.
    pub async fn top_up(&self, account: &str, cents: i64) {
        let from = [(Book::Clearing, euros(cents))];
        let entry = Entry::credit(id(account), Kind::Topup, uuid().to_string(), &from).unwrap();
        let now = self.node.app.clock.now();
        let posted = self.node.app.db.tx((entry, now), |conn, (entry, now)| {
            Box::pin(async move { ledger::credit(conn, Entropy, entry, *now).await.map(drop) })
        });
        posted.await.unwrap();
        self.settle().await;
    }

    /// A call of so many cents, whatever the balance is, and what follows from it.
    pub async fn use_up(&self, account: &str, cents: i64) {
        let to = [(Book::Calls, euros(cents))];
        let entry = Entry::charge(id(account), Kind::Call, uuid().to_string(), &to).unwrap();
        let now = self.node.app.clock.now();
        let posted = self.node.app.db.tx((entry, now), |conn, (entry, now)| {
            Box::pin(async move {
                ledger::debit_unguarded(conn, Entropy, entry, *now).await?;
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
