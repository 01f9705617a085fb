//! Table `live_calls`.

use crate::cdrs::{CallTerms, Leg, Route};
use db::{Conn, DbError, FromRow, Inserts, Param, Row, Statement, Value, params, row, row_values, sql, table_row};
use values::{AccountId, CallId, Currency, List, SipUri, Time, TrunkId, UpstreamId};

table_row! {
    /// What changes while a call is live, and where it goes.
    #[derive(Clone, Debug)]
    pub struct LiveState {
        pub routes: List<Route>,
        pub target_uri: Option<SipUri>,
        /// The next hop of an inbound call.
        pub sent_to: Option<SipUri>,
        pub upstream_id: Option<UpstreamId>,
        pub answered_at: Option<Time>,
        pub seen_at: Time,
        pub reserved: i64,
        pub reserved_seconds: i64,
        /// What the ledger holds for it: all that is reserved, or nothing once that has expired.
        pub held: i64,
        pub expires_at: Time,
        pub hang_up: bool,
    }
}

/// A live call. Its columns are `token` and those of [`CallTerms`] and [`LiveState`], in this order.
#[derive(Clone, Debug)]
pub struct LiveCall {
    pub token: CallId,
    pub terms: CallTerms,
    pub state: LiveState,
}

impl LiveCall {
    const WIDTH: usize = 1 + CallTerms::WIDTH + LiveState::WIDTH;
}

impl FromRow for LiveCall {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(LiveCall {
            token: row.get(0)?,
            terms: CallTerms::from_column(row, 1)?,
            state: LiveState::from_column(row, 1 + CallTerms::WIDTH)?,
        })
    }
}

/// What a switch identifies a live call by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallIdentity {
    pub edge_id: String,
    pub call_id: String,
    /// Empty if none was sent; followed by the run of the switch if that was.
    pub from_tag: String,
}

/// For each identity, trunk and leg the call that has them.
pub async fn find_each(
    conn: &mut Conn,
    keys: &[(&CallIdentity, TrunkId, Leg)],
) -> Result<Vec<Option<LiveCall>>, DbError> {
    let lists: Vec<Vec<Value<'_>>> = keys
        .iter()
        .map(|(identity, trunk, leg)| {
            row_values![identity.edge_id, identity.call_id, identity.from_tag, *trunk, *leg].into_iter().collect()
        })
        .collect();
    conn.opt_each(
        sql!(
            "SELECT token, ",
            CallTerms::COLS,
            ", ",
            LiveState::COLS,
            " FROM live_calls WHERE edge_id = $1 AND call_id = $2 AND from_tag = $3 AND trunk_id = $4 AND leg = $5"
        ),
        &lists,
    )
    .await
}

/// Inserts calls, except those that have the identity, trunk and leg of another.
pub fn insert_each<'a>(calls: impl Iterator<Item = (&'a CallIdentity, &'a LiveCall)>) -> Inserts<'a> {
    let values = |(identity, call): (&'a CallIdentity, &'a LiveCall)| {
        let mut values = vec![call.token.to_value()];
        values.extend(call.terms.values());
        values.extend(call.state.values());
        values.extend([identity.edge_id.to_value(), identity.from_tag.to_value()]);
        values
    };
    Inserts {
        text: sql!(
            "INSERT INTO live_calls (token, ",
            CallTerms::COLS,
            ", ",
            LiveState::COLS,
            ", edge_id, from_tag)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
                 $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)
             ON CONFLICT (edge_id, call_id, from_tag, trunk_id, leg) DO NOTHING"
        ),
        lists: calls.map(values).collect(),
    }
}

/// A live call, and whether its account may continue it.
#[derive(Clone, Debug)]
pub struct LockedCall {
    pub call: LiveCall,
    pub is_account_active: bool,
    /// The account's daily fraud cap, if it set one.
    pub max_spend_per_day: Option<i64>,
}

impl FromRow for LockedCall {
    fn from_row(row: &Row<'_>) -> Result<Self, DbError> {
        Ok(LockedCall {
            call: LiveCall::from_row(row)?,
            is_account_active: row.get(LiveCall::WIDTH)?,
            max_spend_per_day: row.get(LiveCall::WIDTH + 1)?,
        })
    }
}

pub async fn lock(conn: &mut Conn, token: CallId) -> Result<Option<LockedCall>, DbError> {
    conn.opt(
        sql!(
            "SELECT token, ",
            CallTerms::COLS,
            ", ",
            LiveState::COLS,
            ", EXISTS (SELECT 1 FROM onboardings WHERE onboardings.account_id = live_calls.account_id
                   AND onboarding_status = 'approved' AND suspended_from IS NULL),
               (SELECT max_spend_per_day FROM fraud_caps WHERE fraud_caps.account_id = live_calls.account_id)
             FROM live_calls WHERE token = $1 /*pg FOR UPDATE */"
        ),
        params![token],
    )
    .await
}

/// Locks calls whose hold expired before `cutoff`, except those that another transaction has locked.
pub async fn lock_stale(conn: &mut Conn, cutoff: Time, limit: i64) -> Result<Vec<LiveCall>, DbError> {
    conn.all(
        sql!(
            "SELECT token, ",
            CallTerms::COLS,
            ", ",
            LiveState::COLS,
            " FROM live_calls WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 /*pg FOR UPDATE SKIP LOCKED */"
        ),
        params![cutoff, limit],
    )
    .await
}

