//! Reads of the view `customers`. Ids are UUIDs v7, so descending ids are newest first.
//!
//! Lists include the spend of each customer in the same statement: a subquery over at most 30 days of `ledger_book_days`
//! for each row of the page. A page that must be sorted is limited first.

use crate::account_managers::AccountManagerId;
use billing::vat::VatTreatment;
use db::{Conn, DbError, FromRow, Row, params, row, sql};
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

/// A customer and its spend in nanos of EUR.
pub struct CustomerWithSpend {
    pub customer: CustomerRow,
    pub spend: i64,
}

impl FromRow for CustomerWithSpend {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(CustomerWithSpend { customer: CustomerRow::from_row(row)?, spend: row.get(CustomerRow::WIDTH)? })
    }
}

/// First and last UTC day of the spend, in days since 1970.
#[derive(Clone, Copy)]
pub struct SpendDays {
    first: i64,
    last: i64,
}

impl SpendDays {
    /// The last `days` UTC days, today included.
    pub fn until(now: Time, days: i64) -> SpendDays {
        let today = now.millis().div_euclid(24 * 3600 * 1000);
        SpendDays { first: today + 1 - days, last: today }
    }
}

/// Filter of a list of customers, the id that its rows are below, and the days of their spend.
#[derive(Clone, Copy)]
pub struct CustomerFilter {
    pub status: Option<OnboardingStatus>,
    pub manager: Option<AccountManagerId>,
    pub below: AccountId,
    pub limit: i64,
    pub spend: SpendDays,
}

impl CustomerFilter {
    pub fn includes(&self, customer: &CustomerRow) -> bool {
        let has_status = self.status.is_none_or(|status| status == customer.onboarding_status);
        let has_manager = self.manager.is_none_or(|manager| Some(manager) == customer.account_manager_id);
        has_status && has_manager && customer.id < self.below
    }
}

pub async fn find(conn: &mut Conn, id: AccountId) -> Result<Option<CustomerRow>, DbError> {
    conn.opt(sql!("SELECT ", CustomerRow::COLS, " FROM customers WHERE id = $1"), params![id]).await
}

pub async fn find_with_spend(
    conn: &mut Conn,
    id: AccountId,
    spend: SpendDays,
) -> Result<Option<CustomerWithSpend>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            CustomerRow::COLS,
            ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                    WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $1 AND d.day <= $2
                      AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
             FROM customers
             WHERE id = $3"
        ),
        params![spend.first, spend.last, id],
    )
    .await
}

/// A page, by the index of the most selective filter.
pub async fn list(conn: &mut Conn, filter: &CustomerFilter) -> Result<Vec<CustomerWithSpend>, DbError> {
    let CustomerFilter { status, manager, below, limit, spend: SpendDays { first, last } } = *filter;
    match (manager, status) {
        (None, None) => {
            conn.all(
                sql!(
                    "SELECT ",
                    CustomerRow::COLS,
                    ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                            WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $1 AND d.day <= $2
                              AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
                     FROM customers
                     WHERE id < $3 ORDER BY id DESC LIMIT $4"
                ),
                params![first, last, below, limit],
            )
            .await
        }
        (None, Some(status)) => {
            conn.all(
                sql!(
                    "SELECT ",
                    CustomerRow::COLS,
                    ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                            WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $1 AND d.day <= $2
                              AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
                     FROM customers
                     WHERE onboarding_status = $3 AND id < $4 ORDER BY id DESC LIMIT $5"
                ),
                params![first, last, status, below, limit],
            )
            .await
        }
        (Some(manager), status) => {
            conn.all(
                sql!(
                    "SELECT ",
                    CustomerRow::COLS,
                    ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                            WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $1 AND d.day <= $2
                              AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
                     FROM (SELECT * FROM customers
                           WHERE account_manager_id = $3 AND onboarding_status = COALESCE($4, onboarding_status)
                           AND id < $5 ORDER BY id DESC LIMIT $6) AS customers
                     ORDER BY id DESC"
                ),
                params![first, last, manager, status, below, limit],
            )
            .await
        }
    }
}

/// Customers whose KYB is not approved, suspended or not.
pub async fn unapproved(
    conn: &mut Conn,
    below: AccountId,
    limit: i64,
    spend: SpendDays,
) -> Result<Vec<CustomerWithSpend>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CustomerRow::COLS,
            ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                    WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $1 AND d.day <= $2
                      AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
             FROM customers
             WHERE COALESCE(suspended_from, onboarding_status) <> 'approved' AND id < $3 ORDER BY id DESC LIMIT $4"
        ),
        params![spend.first, spend.last, below, limit],
    )
    .await
}

/// Customers with a word in each of these ranges, the end of a range excluded. The first range should be the narrowest.
pub async fn with_words(
    conn: &mut Conn,
    ranges: &[(String, String); 3],
    filter: &CustomerFilter,
) -> Result<Vec<CustomerWithSpend>, DbError> {
    let [first, second, third] = ranges;
    conn.all(
        sql!(
            "SELECT ",
            CustomerRow::COLS,
            ", (SELECT CAST(COALESCE(SUM(d.amount), 0) AS BIGINT) FROM ledger_book_days d
                    WHERE d.account_id = customers.id AND d.currency = 'EUR' AND d.day >= $11 AND d.day <= $12
                      AND d.kind IN ('call', 'number_order', 'number_renewal', 'number_refund', 'call_credit'))
             FROM customers
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
            filter.status,
            filter.manager,
            filter.below,
            filter.limit,
            filter.spend.first,
            filter.spend.last
        ],
    )
    .await
}

/// The account that rents this number.
pub async fn owner_of_number(conn: &mut Conn, number: &E164) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM numbers WHERE e164 = $1 AND released_at IS NULL");
    Ok(conn.opt(sql, params![*number]).await?.map(|(account,)| account))
}

/// The account of the user with this email address.
pub async fn account_of_email(conn: &mut Conn, email: &Email) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM users WHERE email = $1");
    Ok(conn.opt(sql, params![*email]).await?.map(|(account,)| account))
}

pub async fn account_of_user(conn: &mut Conn, user: UserId) -> Result<Option<AccountId>, DbError> {
    let sql = sql!("SELECT account_id FROM users WHERE id = $1");
    Ok(conn.opt(sql, params![user]).await?.map(|(account,)| account))
}

#[cfg(test)]
mod tests {
    use platform::ledger::Kind;

    #[test]
    fn every_list_adds_up_the_usage_kinds_of_the_ledger() {
        let usage = Kind::ALL.iter().filter(|kind| kind.is_usage()).map(|kind| format!("'{kind}'"));
        let kinds: Vec<String> = usage.collect();
        let lists = include_str!("store.rs").matches(&format!("d.kind IN ({})", kinds.join(", "))).count();
        assert_eq!(lists, 6);
    }
}
