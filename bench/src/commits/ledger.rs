//! The service's own ledger debit: guarded, double-entry, with the daily rollup.

use std::sync::Arc;

use db::{Conn, Db, DbError};
use identity::accounts::{self, NewAccount};
use platform::ledger::{self, Book, Entry, Kind, LedgerError};
use values::{AccountId, Currency, Money};

use super::{WALLETS, wallet_of};
use crate::Outcome;

/// Customers with enough balance for the whole run.
pub struct Customers {
    ids: Vec<AccountId>,
}

impl Customers {
    pub async fn prepare(db: &Db) -> Outcome<Arc<Customers>> {
        db.migrate().await?;
        let mut ids = Vec::new();
        for _ in 0..WALLETS {
            ids.push(db.tx((), |conn, ()| Box::pin(create_customer(conn))).await?);
        }
        Ok(Arc::new(Customers { ids }))
    }

    /// Debits a thousandth of a euro from one of them.
    pub async fn debit(self: Arc<Self>, db: Db, id: i64) -> Result<(), LedgerError> {
        db.tx((self, id), |conn, (customers, id)| {
            Box::pin(async move {
                let wallet = usize::try_from(wallet_of(*id) - 1).unwrap_or_default();
                let account = *customers.ids.get(wallet).ok_or(DbError::NotFound)?;
                let amount = Money::from_nanos(1_000_000, Currency::EUR);
                let entry = Entry::charge(account, Kind::Call, id.to_string(), &[(Book::Calls, amount)])?;
                ledger::debit(conn, &entry).await.map(drop)
            })
        })
        .await
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
