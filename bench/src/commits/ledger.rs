//! The service's own ledger debit: guarded, double-entry, with the daily rollup.

use std::sync::Arc;

use db::{Conn, Db, DbError};
use identity::accounts::{self, NewAccount};
use platform::grouping::Grouping;
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Money};

use super::{WALLETS, wallet_of};
use crate::Outcome;

/// Customers with enough balance for the whole run. Debits at the same time are posted together, as calls are authorized.
pub struct Customers {
    ids: Vec<AccountId>,
    debits: Grouping<Entry, Result<(), LedgerError>>,
}

impl Customers {
    pub async fn prepare(db: &Db) -> Outcome<Arc<Customers>> {
        db.migrate().await?;
        let mut ids = Vec::new();
        for _ in 0..WALLETS {
            ids.push(db.tx((), |conn, ()| Box::pin(create_customer(conn))).await?);
        }
        let db = db.clone();
        Ok(Arc::new(Customers { ids, debits: Grouping::start(move |entries| post(db.clone(), entries)) }))
    }

    pub fn ids(&self) -> &[AccountId] {
        &self.ids
    }

    /// Debits a thousandth of a euro from one of them.
    pub async fn debit(self: Arc<Self>, id: i64) -> Result<(), LedgerError> {
        let wallet = usize::try_from(wallet_of(id) - 1).unwrap_or_default();
        let account = *self.ids.get(wallet).ok_or(DbError::NotFound)?;
        let amount = Money::from_nanos(1_000_000, Currency::EUR);
        let entry = Entry::charge(account, Kind::Call, id.to_string(), &[(Book::Calls, amount)])?;
        self.debits.submit(entry).await.unwrap_or(Err(LedgerError::Invalid("the debit was not posted")))
    }
}

/// Whoever waits is told that nobody answers if it fails.
async fn post(db: Db, entries: Vec<Entry>) -> Vec<Result<(), LedgerError>> {
    match db.tx(entries, |conn, entries| Box::pin(ledger::debit_each(conn, entries))).await {
        Ok(outcomes) => outcomes.into_iter().map(|outcome| outcome.map(drop)).collect(),
        Err(error) => {
            eprintln!("debits were not posted: {error}");
            Vec::new()
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
