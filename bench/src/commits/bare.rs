//! The statements of guarded ledger debits on one connection to SQLite, with nothing around them: what the engine itself
//! makes possible.

use std::path::Path;
use std::time::Instant;

use db::Clock;
use rusqlite::{Connection, params};
use values::AccountId;

use super::{CLIENTS, ROUND, connect, wallet_of};
use crate::Outcome;

/// The service posts the debits of half of the clients in one commit, and those of the other half in the next one.
const GROUP: usize = CLIENTS / 2;
const AMOUNT: i64 = 1_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

const LOCK: &str = "SELECT balance, held, minimum, entries, low_water, last_debit_at, posted_at,
         (SELECT number FROM ledger_transactions WHERE kind = $1 AND reference = $2)
     FROM ledger_balances WHERE account_id = $3 AND currency = 'EUR'";
const BALANCE: &str = "UPDATE ledger_balances SET balance = $1, entries = $2, last_debit_at = $3, posted_at = $3
     WHERE account_id = $4 AND currency = 'EUR'";
const POST: &str = "INSERT INTO ledger_transactions
         (id, account_id, currency, number, kind, reference, amount, book, balance_after, created_at)
     VALUES ($1, $2, 'EUR', $3, 'call', $4, $5, 'calls', $6, $7)";
const DAY: &str = "INSERT INTO ledger_book_days (account_id, currency, day, kind, book, amount, entries)
     VALUES ($1, 'EUR', $2, 'call', 'calls', $3, 1)
     ON CONFLICT (account_id, currency, day, kind, book) DO UPDATE
     SET amount = amount + excluded.amount, entries = entries + 1";

/// The file of a service that is idle meanwhile.
pub struct Statements {
    connection: Connection,
    accounts: Vec<AccountId>,
    /// The number of the last debit.
    last: i64,
}

impl Statements {
    pub fn prepare(file: &Path, accounts: &[AccountId]) -> Outcome<Statements> {
        Ok(Statements { connection: connect(file)?, accounts: accounts.to_vec(), last: 0 })
    }

    /// Debits per second.
    pub fn per_second(&mut self) -> Outcome<f64> {
        let (started, first) = (Instant::now(), self.last);
        while started.elapsed() < ROUND {
            self.commit_group()?;
        }
        Ok((self.last - first) as f64 / started.elapsed().as_secs_f64())
    }

    /// Table by table, as the service does. Debits that follow each other are of different customers.
    fn commit_group(&mut self) -> Outcome<()> {
        let numbers: Vec<i64> = (self.last + 1..).take(GROUP).collect();
        self.last += GROUP as i64;
        let millis = Clock::system().now().millis();
        let transaction = self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let mut debits = Vec::with_capacity(GROUP);
        for number in numbers {
            let wallet = usize::try_from(wallet_of(number) - 1)?;
            let account = *self.accounts.get(wallet).ok_or("there are too few customers")?.uuid().as_bytes();
            let reference = format!("bare-{number}");
            let (balance, entries): (i64, i64) = transaction
                .prepare_cached(LOCK)?
                .query_row(params!["call", reference, account], |row| Ok((row.get(0)?, row.get(3)?)))?;
            // In the order of time, as the service's own.
            let id = ((u128::from(millis.unsigned_abs()) << 80) | u128::from(number.unsigned_abs())).to_be_bytes();
            debits.push((id, account, reference, balance - AMOUNT, entries + 1));
        }
        for (_, account, _, balance, entries) in &debits {
            transaction.prepare_cached(BALANCE)?.execute(params![balance, entries, millis, account])?;
        }
        for (id, account, reference, balance, entries) in &debits {
            let values = params![id, account, entries, reference, -AMOUNT, balance, millis];
            transaction.prepare_cached(POST)?.execute(values)?;
        }
        for (_, account, ..) in &debits {
            transaction.prepare_cached(DAY)?.execute(params![account, millis / MILLIS_PER_DAY, AMOUNT])?;
        }
        Ok(transaction.commit()?)
    }
}
