//! Onboarding: from a stranger's signup to a customer the carrier may trust.
//!
//! An account moves through two sets of states, which `rules` holds as one table. Whatever happens to an account is told
//! to [`happened`], in the transaction of the happening: it moves the states, lets the account join or leave the
//! waitlist, and keeps the counts that the team sees.
//!
//! - `signup`: `POST /signup`, `POST /beta/signup` · `customer`: `/me/account`, `/me/waitlist`, `/me/traffic-profile`
//! - `waitlist`: places without gaps

mod customer;
mod rules;
mod signup;
mod store;
mod types;
mod waitlist;

pub use customer::{change_my_account, my_account, my_waitlist, position, put_traffic_profile, traffic_profile};
pub use rules::{AccountStatus, Event, Standing};
pub use signup::{beta_signup, signup};
pub use store::{
    Beginning, Prospect, approved_since, begin, counts, declined_since, live_customers, lock, prospect,
    set_reviewer_note, set_suspension_reason, traffic_profile as traffic_profile_of,
};
pub use types::TrafficType;

use crate::accounts::OnboardingStatus;
use api::problem::Problem;
use db::{Conn, DbError};
use values::{AccountId, Time};

/// Whether this may happen to an account now. Nothing is moved; [`happened`] decides when it has.
pub async fn allows(conn: &mut Conn, account: AccountId, event: Event) -> Result<(), Problem> {
    let known = store::standing(conn, account).await?.ok_or_else(Problem::not_found)?;
    rules::apply(known.standing(), event, known.facts())
        .map_err(|refusal| Problem::state_conflict(refusal.to_string()))?;
    Ok(())
}

/// Refuses what a suspended account may not do: it looks, tops up and writes to support, and nothing else.
pub async fn must_be_active(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    match store::is_suspended(conn, account).await? {
        Some(false) => Ok(()),
        Some(true) => {
            Err(Problem::account_not_active("The account is suspended; write to support to have it reinstated."))
        }
        None => Err(Problem::not_found()),
    }
}

/// Refuses what only an account whose business was verified may do: to provision anything, and to place calls.
pub async fn must_be_approved(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    must_be_active(conn, account).await?;
    let known = store::standing(conn, account).await?.ok_or_else(Problem::not_found)?;
    match known.standing().onboarding {
        OnboardingStatus::Approved => Ok(()),
        _ => Err(Problem::account_not_active("The account is not approved yet; have your business verified first.")),
    }
}

/// Refuses what only an account that was let into the beta may do. A suspended one was, and still may.
pub async fn must_be_let_in(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    let known = store::standing(conn, account).await?.ok_or_else(Problem::not_found)?;
    match known.standing().beta {
        AccountStatus::BetaApproved | AccountStatus::Live => Ok(()),
        _ => Err(Problem::account_not_active("The account is not approved yet; it can be topped up once it is.")),
    }
}

/// Whether a saved card of the account may be charged while its holder is away: once it was let in, and not while it is
/// suspended and could use nothing of the money.
pub async fn may_be_charged(conn: &mut Conn, account: AccountId) -> Result<bool, DbError> {
    let Some(known) = store::standing(conn, account).await? else { return Ok(false) };
    let Standing { beta, suspended_from, .. } = known.standing();
    Ok(matches!(beta, AccountStatus::BetaApproved | AccountStatus::Live) && suspended_from.is_none())
}

/// Moves an account by what happened to it. A move that the table does not have is refused.
pub async fn happened(conn: &mut Conn, account: AccountId, event: Event, now: Time) -> Result<(), Problem> {
    store::lock(conn, account).await?;
    if event == Event::ToppedUp {
        store::remember_topup(conn, account, now).await?;
    }
    let known = store::standing(conn, account).await?.ok_or_else(Problem::not_found)?;
    let before = known.standing();
    let after =
        rules::apply(before, event, known.facts()).map_err(|refusal| Problem::state_conflict(refusal.to_string()))?;
    store::move_to(conn, account, after, now).await?;
    match event {
        Event::Approved => store::remember_approval(conn, account, now).await?,
        Event::Declined => store::remember_decline(conn, account, now).await?,
        _ => {}
    }
    let waits = |standing: Standing| standing.beta == AccountStatus::BetaWaitlist;
    match (waits(before), waits(after)) {
        (false, true) => waitlist::join(conn, account, now).await?,
        (true, false) => waitlist::leave(conn, account).await?,
        _ => {}
    }
    if before.beta != after.beta {
        store::count(conn, before.beta, -1).await?;
        store::count(conn, after.beta, 1).await?;
    }
    Ok(())
}
