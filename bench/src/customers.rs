//! Approved customers, inserted directly into the database before the service starts.

use db::{Clock, Conn, Db, DbError, DbOptions, Entropy};
use identity::accounts::{self, NewAccount, OnboardingStatus};
use identity::onboarding::{self, AccountState, AccountStatus, NewOnboarding};
use identity::users::{self, NewUser};
use platform::crypto::passwords::{Cost, Passwords};
use values::{AccountId, AccountRole, Role, Time, UserId};

use crate::Outcome;
use crate::service::PASSWORD;

#[derive(Clone)]
pub struct Customer {
    pub id: AccountId,
    pub email: String,
}

struct NewCustomer {
    email: String,
    password_hash: String,
    now: Time,
}

pub async fn create(database_url: &str, count: usize) -> Outcome<Vec<Customer>> {
    let options: DbOptions = database_url.parse()?;
    let db = Db::open(&options).await?;
    db.migrate().await?;
    let password_hash = Passwords::new(Cost::Full).hash(PASSWORD).await.map_err(|error| format!("{error:?}"))?;
    let mut customers = Vec::new();
    for number in 0..count {
        let email = format!("customer{number}@example.com");
        let new =
            NewCustomer { email: email.clone(), password_hash: password_hash.clone(), now: Clock::system().now() };
        customers.push(Customer { id: db.tx(new, |conn, new| Box::pin(insert(conn, new))).await?, email });
    }
    Ok(customers)
}

async fn insert(
    conn: &mut Conn,
    NewCustomer { email, password_hash, now }: &NewCustomer,
) -> Result<AccountId, DbError> {
    let account = NewAccount {
        id: AccountId::new(Entropy.uuid(*now)),
        company_name: "Customer GmbH".parse().map_err(DbError::other)?,
        trading_name: None,
        country: "NL".parse().map_err(DbError::other)?,
        contact_name: "Cora Customer".into(),
        contact_email: email.parse().map_err(DbError::other)?,
        contact_phone: None,
    };
    accounts::insert(conn, &account).await?;
    let (beta, onboarding) = (AccountStatus::Live, OnboardingStatus::Approved);
    let state = AccountState { beta, onboarding, suspended_from: None };
    let new = NewOnboarding { state, is_carrier: false, expected_volume: None };
    onboarding::insert(conn, account.id, &new).await?;
    let user = NewUser {
        id: UserId::new(Entropy.uuid(*now)),
        account_id: account.id,
        email: email.parse().map_err(DbError::other)?,
        name: "Cora Customer".into(),
        roles: vec![Role::Customer].into(),
        account_role: AccountRole::Owner,
        is_invited: false,
        password_hash: Some(password_hash.clone()),
        email_verified_at: Some(*now),
    };
    users::insert_if_new(conn, &user).await?;
    Ok(account.id)
}
