//! SQL of dunning reasons.

use uuid::Uuid;

use db::{Conn, DbError, insert, params, row, sql};
use identity::accounts::OnboardingStatus;
use values::{AccountId, Currency, Email, Text, Time, text_enum};

text_enum! {
    /// Why a customer is in dunning.
    pub enum DunningReasonCode {
        NegativeBalance = "negative_balance",
        UnpaidInvoice = "unpaid_invoice",
        FailedRecharge = "failed_recharge",
    }
}

/// Adds a reason from now on; one that exists keeps its time.
pub async fn raise(conn: &mut Conn, account: AccountId, reason: DunningReasonCode) -> Result<(), DbError> {
    insert!(
        conn,
        dunning_reasons { account_id: account, reason, since: conn.now() },
        "ON CONFLICT (account_id, reason) DO NOTHING"
    )
    .await?;
    Ok(())
}

pub async fn clear(conn: &mut Conn, account: AccountId, reason: DunningReasonCode) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM dunning_reasons WHERE account_id = $1 AND reason = $2"), params![account, reason])
        .await?;
    Ok(())
}

row! {
    pub struct Debtor {
        pub id: AccountId,
        pub company_name: Text<1, 200>,
        pub contact_email: Email,
        pub onboarding_status: OnboardingStatus,
        pub account_manager_id: Option<Uuid>,
        pub balance: i64,
        pub created_at: Time,
    }
}

/// Customers in dunning by descending id, which begins with the time of creation.
pub async fn list(conn: &mut Conn, currency: Currency, after: AccountId, limit: i64) -> Result<Vec<Debtor>, DbError> {
    conn.all(
        sql!(
            "SELECT a.id, a.company_name, a.contact_email, o.onboarding_status, a.account_manager_id,
                    COALESCE(b.balance, 0), a.created_at
             FROM (SELECT DISTINCT account_id FROM dunning_reasons WHERE account_id < $2
                   ORDER BY account_id DESC LIMIT $3) AS d
             JOIN accounts a ON a.id = d.account_id
             JOIN onboardings o ON o.account_id = d.account_id
             LEFT JOIN ledger_balances b ON b.account_id = d.account_id AND b.currency = $1
             ORDER BY a.id DESC"
        ),
        params![currency, after, limit],
    )
    .await
}

pub async fn reasons(conn: &mut Conn, account: AccountId) -> Result<Vec<(DunningReasonCode, Time)>, DbError> {
    conn.all(
        sql!("SELECT reason, since FROM dunning_reasons WHERE account_id = $1 ORDER BY since, reason LIMIT 10"),
        params![account],
    )
    .await
}
