//! Tables `onboardings`, `traffic_profiles`, `prospect_counts` (accounts per beta status) and `waitlist_tail`.

use super::rules::{AccountState, AccountStatus, Facts};
use super::types::{TrafficProfileRequest, TrafficType};
use crate::accounts::{NO_MAIL, OnboardingStatus};
use db::{Conn, DbError, insert, params, row, sql};
use values::{AccountId, Country, E164, Email, Text, Time, Words};

row! {
    pub struct StateRow {
        beta: AccountStatus,
        onboarding: OnboardingStatus,
        suspended_from: Option<OnboardingStatus>,
        topped_up: bool,
        card_verified: bool,
        kyb_submitted: bool,
        profiled: bool,
    }
}

impl StateRow {
    pub fn state(&self) -> AccountState {
        AccountState { beta: self.beta, onboarding: self.onboarding, suspended_from: self.suspended_from }
    }

    pub fn facts(&self) -> Facts {
        let StateRow { topped_up, card_verified, kyb_submitted, profiled, .. } = *self;
        Facts { topped_up, card_verified, kyb_submitted, profiled }
    }
}

/// Locks the account, so that its events run one after the other. A separate statement, so that the next one sees their
/// changes.
pub async fn lock(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let _: Option<(AccountId,)> = conn
        .opt(sql!("SELECT account_id FROM onboardings WHERE account_id = $1 /*pg FOR UPDATE */"), params![account])
        .await?;
    Ok(())
}

pub async fn state(conn: &mut Conn, account: AccountId) -> Result<Option<StateRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT o.beta_status, o.onboarding_status, o.suspended_from, o.topped_up_at IS NOT NULL,
                    EXISTS (SELECT 1 FROM card_verifications c WHERE c.account_id = o.account_id AND c.status = 'verified'),
                    EXISTS (SELECT 1 FROM intakes i WHERE i.account_id = o.account_id AND i.purpose = 'kyb'
                            AND i.status IN ('submitted', 'under_review', 'approved')),
                    EXISTS (SELECT 1 FROM traffic_profiles p WHERE p.account_id = o.account_id)
             FROM onboardings o WHERE o.account_id = $1"
        ),
        params![account],
    )
    .await
}

/// Writes the state.
pub async fn set_state(conn: &mut Conn, account: AccountId, state: AccountState) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE onboardings SET beta_status = $2, onboarding_status = $3, suspended_from = $4, updated_at = $5
             WHERE account_id = $1"
        ),
        params![account, state.beta, state.onboarding, state.suspended_from, conn.now()],
    )
    .await?;
    Ok(())
}

pub async fn record_approval(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET beta_approved_at = $2 WHERE account_id = $1"), params![account, conn.now()])
        .await?;
    Ok(())
}

pub async fn record_decline(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET beta_declined_at = $2 WHERE account_id = $1"), params![account, conn.now()])
        .await?;
    Ok(())
}

/// Whether the account is suspended; none when there is no such account.
pub async fn is_suspended(conn: &mut Conn, account: AccountId) -> Result<Option<bool>, DbError> {
    let sql = sql!("SELECT suspended_from IS NOT NULL FROM onboardings WHERE account_id = $1");
    Ok(conn.opt(sql, params![account]).await?.map(|(suspended,)| suspended))
}

pub async fn record_topup(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE onboardings SET topped_up_at = $2 WHERE account_id = $1 AND topped_up_at IS NULL"),
        params![account, conn.now()],
    )
    .await?;
    Ok(())
}

pub async fn set_reviewer_note(conn: &mut Conn, account: AccountId, note: Option<&str>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET reviewer_note = $2 WHERE account_id = $1"), params![account, note]).await?;
    Ok(())
}

/// Stores the reason for a suspension; none clears it.
pub async fn set_suspension_reason(conn: &mut Conn, account: AccountId, reason: Option<&str>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET suspension_reason = $2 WHERE account_id = $1"), params![account, reason])
        .await?;
    Ok(())
}

pub async fn add_to_count(conn: &mut Conn, status: AccountStatus, change: i64) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO prospect_counts (beta_status, accounts) VALUES ($1, $2)
             ON CONFLICT (beta_status) DO UPDATE SET accounts = prospect_counts.accounts + $2"
        ),
        params![status, change],
    )
    .await?;
    Ok(())
}

/// Accounts per beta status.
pub async fn beta_counts(conn: &mut Conn) -> Result<Vec<(AccountStatus, i64)>, DbError> {
    conn.all(sql!("SELECT beta_status, accounts FROM prospect_counts"), params![]).await
}

/// Accounts approved for the beta since then, whatever their status now.
pub async fn approved_since(conn: &mut Conn, since: Time) -> Result<i64, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM onboardings WHERE beta_approved_at IS NOT NULL AND beta_approved_at >= $1");
    let (approved,) = conn.one(sql, params![since]).await?;
    Ok(approved)
}

/// Accounts declined since then, whatever their status now.
pub async fn declined_since(conn: &mut Conn, since: Time) -> Result<i64, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM onboardings WHERE beta_declined_at IS NOT NULL AND beta_declined_at >= $1");
    let (declined,) = conn.one(sql, params![since]).await?;
    Ok(declined)
}

/// First state of an account.
pub struct NewOnboarding<'a> {
    pub state: AccountState,
    /// Whether this is the operator's own account.
    pub is_carrier: bool,
    pub expected_volume: Option<&'a str>,
}

