//! The live calls.

use crate::calls::prices::Route;
use crate::calls::types::Leg;
use db::{Conn, DbError, Row, Statement, params, row, sql};
use values::{AccountId, CallId, Currency, List, SipUri, Time, TrunkId, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct LiveCall {
        pub token: CallId,
        pub call_id: String,
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        pub leg: Leg,
        pub zone: String,
        pub calling: String,
        pub called: String,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub prefix: Option<String>,
        pub currency: Currency,
        pub rate_per_minute: i64,
        pub connect_fee: i64,
        pub increment_seconds: i64,
        pub minimum_seconds: i64,
        pub rate_upstream_id: Option<UpstreamId>,
        pub routes: List<Route>,
        pub target_uri: Option<SipUri>,
        pub upstream_id: Option<UpstreamId>,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub seen_at: Time,
        pub reserved: i64,
        pub reserved_seconds: i64,
        pub expires_at: Time,
        pub hang_up: bool,
    }
}

/// What a switch knows a call by, while it lasts.
#[derive(Clone, Debug)]
pub struct Identity {
    pub edge_id: String,
    pub call_id: String,
    /// Empty when none was sent.
    pub from_tag: String,
}

pub async fn find(conn: &mut Conn, token: CallId) -> Result<Option<LiveCall>, DbError> {
    conn.opt(sql!("SELECT ", LiveCall::COLS, " FROM live_calls WHERE token = $1"), params![token]).await
}

/// Adds a call, unless one of the same identity goes the same way at its trunk.
pub async fn insert(conn: &mut Conn, identity: &Identity, call: &LiveCall) -> Result<bool, DbError> {
    let statement = inserting(identity, call);
    Ok(conn.exec(statement.text, &statement.params).await? == 1)
}

/// The same as a statement.
pub fn inserting(identity: &Identity, call: &LiveCall) -> Statement {
    Statement::new(
        sql!(
            "INSERT INTO live_calls (token, call_id, account_id, trunk_id, leg, zone, calling, called, country,
                 destination_name, prefix, currency, rate_per_minute, connect_fee, increment_seconds,
                 minimum_seconds, rate_upstream_id, routes, target_uri, upstream_id, started_at, answered_at, seen_at,
                 reserved, reserved_seconds, expires_at, hang_up, edge_id, from_tag)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                 $22, $23, $24, $25, $26, $27, $28, $29)
             ON CONFLICT (edge_id, call_id, from_tag, trunk_id, leg) DO NOTHING"
        ),
        params![
            call.token,
            call.call_id,
            call.account_id,
            call.trunk_id,
            call.leg,
            call.zone,
            call.calling,
            call.called,
            call.country,
            call.destination_name,
            call.prefix,
            call.currency,
            call.rate_per_minute,
            call.connect_fee,
            call.increment_seconds,
            call.minimum_seconds,
            call.rate_upstream_id,
            call.routes,
            call.target_uri,
            call.upstream_id,
            call.started_at,
            call.answered_at,
            call.seen_at,
            call.reserved,
            call.reserved_seconds,
            call.expires_at,
            call.hang_up,
            identity.edge_id,
            identity.from_tag
        ],
    )
}

/// A call that somebody speaks of, and what its account may do.
#[derive(Clone, Debug)]
pub struct Watched {
    pub call: LiveCall,
    pub is_account_active: bool,
    /// What calls may cost in a day, once the account chose it.
    pub max_spend_per_day: Option<i64>,
}

impl db::FromRow for Watched {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(Watched {
            call: LiveCall::from_column(row, 0)?,
            is_account_active: row.get(LiveCall::WIDTH)?,
            max_spend_per_day: row.get(LiveCall::WIDTH + 1)?,
        })
    }
}

/// The call, which nobody else can change before we commit.
pub async fn lock(conn: &mut Conn, token: CallId) -> Result<Option<Watched>, DbError> {
    conn.opt(
        sql!(
            "SELECT ",
            LiveCall::COLS,
            ", EXISTS (SELECT 1 FROM onboardings WHERE onboardings.account_id = live_calls.account_id
                   AND onboarding_status = 'approved' AND suspended_from IS NULL),
               (SELECT max_spend_per_day FROM fraud_caps WHERE fraud_caps.account_id = live_calls.account_id)
             FROM live_calls WHERE token = $1 /*pg FOR UPDATE */"
        ),
        params![token],
    )
    .await
}

/// Calls of which nobody has spoken since their money was let go of before this moment. Those that somebody is about to
/// change are left to them.
pub async fn lock_vanished(conn: &mut Conn, cutoff: Time, limit: i64) -> Result<Vec<LiveCall>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            LiveCall::COLS,
            " FROM live_calls WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 /*pg FOR UPDATE SKIP LOCKED */"
        ),
        params![cutoff, limit],
    )
    .await
}

/// What there is to say of a call that goes on.
#[derive(Clone, Debug)]
pub struct Progress {
    pub answered_at: Option<Time>,
    pub upstream_id: Option<UpstreamId>,
    pub seen_at: Time,
    pub reserved: i64,
    pub reserved_seconds: i64,
    pub expires_at: Time,
}

pub async fn progress(conn: &mut Conn, token: CallId, progress: &Progress) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE live_calls SET answered_at = $2, upstream_id = $3, seen_at = $4, reserved = $5,
                 reserved_seconds = $6, expires_at = $7
             WHERE token = $1"
        ),
        params![
            token,
            progress.answered_at,
            progress.upstream_id,
            progress.seen_at,
            progress.reserved,
            progress.reserved_seconds,
            progress.expires_at
        ],
    )
    .await?;
    Ok(())
}

pub async fn remove(conn: &mut Conn, token: CallId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM live_calls WHERE token = $1"), params![token]).await?;
    Ok(())
}

/// Whether a call has its record already.
pub async fn was_kept(conn: &mut Conn, token: CallId) -> Result<bool, DbError> {
    let Some(started_at) = token.started_at() else { return Ok(false) };
    let found: Option<(CallId,)> = conn
        .opt(sql!("SELECT id FROM cdrs WHERE id = $1 AND started_at = $2 AND NOT imported"), params![token, started_at])
        .await?;
    Ok(found.is_some())
}

/// Beyond this nobody needs the exact number.
const COUNTED_AT_MOST: i64 = 100_000;

/// How many calls go on.
pub async fn in_progress(conn: &mut Conn) -> Result<i64, DbError> {
    let (calls,) = conn
        .one(sql!("SELECT COUNT(*) FROM (SELECT token FROM live_calls LIMIT $1) AS going_on"), params![COUNTED_AT_MOST])
        .await?;
    Ok(calls)
}
