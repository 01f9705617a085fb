//! Onboarding: from signup through the private beta to a live customer.
//!
//! An account has two statuses, beta and onboarding, which `rules` holds as one table. Features report what happened
//! with [`apply_event`], in the same transaction: it changes the statuses, joins or leaves the waitlist and updates the
//! counts that the team sees.
//!
//! Waitlist: an account that joins gets the next ticket, and tickets never change. Its position is the number of
//! tickets up to its own that still wait, so positions close up when an account leaves. That is a count over the unique
//! index on `onboardings.waitlist_ticket`, which is fast enough for a waitlist of some ten thousand accounts.
//!
//! - `signup`: `POST /signup`, `POST /beta/signup` · `customer`: `/me/account`, `/me/waitlist`, `/me/traffic-profile`

mod customer;
mod rules;
mod signup;
mod store;
mod types;

pub use customer::{
    my_account, my_waitlist, set_traffic_profile, traffic_profile, update_my_account, waitlist_position,
};
pub use rules::{AccountState, AccountStatus, Event};
pub use signup::{beta_signup, signup};
pub use store::{
    NewOnboarding, OnboardingAccount, approved_customers, approved_since, beta_counts, declined_since, find_account,
    insert, lock, set_reviewer_note, set_suspension_reason, traffic_profile as find_traffic_profile,
};
pub use types::TrafficType;

use crate::accounts::{self, OnboardingStatus};
use crate::events::{self, EventType};
use crate::users::{self, User};
use api::problem::Problem;
use db::{Conn, DbError};
use platform::app::App;
use values::{AccountId, UserId};

/// Checks that an event is possible now, without applying it; [`apply_event`] checks again.
pub async fn check_event(conn: &mut Conn, account: AccountId, event: Event) -> Result<(), Problem> {
    let row = store::state(conn, account).await?.ok_or_else(Problem::not_found)?;
    rules::apply(row.state(), event, row.facts()).map_err(|error| Problem::state_conflict(error.to_string()))?;
    Ok(())
}

/// Finds the account of a customer; the operator's own is not found.
pub async fn require_customer(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    let customer = store::find_account(conn, account).await?.filter(|account| !account.is_carrier);
    customer.map(drop).ok_or_else(Problem::not_found)
}

/// Refuses a suspended account, which may only read, top up and write to support.
pub async fn require_active(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    match store::is_suspended(conn, account).await? {
        Some(false) => Ok(()),
        Some(true) => {
            Err(Problem::account_not_active("The account is suspended. Write to support to have it reinstated."))
        }
        None => Err(Problem::not_found()),
    }
}

/// Refuses a user who has not verified its email address, where the settings ask for it.
pub async fn require_verified_email(conn: &mut Conn, app: &App, user: UserId) -> Result<(), Problem> {
    if !app.settings.require_verified_email {
        return Ok(());
    }
    match users::find(conn, user).await? {
        Some(User { email_verified_at: Some(_), .. }) => Ok(()),
        _ => Err(Problem::account_not_active(
            "Verify your email address first. POST /v1/me/email-verification mails you a link.",
        )),
    }
}

/// The same for a decision of the team about an account: its contact must have verified the address.
pub async fn check_contact_verified(conn: &mut Conn, app: &App, account: AccountId) -> Result<(), Problem> {
    if !app.settings.require_verified_email {
        return Ok(());
    }
    let account = store::find_account(conn, account).await?.ok_or_else(Problem::not_found)?;
    match users::find_by_email(conn, &account.contact_email).await? {
        Some(User { email_verified_at: Some(_), .. }) => Ok(()),
        _ => Err(Problem::state_conflict(
            "The customer has not verified its email address. It can be approved once the link in our mail was used.",
        )),
    }
}

/// Refuses an account whose KYB is not approved, which may not order numbers, create trunks or place calls.
pub async fn require_approved(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    require_active(conn, account).await?;
    let row = store::state(conn, account).await?.ok_or_else(Problem::not_found)?;
    match row.state().onboarding {
        OnboardingStatus::Approved => Ok(()),
        _ => Err(Problem::account_not_active("The account is not approved yet. Complete KYB first.")),
    }
}

/// Refuses an account that was not approved for the private beta. A suspended one passes.
pub async fn require_beta_approved(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    let row = store::state(conn, account).await?.ok_or_else(Problem::not_found)?;
    match row.state().beta {
        AccountStatus::BetaApproved | AccountStatus::Live => Ok(()),
        _ => Err(Problem::account_not_active(
            "The account is not approved for the private beta yet. Top-ups are possible once it is.",
        )),
    }
}

/// Whether a saved card may be charged automatically: the account is approved for the beta and not suspended.
pub async fn can_be_charged(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let Some(row) = store::state(conn, account).await? else { return Ok(false) };
    let AccountState { beta, suspended_from, .. } = row.state();
    Ok(matches!(beta, AccountStatus::BetaApproved | AccountStatus::Live) && suspended_from.is_none())
}

/// Applies an event to an account; fails when the table has no such transition.
pub async fn apply_event(conn: &mut Conn, account: AccountId, event: Event) -> Result<(), Problem> {
    store::lock(conn, account).await?;
    if event == Event::ToppedUp {
        store::record_topup(conn, account).await?;
    }
    let row = store::state(conn, account).await?.ok_or_else(Problem::not_found)?;
    let before = row.state();
    let after = rules::apply(before, event, row.facts()).map_err(|error| Problem::state_conflict(error.to_string()))?;
    change_state(conn, account, event, (before, after)).await?;
    if before.onboarding != after.onboarding {
        let shown = accounts::view(conn, account).await?;
        events::record(conn, account, EventType::AccountStatusChanged, &shown).await?;
    }
    Ok(())
}

/// Writes the state after an event, with what follows from it: dates, the place on the waitlist, and the counts.
async fn change_state(
    conn: &mut Conn,
    account: AccountId,
    event: Event,
    (before, after): (AccountState, AccountState),
) -> Result<(), DbError> {
    store::set_state(conn, account, after).await?;
    match event {
        Event::Approved => store::record_approval(conn, account).await?,
        Event::Declined => store::record_decline(conn, account).await?,
        _ => {}
    }
    let is_waiting = |state: AccountState| state.beta == AccountStatus::BetaWaitlist;
    match (is_waiting(before), is_waiting(after)) {
        (false, true) => store::join_waitlist(conn, account).await?,
        (true, false) => store::leave_waitlist(conn, account).await?,
        _ => {}
    }
    if before.beta != after.beta {
        store::add_to_count(conn, before.beta, -1).await?;
        store::add_to_count(conn, after.beta, 1).await?;
    }
    Ok(())
}

/// Ends the onboarding of an account that is erased: it is declined, so it leaves the waitlist, and its KYB is no longer
/// under review. There is nobody to notify.
pub async fn end(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    store::lock(conn, account).await?;
    for event in [Event::Declined, Event::KybRejected] {
        let Some(row) = store::state(conn, account).await? else { return Ok(()) };
        // What the state does not allow has ended before, or never began.
        if let Ok(after) = rules::apply(row.state(), event, row.facts()) {
            change_state(conn, account, event, (row.state(), after)).await?;
        }
    }
    Ok(())
}
