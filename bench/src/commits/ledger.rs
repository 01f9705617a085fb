//! The service's own ledger debit: guarded, double-entry, with the daily rollup.

use std::sync::Arc;

use db::{Conn, Db, DbError};
use identity::accounts::{self, NewAccount};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use tokio::sync::{Mutex, mpsc, oneshot};
use values::{AccountId, Currency, Money};

use super::{CLIENTS, WALLETS, wallet_of};
use crate::Outcome;

/// Customers with enough balance for the whole run, and the debits that wait. While some are posted, others wait, and
/// are then posted together, as calls are authorized.
pub struct Customers {
    ids: Vec<AccountId>,
    waiting: mpsc::Sender<Waiting>,
}

/// How often other tasks may run without another debit before those that wait are posted.
const MAX_TURNS: usize = 32;

struct Waiting {
    entry: Entry,
    posted: oneshot::Sender<Result<(), LedgerError>>,
}

impl Customers {
    /// Customers whose debits are posted together, in this many transactions at the same time.
    pub async fn prepare(db: &Db, transactions: usize) -> Outcome<Arc<Customers>> {
        db.migrate().await?;
        let mut ids = Vec::new();
        for _ in 0..WALLETS {
            ids.push(db.tx((), |conn, ()| Box::pin(create_customer(conn))).await?);
        }
        let (waiting, receiver) = mpsc::channel(CLIENTS);
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..transactions {
            tokio::spawn(post(db.clone(), Arc::clone(&receiver)));
        }
        Ok(Arc::new(Customers { ids, waiting }))
    }

    /// Debits a thousandth of a euro from one of them.
    pub async fn debit(self: Arc<Self>, id: i64) -> Result<(), LedgerError> {
        let wallet = usize::try_from(wallet_of(id) - 1).unwrap_or_default();
        let account = *self.ids.get(wallet).ok_or(DbError::NotFound)?;
        let amount = Money::from_nanos(1_000_000, Currency::EUR);
        let entry = Entry::charge(account, Kind::Call, id.to_string(), &[(Book::Calls, amount)])?;
        let (posted, outcome) = oneshot::channel();
        let _ = self.waiting.send(Waiting { entry, posted }).await;
        outcome.await.unwrap_or(Err(LedgerError::Invalid("the debit was not posted")))
    }
}

/// Posts what waits, until nobody can ask for more.
async fn post(db: Db, receiver: Arc<Mutex<mpsc::Receiver<Waiting>>>) {
    let mut last = 0;
    loop {
        let mut waiting = Vec::new();
        {
            let mut receiver = receiver.lock().await;
            if receiver.recv_many(&mut waiting, CLIENTS).await == 0 {
                return;
            }
            // Those who were answered together ask again together.
            let mut turns = 0;
            while waiting.len() < last && turns < MAX_TURNS {
                tokio::task::yield_now().await;
                turns += 1;
                while let Ok(next) = receiver.try_recv() {
                    waiting.push(next);
                    turns = 0;
                }
            }
            last = waiting.len();
        }
        let (entries, clients): (Vec<Entry>, Vec<_>) = waiting.into_iter().map(|it| (it.entry, it.posted)).unzip();
        match db.tx(entries, |conn, entries| Box::pin(ledger::debit_each(conn, entries))).await {
            Ok(outcomes) => clients.into_iter().zip(outcomes).for_each(|(client, outcome)| {
                let _ = client.send(outcome.map(drop));
            }),
            // Whoever waits is told that nobody answers.
            Err(error) => eprintln!("debits were not posted: {error}"),
        }
    }
}

async fn create_customer(conn: &mut Conn) -> Result<AccountId, LedgerError> {
    let account = NewAccount {
        id: conn.new_id(),
        company_name: "Customer GmbH".parse().map_err(DbError::other)?,
        trading_name: None,
        country: "NL".parse().map_err(DbError::other)?,
        contact_name: "Cora Customer".into(),
        contact_email: "cora@customer.example".parse().map_err(DbError::other)?,
        contact_phone: None,
    };
    accounts::insert(conn, &account).await?;
    let funds = Money::from_minor(100_000_000, Currency::EUR)?;
    let topup = Entry::credit(account.id, Kind::Topup, account.id.to_string(), &[(Book::Clearing, funds)])?;
    ledger::credit(conn, &topup).await?;
    // As the service sets it after checking the balance: a charge above the low-water mark only compares two numbers.
    ledger::set_low_water(conn, account.id, Currency::EUR, Some(Money::from_minor(2_000, Currency::EUR)?)).await?;
    Ok(account.id)
}
