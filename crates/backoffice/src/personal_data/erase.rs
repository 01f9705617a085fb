//! Removal of a customer's personal data, in one transaction.

use super::store;
use crate::{disputes, notes, tickets, webhook_endpoints};
use api::api_keys;
use billing::payments;
use db::{Conn, DbError};
use identity::{accounts, compliance, mailed_links, notifications, onboarding, passkeys, sessions, two_factor, users};
use platform::routing::plans::{self, AssignmentRow, NewAssignment};
use values::AccountId;

/// What became of a request to erase a customer.
#[derive(Debug, PartialEq, Eq)]
pub enum Erasure {
    Done,
    /// It was erased before; nothing was changed.
    Before,
    /// There is no such customer.
    Unknown,
    /// The customer still has these.
    Open(Vec<&'static str>),
}

pub async fn erase(conn: &mut Conn, account: AccountId, keep_documents: bool) -> Result<Erasure, DbError> {
    if !store::is_customer(conn, account).await? {
        return Ok(Erasure::Unknown);
    }
    accounts::lock(conn, account).await?;
    if accounts::is_erased(conn, account).await? {
        return Ok(Erasure::Before);
    }
    let open = store::open_matters(conn, account).await?;
    if !open.is_empty() {
        return Ok(Erasure::Open(open));
    }
    for (user,) in users::list_all_of(conn, account).await? {
        sessions::end_all_sessions(conn, user).await?;
        mailed_links::void_all(conn, user).await?;
        api_keys::revoke_of_user(conn, user).await?;
        passkeys::delete_all(conn, user).await?;
        two_factor::delete(conn, user).await?;
        users::erase(conn, user).await?;
    }
    accounts::erase(conn, account).await?;
    // Intakes before the onboarding, as decisions lock them, so that no two transactions wait for each other.
    compliance::close_all(conn, account).await?;
    if !keep_documents {
        compliance::erase_documents(conn, account).await?;
    }
    onboarding::end(conn, account).await?;
    onboarding::set_reviewer_note(conn, account, None).await?;
    onboarding::set_suspension_reason(conn, account, None).await?;
    payments::erase_cards(conn, account).await?;
    notifications::erase(conn, account).await?;
    webhook_endpoints::erase(conn, account).await?;
    disputes::erase(conn, account).await?;
    tickets::erase(conn, account).await?;
    notes::erase(conn, account).await?;
    end_rate_plan(conn, account).await?;
    Ok(Erasure::Done)
}

/// Ends the rate plan of an account, also one that is yet to begin: the customers of a plan get its price notices.
async fn end_rate_plan(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let now = conn.now();
    let newest = plans::assignments_before(conn, account, i64::MAX, 1).await?;
    let has_ended = |newest: &AssignmentRow| newest.rate_plan_id.is_none() && newest.effective_at <= now;
    if newest.first().is_none_or(has_ended) {
        return Ok(());
    }
    let none = NewAssignment {
        account_id: account,
        rate_plan_id: None,
        effective_at: now,
        notice_days: None,
        waive_reason: None,
    };
    plans::record_assignment(conn, &none).await.map(drop)
}
