//! Ended calls on their way to webhook endpoints that ask for `calls.ended`.
//!
//! The transaction that writes a CDR queues it here, if an endpoint asks for the calls of its account. Later it is
//! assigned to one event, so each call is told of once, also after a crash. A CDR that is amended afterwards is not told
//! of again.

mod store;

pub use store::{assign, is_waiting, load, purge, waiting};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::row::CdrRow;
use db::{Conn, DbError};
use store::Wanted;
use values::AccountId;

/// Queues new CDRs of accounts whose calls an endpoint asks for.
pub async fn queue(conn: &mut Conn, cdrs: &[&CdrRow]) -> Result<(), DbError> {
    if cdrs.is_empty() {
        return Ok(());
    }
    match store::wanted(conn).await? {
        Wanted::Nobody => return Ok(()),
        Wanted::Team => return store::insert(conn, cdrs).await,
        Wanted::Customers => {}
    }
    let mut wanted: BTreeMap<AccountId, bool> = BTreeMap::new();
    for cdr in cdrs {
        let account = cdr.terms.account_id;
        if let Entry::Vacant(entry) = wanted.entry(account) {
            entry.insert(store::is_wanted(conn, account).await?);
        }
    }
    let is_wanted = |cdr: &&&CdrRow| wanted.get(&cdr.terms.account_id).copied().unwrap_or_default();
    let queued: Vec<&CdrRow> = cdrs.iter().filter(is_wanted).copied().collect();
    store::insert(conn, &queued).await
}