row! {
    /// A live call whose hold has expired.
    #[derive(Debug)]
    pub struct ExpiredHold {
        pub token: CallId,
        pub account_id: AccountId,
        pub currency: Currency,
        pub held: i64,
    }
}

/// Locks calls whose hold has expired after `cutoff` and still counts, except those that another transaction has locked.
pub async fn lock_expired(conn: &mut Conn, cutoff: Time, limit: i64) -> Result<Vec<ExpiredHold>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            ExpiredHold::COLS,
            " FROM live_calls WHERE expires_at <= $1 AND expires_at > $2 AND held > 0 ORDER BY expires_at LIMIT $3
             /*pg FOR UPDATE SKIP LOCKED */"
        ),
        params![conn.now(), cutoff, limit],
    )
    .await
}

/// The statement that ends the hold of a call.
pub fn release_statement(token: CallId) -> Statement {
    Statement::new(sql!("UPDATE live_calls SET held = 0 WHERE token = $1"), params![token])
}

/// Saves what events change of a call.
pub async fn update(conn: &mut Conn, token: CallId, state: &LiveState) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE live_calls SET answered_at = $2, upstream_id = $3, seen_at = $4, reserved = $5,
                 reserved_seconds = $6, held = $7, expires_at = $8
             WHERE token = $1"
        ),
        params![
            token,
            state.answered_at,
            state.upstream_id,
            state.seen_at,
            state.reserved,
            state.reserved_seconds,
            state.held,
            state.expires_at
        ],
    )
    .await?;
    Ok(())
}

/// Saves which routes of a call have failed.
pub async fn save_routes(conn: &mut Conn, token: CallId, routes: &List<Route>) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE live_calls SET routes = $2 WHERE token = $1"), params![token, *routes]).await?;
    Ok(())
}

pub async fn delete(conn: &mut Conn, token: CallId) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM live_calls WHERE token = $1"), params![token]).await?;
    Ok(())
}

/// The count stops here.
const MAX_COUNT: i64 = 100_000;

/// Number of live calls, up to [`MAX_COUNT`].
pub async fn count_live(conn: &mut Conn) -> Result<i64, DbError> {
    let (calls,) = conn
        .one(sql!("SELECT COUNT(*) FROM (SELECT token FROM live_calls LIMIT $1) AS live"), params![MAX_COUNT])
        .await?;
    Ok(calls)
}

row! {
    /// A live call as the team sees it.
    #[derive(Clone, Debug)]
    pub struct LiveListRow {
        pub token: CallId,
        pub edge_id: String,
        pub call_id: String,
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        pub leg: Leg,
        pub zone: String,
        pub calling: String,
        pub called: String,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub upstream_id: Option<UpstreamId>,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub currency: Currency,
        pub reserved: i64,
        pub reserved_seconds: i64,
        pub hang_up: bool,
    }
}

/// The index that a list of live calls reads along.
#[derive(Clone, Copy, Debug)]
pub enum Along {
    All,
    Account(AccountId),
}

/// Live calls before a cursor, newest first, along an index. The time in a token is the start of its call, so tokens
/// are in the order of the calls.
pub async fn list(
    conn: &mut Conn,
    along: Along,
    (at, token): (Time, CallId),
    limit: i64,
) -> Result<Vec<LiveListRow>, DbError> {
    match along {
        Along::Account(account) => {
            let sql = sql!(
                "SELECT ",
                LiveListRow::COLS,
                " FROM live_calls WHERE account_id = $1 AND (started_at, token) < ($2, $3)
                  ORDER BY started_at DESC, token DESC LIMIT $4"
            );
            conn.all(sql, params![account, at, token, limit]).await
        }
        Along::All => {
            let sql =
                sql!("SELECT ", LiveListRow::COLS, " FROM live_calls WHERE token < $1 ORDER BY token DESC LIMIT $2");
            conn.all(sql, params![token, limit]).await
        }
    }
}

/// The account of a trunk.
pub async fn owner_of_trunk(conn: &mut Conn, trunk: TrunkId) -> Result<Option<AccountId>, DbError> {
    let found: Option<(AccountId,)> =
        conn.opt(sql!("SELECT account_id FROM trunks WHERE id = $1"), params![trunk]).await?;
    Ok(found.map(|(account,)| account))
}

pub async fn show(conn: &mut Conn, token: CallId) -> Result<Option<LiveListRow>, DbError> {
    conn.opt(sql!("SELECT ", LiveListRow::COLS, " FROM live_calls WHERE token = $1"), params![token]).await
}

/// Marks a call to be hung up; false if it is not live.
pub async fn mark_hang_up(conn: &mut Conn, token: CallId) -> Result<bool, DbError> {
    let marked = conn.exec(sql!("UPDATE live_calls SET hang_up = TRUE WHERE token = $1"), params![token]).await?;
    Ok(marked > 0)
}

/// Calls of a switch to be hung up: those that the team marked, and those of suspended accounts.
pub async fn list_to_hang_up(conn: &mut Conn, edge_id: &str, limit: i64) -> Result<Vec<(CallId,)>, DbError> {
    conn.all(
        sql!(
            "SELECT token FROM live_calls WHERE edge_id = $1 AND hang_up
             UNION
             SELECT l.token FROM onboardings o JOIN live_calls l ON l.account_id = o.account_id
             WHERE o.suspended_from IS NOT NULL AND l.edge_id = $1
             LIMIT $2"
        ),
        params![edge_id, limit],
    )
    .await
}