pub async fn insert(conn: &mut Conn, account: AccountId, new: &NewOnboarding<'_>) -> Result<(), DbError> {
    insert!(
        conn,
        onboardings {
            account_id: account,
            is_carrier: new.is_carrier,
            beta_status: new.state.beta,
            onboarding_status: new.state.onboarding,
            suspended_from: new.state.suspended_from,
            expected_volume: new.expected_volume,
            created_at: conn.now(),
            updated_at: conn.now()
        }
    )
    .await?;
    if new.is_carrier { Ok(()) } else { add_to_count(conn, new.state.beta, 1).await }
}

row! {
    /// An account with its signup details and its state.
    #[derive(Clone)]
    pub struct OnboardingAccount {
        pub account_id: AccountId,
        /// Whether it is the operator's own account, which is not a customer.
        pub is_carrier: bool,
        pub company_name: String,
        pub trading_name: Option<String>,
        pub country: Country,
        pub vat_id: Option<String>,
        pub contact_name: String,
        pub contact_email: Email,
        pub contact_phone: Option<E164>,
        pub beta_status: AccountStatus,
        pub waitlist_ticket: Option<i64>,
        pub waitlist_joined_at: Option<Time>,
        pub reviewer_note: Option<String>,
        pub expected_volume: Option<String>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

pub async fn find_account(conn: &mut Conn, account: AccountId) -> Result<Option<OnboardingAccount>, DbError> {
    conn.opt(
        sql!(
            "SELECT o.account_id, is_carrier, company_name, trading_name, country, vat_id, contact_name, contact_email,
                    contact_phone, beta_status, waitlist_ticket, waitlist_joined_at, reviewer_note,
                    expected_volume, o.created_at, o.updated_at
             FROM onboardings o JOIN accounts a ON a.id = o.account_id WHERE o.account_id = $1"
        ),
        params![account],
    )
    .await
}

row! {
    #[derive(Clone)]
    pub struct TrafficProfileRow {
        pub estimated_minutes_per_month: i64,
        pub target_countries: Words<Country>,
        pub traffic_types: Words<TrafficType>,
        pub notes: Option<Text<0, 2000>>,
        pub created_at: Time,
        pub updated_at: Time,
    }
}

pub async fn traffic_profile(conn: &mut Conn, account: AccountId) -> Result<Option<TrafficProfileRow>, DbError> {
    conn.opt(sql!("SELECT ", TrafficProfileRow::COLS, " FROM traffic_profiles WHERE account_id = $1"), params![account])
        .await
}

pub async fn upsert_traffic_profile(
    conn: &mut Conn,
    account: AccountId,
    profile: &TrafficProfileRequest,
) -> Result<(), DbError> {
    insert!(conn, traffic_profiles { account_id: account, estimated_minutes_per_month: profile.estimated_minutes_per_month, target_countries: Words(profile.target_countries.clone()), traffic_types: Words(profile.traffic_types.clone()), notes: profile.notes, created_at: conn.now(), updated_at: conn.now() }, "ON CONFLICT (account_id) DO UPDATE SET estimated_minutes_per_month = excluded.estimated_minutes_per_month, target_countries = excluded.target_countries, traffic_types = excluded.traffic_types, notes = excluded.notes, updated_at = excluded.updated_at")
    .await?;
    Ok(())
}

/// Adds the account at the end of the waitlist.
pub async fn join_waitlist(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let (ticket,): (i64,) =
        conn.one(sql!("UPDATE waitlist_tail SET ticket = ticket + 1 WHERE id = 1 RETURNING ticket"), params![]).await?;
    conn.exec(
        sql!("UPDATE onboardings SET waitlist_ticket = $2, waitlist_joined_at = $3 WHERE account_id = $1"),
        params![account, ticket, conn.now()],
    )
    .await?;
    Ok(())
}

/// Removes the account from the waitlist; `waitlist_joined_at` stays.
pub async fn leave_waitlist(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET waitlist_ticket = NULL WHERE account_id = $1"), params![account]).await?;
    Ok(())
}

/// Position of a waiting ticket, counted from 1.
pub async fn waitlist_position(conn: &mut Conn, ticket: i64) -> Result<i64, DbError> {
    let (position,) =
        conn.one(sql!("SELECT COUNT(*) FROM onboardings WHERE waitlist_ticket <= $1"), params![ticket]).await?;
    Ok(position)
}

/// Accounts on the waitlist. Tickets start at 1; the condition lets both engines use the index.
pub async fn waitlist_total(conn: &mut Conn) -> Result<i64, DbError> {
    let (total,) = conn.one(sql!("SELECT COUNT(*) FROM onboardings WHERE waitlist_ticket >= 1"), params![]).await?;
    Ok(total)
}

/// Customers that are approved, so that they may call, or were before they were suspended; none that is erased. In the
/// order of their ids.
pub async fn approved_customers(
    conn: &mut Conn,
    after: Option<AccountId>,
    limit: i64,
) -> Result<Vec<(AccountId,)>, DbError> {
    let after = after.unwrap_or(AccountId::new(uuid::Uuid::nil()));
    conn.all(
        sql!(
            "SELECT o.account_id FROM onboardings o JOIN accounts a ON a.id = o.account_id
             WHERE NOT o.is_carrier AND (o.onboarding_status = 'approved' OR o.suspended_from = 'approved')
               AND a.contact_email <> $2 AND o.account_id > $1
             ORDER BY o.account_id LIMIT $3"
        ),
        params![after, NO_MAIL, limit],
    )
    .await
}
