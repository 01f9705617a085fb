//! What onboarding writes of an account, its traffic profile, and the counts of prospects.

use super::rules::{AccountStatus, Facts, Standing};
use super::types::{TrafficProfileRequest, TrafficType};
use crate::accounts::OnboardingStatus;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, Country, E164, Email, Text, Time, Words};

row! {
    pub struct Known {
        beta: AccountStatus,
        onboarding: OnboardingStatus,
        suspended_from: Option<OnboardingStatus>,
        topped_up: bool,
        card_verified: bool,
        kyb_submitted: bool,
        profiled: bool,
    }
}

impl Known {
    pub fn standing(&self) -> Standing {
        Standing { beta: self.beta, onboarding: self.onboarding, suspended_from: self.suspended_from }
    }

    pub fn facts(&self) -> Facts {
        let Known { topped_up, card_verified, kyb_submitted, profiled, .. } = *self;
        Facts { topped_up, card_verified, kyb_submitted, profiled }
    }
}

/// Makes events of one account wait for each other. A statement of its own, so that what follows sees what they did.
pub async fn lock(conn: &mut Conn, account: AccountId) -> Result<(), DbError> {
    let _: Option<(AccountId,)> = conn
        .opt(sql!("SELECT account_id FROM onboardings WHERE account_id = $1 /*pg FOR UPDATE */"), params![account])
        .await?;
    Ok(())
}

pub async fn standing(conn: &mut Conn, account: AccountId) -> Result<Option<Known>, DbError> {
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

/// Writes the states.
pub async fn move_to(conn: &mut Conn, account: AccountId, standing: Standing, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE onboardings SET beta_status = $2, onboarding_status = $3, suspended_from = $4, updated_at = $5
             WHERE account_id = $1"
        ),
        params![account, standing.beta, standing.onboarding, standing.suspended_from, now],
    )
    .await?;
    Ok(())
}

pub async fn remember_approval(conn: &mut Conn, account: AccountId, now: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET beta_approved_at = $2 WHERE account_id = $1"), params![account, now])
        .await?;
    Ok(())
}

pub async fn remember_decline(conn: &mut Conn, account: AccountId, now: Time) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET beta_declined_at = $2 WHERE account_id = $1"), params![account, now])
        .await?;
    Ok(())
}

/// Whether the account is suspended, if there is one.
pub async fn is_suspended(conn: &mut Conn, account: AccountId) -> Result<Option<bool>, DbError> {
    let sql = sql!("SELECT suspended_from IS NOT NULL FROM onboardings WHERE account_id = $1");
    Ok(conn.opt(sql, params![account]).await?.map(|(suspended,)| suspended))
}

pub async fn remember_topup(conn: &mut Conn, account: AccountId, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE onboardings SET topped_up_at = $2 WHERE account_id = $1 AND topped_up_at IS NULL"),
        params![account, now],
    )
    .await?;
    Ok(())
}

pub async fn set_reviewer_note(conn: &mut Conn, account: AccountId, note: Option<&str>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET reviewer_note = $2 WHERE account_id = $1"), params![account, note]).await?;
    Ok(())
}

/// Keeps why an account is suspended, or that it is not.
pub async fn set_suspension_reason(conn: &mut Conn, account: AccountId, reason: Option<&str>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE onboardings SET suspension_reason = $2 WHERE account_id = $1"), params![account, reason])
        .await?;
    Ok(())
}

pub async fn count(conn: &mut Conn, status: AccountStatus, change: i64) -> Result<(), DbError> {
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

pub async fn counts(conn: &mut Conn) -> Result<Vec<(AccountStatus, i64)>, DbError> {
    conn.all(sql!("SELECT beta_status, accounts FROM prospect_counts"), params![]).await
}

/// How many were let in since then, whatever became of them.
pub async fn approved_since(conn: &mut Conn, since: Time) -> Result<i64, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM onboardings WHERE beta_approved_at IS NOT NULL AND beta_approved_at >= $1");
    let (approved,) = conn.one(sql, params![since]).await?;
    Ok(approved)
}

/// How many were turned down since then, whatever became of them.
pub async fn declined_since(conn: &mut Conn, since: Time) -> Result<i64, DbError> {
    let sql = sql!("SELECT COUNT(*) FROM onboardings WHERE beta_declined_at IS NOT NULL AND beta_declined_at >= $1");
    let (declined,) = conn.one(sql, params![since]).await?;
    Ok(declined)
}

/// Where an account begins.
pub struct Beginning<'a> {
    pub standing: Standing,
    pub is_carrier: bool,
    pub expected_volume: Option<&'a str>,
}

pub async fn begin(conn: &mut Conn, account: AccountId, from: &Beginning<'_>, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO onboardings (account_id, is_carrier, beta_status, onboarding_status, suspended_from,
                                      expected_volume, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7)"
        ),
        params![
            account,
            from.is_carrier,
            from.standing.beta,
            from.standing.onboarding,
            from.standing.suspended_from,
            from.expected_volume,
            now
        ],
    )
    .await?;
    if from.is_carrier { Ok(()) } else { count(conn, from.standing.beta, 1).await }
}

row! {
    /// A prospect as the team and the prospect itself see it.
    #[derive(Clone)]
    pub struct Prospect {
        pub account_id: AccountId,
        /// Whether it is the carrier's own account, which is no prospect.
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

pub async fn prospect(conn: &mut Conn, account: AccountId) -> Result<Option<Prospect>, DbError> {
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

pub async fn keep_traffic_profile(
    conn: &mut Conn,
    account: AccountId,
    profile: &TrafficProfileRequest,
    now: Time,
) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "INSERT INTO traffic_profiles (account_id, estimated_minutes_per_month, target_countries, traffic_types,
                                           notes, created_at, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $6)
             ON CONFLICT (account_id) DO UPDATE SET
                 estimated_minutes_per_month = excluded.estimated_minutes_per_month,
                 target_countries = excluded.target_countries, traffic_types = excluded.traffic_types,
                 notes = excluded.notes, updated_at = excluded.updated_at"
        ),
        params![
            account,
            profile.estimated_minutes_per_month,
            Words(profile.target_countries.clone()),
            Words(profile.traffic_types.clone()),
            profile.notes,
            now
        ],
    )
    .await?;
    Ok(())
}

/// Customers who may place calls, in the order of their ids.
pub async fn live_customers(
    conn: &mut Conn,
    after: Option<AccountId>,
    limit: i64,
) -> Result<Vec<(AccountId,)>, DbError> {
    let after = after.unwrap_or(AccountId::new(uuid::Uuid::nil()));
    conn.all(
        sql!(
            "SELECT account_id FROM onboardings WHERE NOT is_carrier AND beta_status = 'live' AND account_id > $1
             ORDER BY account_id LIMIT $2"
        ),
        params![after, limit],
    )
    .await
}
