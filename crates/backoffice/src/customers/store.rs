//! Customers, as the view of that name has them. Ids begin with the time they were made, so the highest are the newest.

use crate::account_managers::AccountManagerId;
use billing::vat::VatTreatment;
use db::{Conn, DbError, params, row, sql};
use identity::accounts::{OnboardingStatus, VatStatus};
use values::{AccountId, E164, Email, Text, Time, UserId};

row! {
    #[derive(Clone)]
    pub struct CustomerRow {
        pub id: AccountId,
        pub company_name: Text<1, 200>,
        pub contact_email: Email,
        pub onboarding_status: OnboardingStatus,
        pub suspended_from: Option<OnboardingStatus>,
        pub suspension_reason: Option<String>,
        pub account_manager_id: Option<AccountManagerId>,
        pub vat_status: VatStatus,
        pub vat_treatment: Option<VatTreatment>,
        pub telecom_reseller: bool,
        pub balance: i64,
        pub created_at: Time,
    }
}

/// Which customers are wanted, and how many of those below an id.
#[derive(Clone, Copy)]
pub struct Wanted {
    pub status: Option<OnboardingStatus>,
    pub manager: Option<AccountManagerId>,
    pub below: AccountId,
    pub limit: i64,
}

impl Wanted {
    pub fn admits(&self, customer: &CustomerRow) -> bool {
        let is_as_wanted = self.status.is_none_or(|status| status == customer.onboarding_status);
        let is_managed = self.manager.is_none_or(|manager| Some(manager) == customer.account_manager_id);
        is_as_wanted && is_managed && customer.id < self.below
    }
}

pub async fn find(conn: &mut Conn, id: AccountId) -> Result<Option<CustomerRow>, DbError> {
    conn.opt(sql!("SELECT ", CustomerRow::COLS, " FROM customers WHERE id = $1"), params![id]).await
}

/// A page, by the index that leaves least to look through.
pub async fn list(conn: &mut Conn, wanted: &Wanted) -> Result<Vec<CustomerRow>, DbError> {
    let Wanted { status, manager, below, limit } = *wanted;
    match (manager, status) {
        (None, None) => {
            conn.all(
                sql!("SELECT ", CustomerRow::COLS, " FROM customers WHERE id < $1 ORDER BY id DESC LIMIT $2"),
                params![below, limit],
            )
            .await
        }
        (None, Some(status)) => {
            conn.all(
                sql!(
                    "SELECT ",
                    CustomerRow::COLS,
                    " FROM customers WHERE onboarding_status = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
                ),
                params![status, below, limit],
            )
            .await
        }
        (Some(manager), status) => {
            conn.all(
                sql!(
                    "SELECT ",
                    CustomerRow::COLS,
                    " FROM customers WHERE account_manager_id = $1 AND onboarding_status = COALESCE($2, onboarding_status)
                     AND id < $3 ORDER BY id DESC LIMIT $4"
                ),
                params![manager, status, below, limit],
            )
            .await
        }
    }
}

/// Customers whose business is still to be verified, suspended meanwhile or not.
pub async fn unapproved(conn: &mut Conn, below: AccountId, limit: i64) -> Result<Vec<CustomerRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CustomerRow::COLS,
            " FROM customers WHERE COALESCE(suspended_from, onboarding_status) <> 'approved' AND id < $1
             ORDER BY id DESC LIMIT $2"
        ),
        params![below, limit],
    )
    .await
}

/// Customers with a word in each of these ranges, from the first text up to but not with the second. The first range
/// should be the narrowest.
pub async fn with_words(
    conn: &mut Conn,
    ranges: &[(String, String); 3],
    wanted: &Wanted,
) -> Result<Vec<CustomerRow>, DbError> {
    let [first, second, third] = ranges;
    conn.all(
        sql!(
            "SELECT ",
            CustomerRow::COLS,
            " FROM customers
             WHERE id IN (SELECT account_id FROM account_words WHERE word >= $1 AND word < $2)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = customers.id AND w.word >= $3 AND w.word < $4)
             AND EXISTS (SELECT 1 FROM account_words w WHERE w.account_id = customers.id AND w.word >= $5 AND w.word < $6)
             AND onboarding_status = COALESCE($7, onboarding_status)
             AND (account_manager_id = $8 OR $8 IS NULL)
             AND id < $9 ORDER BY id DESC LIMIT $10"
        ),
        params![
            first.0,
            first.1,
            second.0,
            second.1,
            third.0,
            third.1,
            wanted.status,
            wanted.manager,
            wanted.below,
            wanted.limit
        ],
    )
    .await
}

/// Whose number this is.
pub async fn owner_of_number(conn: &mut Conn, number: &E164) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM numbers WHERE e164 = $1 AND released_at IS NULL");
    Ok(conn.opt(sql, params![*number]).await?.map(|(account,)| account))
}

/// Whose user signs in with this address.
pub async fn account_of_email(conn: &mut Conn, email: &Email) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM users WHERE email = $1");
    Ok(conn.opt(sql, params![*email]).await?.map(|(account,)| account))
}

pub async fn account_of_user(conn: &mut Conn, user: UserId) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM users WHERE id = $1");
    Ok(conn.opt(sql, params![user]).await?.map(|(account,)| account))
}
