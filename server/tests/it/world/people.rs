//! Accounts and users put straight into the database, for tests about something else than signing up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use trunkline::db::{Conn, DbError};
use trunkline::features::accounts::{self, NewAccount, OnboardingStatus};
use trunkline::features::onboarding::{self, AccountStatus, Beginning, Standing};
use trunkline::features::users::{self, NewUser};
use trunkline::values::{AccountId, Role, Time, UserId};

use super::engines::uuid;

/// A customer's account, live and approved.
pub async fn live_account(conn: &mut Conn, email: &str, now: Time) -> Result<AccountId, DbError> {
    let account = NewAccount {
        id: AccountId::new(uuid()),
        company_name: "Customer GmbH".parse().unwrap(),
        trading_name: None,
        country: "NL".parse().unwrap(),
        contact_name: "Cora Customer".into(),
        contact_email: email.parse().unwrap(),
        contact_phone: None,
    };
    accounts::insert(conn, &account, now).await?;
    let (beta, onboarding) = (AccountStatus::Live, OnboardingStatus::Approved);
    let standing = Standing { beta, onboarding, suspended_from: None };
    onboarding::begin(conn, account.id, &Beginning { standing, is_carrier: false, expected_volume: None }, now).await?;
    Ok(account.id)
}

/// A user of an account.
pub async fn user_of(
    conn: &mut Conn,
    account_id: AccountId,
    email: &str,
    role: Role,
    password_hash: Option<String>,
    now: Time,
) -> Result<UserId, DbError> {
    let user = NewUser {
        id: UserId::new(uuid()),
        account_id,
        email: email.parse().unwrap(),
        name: "Cora Customer".into(),
        roles: vec![role].into(),
        password_hash,
    };
    assert!(users::insert_if_new(conn, &user, now).await?);
    Ok(user.id)
}
