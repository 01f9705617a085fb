//! Accounts and users inserted straight into the database, for tests that are not about signing up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use db::{Conn, DbError};
use identity::accounts::{self, NewAccount, OnboardingStatus};
use identity::onboarding::{self, AccountState, AccountStatus, NewOnboarding};
use identity::users::{self, NewUser};
use platform::crypto::passwords::{Cost, Passwords};
use values::{AccountId, AccountRole, Role, Time, UserId};

use super::PASSWORD;
use super::engines::TestDb;

/// A user who can sign in with [`PASSWORD`].
#[derive(Clone)]
pub struct Person {
    pub account: AccountId,
    pub email: String,
}

/// Users with this role, each in an account of its own.
pub async fn insert(db: &TestDb, role: Role, count: usize) -> Vec<Person> {
    let hash = Passwords::new(Cost::Minimal).hash(PASSWORD).await.unwrap();
    let people = db.tx((role, count, hash), |conn, (role, count, hash)| {
        Box::pin(async move {
            let (mut people, now) = (Vec::new(), Time::from_millis(0));
            for number in 0..*count {
                let email = format!("{}{number}@example.com", role.as_str());
                let account = live_account(conn, &email, now).await?;
                user_of(conn, account, &email, *role, Some(hash.clone()), now).await?;
                people.push(Person { account, email });
            }
            Ok::<_, DbError>(people)
        })
    });
    people.await.unwrap()
}

/// A customer's account, live and approved.
pub async fn live_account(conn: &mut Conn, email: &str, now: Time) -> Result<AccountId, DbError> {
    conn.set_now(now);
    let account = NewAccount {
        id: conn.new_id(),
        company_name: "Customer GmbH".parse().unwrap(),
        trading_name: None,
        country: "NL".parse().unwrap(),
        contact_name: "Cora Customer".into(),
        contact_email: email.parse().unwrap(),
        contact_phone: None,
    };
    accounts::insert(conn, &account).await?;
    let (beta, onboarding) = (AccountStatus::Live, OnboardingStatus::Approved);
    let state = AccountState { beta, onboarding, suspended_from: None };
    onboarding::insert(conn, account.id, &NewOnboarding { state, is_carrier: false, expected_volume: None }).await?;
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
    member_of(conn, account_id, email, (role, AccountRole::Owner), password_hash, now).await
}

/// A user of an account with this role in it.
pub async fn member_of(
    conn: &mut Conn,
    account_id: AccountId,
    email: &str,
    (role, account_role): (Role, AccountRole),
    password_hash: Option<String>,
    now: Time,
) -> Result<UserId, DbError> {
    conn.set_now(now);
    let user = NewUser {
        id: conn.new_id(),
        account_id,
        email: email.parse().unwrap(),
        name: "Cora Customer".into(),
        roles: vec![role].into(),
        account_role,
        is_invited: false,
        password_hash,
        email_verified_at: Some(now),
    };
    assert!(users::insert_if_new(conn, &user).await?);
    Ok(user.id)
}
