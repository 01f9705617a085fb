//! Statements behind the lists of CDRs. Each reads a bounded number of rows along one index and only then applies the
//! filters: the inner LIMIT keeps the planner from choosing another index. So each index has its own text, and all
//! texts have the same filters and parameters. The inner SELECT names the columns that are needed: PostgreSQL would copy
//! all columns of a `*`.

use std::cmp::Reverse;

use super::{CdrCursor, CdrFilter, Scan, position};
use crate::cdrs::terms::{CallStatus, HungUpBy, Leg};
use db::{Conn, DbError, Param, Row, Value, params, pg_sql, row, sql};
use identity::balance::CURRENCY;
use values::{AccountId, CallId, Country, Currency, Money, Time, TrunkId, UpstreamId};

row! {
    /// A CDR as listed and exported.
    #[derive(Clone, Debug)]
    pub struct CdrListRow {
        pub id: CallId,
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        pub upstream_id: Option<UpstreamId>,
        pub call_id: String,
        pub leg: Leg,
        pub started_at: Time,
        pub answered_at: Option<Time>,
        pub ended_at: Option<Time>,
        pub duration_seconds: i64,
        pub calling: String,
        pub called: String,
        pub country: Option<Country>,
        pub destination_name: Option<String>,
        pub status: CallStatus,
        pub currency: Currency,
        pub charge: i64,
        pub cost: i64,
        pub hung_up_by: Option<HungUpBy>,
    }
}

/// A CDR of a customer's list, as it stands in its row: the texts are those of the row.
pub struct CdrItem<'r> {
    pub id: CallId,
    pub call_id: &'r str,
    pub leg: &'r str,
    pub started_at: Time,
    pub answered_at: Option<Time>,
    pub ended_at: Option<Time>,
    pub duration_seconds: i64,
    pub calling: &'r str,
    pub called: &'r str,
    pub country: Option<&'r str>,
    pub destination_name: Option<&'r str>,
    pub status: &'r str,
    pub charge: Money,
    pub trunk_id: TrunkId,
}

impl<'r> CdrItem<'r> {
    /// Reads the columns of [`each_newest`].
    fn from_row(row: &'r Row<'_>) -> Result<CdrItem<'r>, DbError> {
        let text = |index| row.text(index).map(Option::unwrap_or_default);
        let currency = match text(13)? {
            code if code == CURRENCY.code() => CURRENCY,
            _ => row.get(13)?,
        };
        Ok(CdrItem {
            id: row.get(0)?,
            call_id: text(1)?,
            leg: text(2)?,
            started_at: row.get(3)?,
            answered_at: row.get(4)?,
            ended_at: row.get(5)?,
            duration_seconds: row.get(6)?,
            calling: text(7)?,
            called: text(8)?,
            country: row.text(9)?,
            destination_name: row.text(10)?,
            status: text(11)?,
            charge: Money::from_nanos(row.get(12)?, currency),
            trunk_id: row.get(14)?,
        })
    }
}

impl<'r> From<&'r CdrListRow> for CdrItem<'r> {
    fn from(row: &'r CdrListRow) -> Self {
        CdrItem {
            id: row.id,
            call_id: &row.call_id,
            leg: row.leg.as_str(),
            started_at: row.started_at,
            answered_at: row.answered_at,
            ended_at: row.ended_at,
            duration_seconds: row.duration_seconds,
            calling: &row.calling,
            called: &row.called,
            country: row.country.map(Country::code),
            destination_name: row.destination_name.as_deref(),
            status: row.status.as_str(),
            charge: Money::from_nanos(row.charge, row.currency),
            trunk_id: row.trunk_id,
        }
    }
}

/// The name of an item's trunk, if the statement looked it up.
pub enum TrunkName<'r> {
    Found(Option<&'r str>),
    Unknown,
}

/// When the hot window begins, if the statement looked it up; none while nothing is archived.
pub enum HotWindow {
    Found(Option<Time>),
    Unknown,
}

/// Visits an account's newest CDRs, the most frequent query, in their order. On PostgreSQL one round trip also finds the
/// names of their trunks and, if there are CDRs, the hot window; on SQLite a join would look every row's trunk up.
pub async fn each_newest(
    conn: &mut Conn,
    account: AccountId,
    limit: i64,
    mut visit: impl FnMut(CdrItem<'_>, TrunkName<'_>) + Send,
) -> Result<HotWindow, DbError> {
    if conn.is_in_process() {
        let text = sql!(
            "SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country,
                    destination_name, status, charge, currency, trunk_id
             FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT $2"
        );
        conn.each_row(text, params![account, limit], |row| {
            visit(CdrItem::from_row(&row)?, TrunkName::Unknown);
            Ok(())
        })
        .await?;
        return Ok(HotWindow::Unknown);
    }
    // Without a range and with a literal limit, PostgreSQL keeps one plan for all parameters and saves itself planning,
    // which takes longer than reading.
    let text = pg_sql!(
        "SELECT cdr.id, cdr.call_id, cdr.leg, cdr.started_at, cdr.answered_at, cdr.ended_at, cdr.duration_seconds,
                cdr.calling, cdr.called, cdr.country, cdr.destination_name, cdr.status, cdr.charge, cdr.currency,
                cdr.trunk_id, trunk.name, (SELECT NULLIF(hot_from, 0) FROM cdr_archive WHERE id = 1)
         FROM (SELECT id, call_id, leg, started_at, answered_at, ended_at, duration_seconds, calling, called, country,
                      destination_name, status, charge, currency, trunk_id
               FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 201) AS cdr
         LEFT JOIN trunks AS trunk ON trunk.id = cdr.trunk_id
         ORDER BY cdr.started_at DESC, cdr.id DESC LIMIT $2"
    );
    let mut window = HotWindow::Unknown;
    conn.each_row(text, params![account, limit], |row| {
        visit(CdrItem::from_row(&row)?, TrunkName::Found(row.text(15)?));
        if let HotWindow::Unknown = window {
            window = HotWindow::Found(row.get(16)?);
        }
        Ok(())
    })
    .await?;
    Ok(window)
}

/// How many of the newest CDRs [`list_newest`] and [`each_newest`] can return.
pub const MAX_NEWEST: i64 = 201;

/// The newest CDRs of an account or of all, by a plan that PostgreSQL keeps.
pub async fn list_newest(conn: &mut Conn, account: Option<AccountId>, limit: i64) -> Result<Vec<CdrListRow>, DbError> {
    let of_account = sql!(
        "SELECT ",
        CdrListRow::COLS,
        " FROM (SELECT ",
        CdrListRow::COLS,
        " FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 201) AS newest
         LIMIT $2"
    );
    let of_all = sql!(
        "SELECT ",
        CdrListRow::COLS,
        " FROM (SELECT ",
        CdrListRow::COLS,
        " FROM cdrs ORDER BY id DESC LIMIT 201) AS newest
         LIMIT $1"
    );
    let mut rows: Vec<CdrListRow> = match account {
        Some(account) => conn.all(of_account, params![account, limit]).await?,
        None => conn.all(of_all, params![limit]).await?,
    };
    rows.sort_by_key(|row| Reverse((row.started_at, row.id)));
    Ok(rows)
}

/// Scans up to `scanned` CDRs before a cursor and returns those that match, newest first.
pub async fn list(
    conn: &mut Conn,
    scan: &Scan<'_>,
    filter: &CdrFilter,
    (at, id): CdrCursor,
    scanned: i64,
    limit: i64,
) -> Result<Vec<CdrListRow>, DbError> {
    let text = match scan {
        // By the primary key, since ids are in the order of the calls; the times select the partitions.
        Scan::AllAccounts => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE started_at >= $1 AND started_at <= $2 AND id > $13 AND id < $3
                    ORDER BY id DESC LIMIT $4) AS scanned
             WHERE (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
        Scan::Account(_) => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE account_id = $13 AND started_at >= $1 AND started_at <= $2
                      AND (started_at, id) < ($2, $3)
                    ORDER BY started_at DESC, id DESC LIMIT $4) AS scanned
             WHERE (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
        Scan::Trunk(..) => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE account_id = $13 AND trunk_id = $14 AND started_at >= $1
                      AND started_at <= $2 AND (started_at, id) < ($2, $3)
                    ORDER BY started_at DESC, id DESC LIMIT $4) AS scanned
             WHERE (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
        // Either kind of call has an index of its own.
        Scan::CallId(_) => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT * FROM (
                 SELECT * FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE call_id = $13 AND imported AND started_at >= $1
                                  AND started_at <= $2 AND (started_at, id) < ($2, $3)
                                ORDER BY started_at DESC, id DESC LIMIT $4) AS imported_calls
                 UNION ALL
                 SELECT * FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE call_id = $13 AND NOT imported AND started_at >= $1
                                  AND started_at <= $2 AND (started_at, id) < ($2, $3)
                                ORDER BY started_at DESC, id DESC LIMIT $4) AS switched_calls) AS calls
                    ORDER BY started_at DESC, id DESC LIMIT $4) AS scanned
             WHERE (account_id = $14 OR $14 IS NULL)
               AND (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
        Scan::Called(..) => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE account_id = $13 AND called /*pg COLLATE \"C\" */ >= $14
                      AND called /*pg COLLATE \"C\" */ < $15 AND started_at >= $1 AND started_at <= $2
                      AND (started_at, id) < ($2, $3)
                    ORDER BY called /*pg COLLATE \"C\" */, started_at, id LIMIT $4) AS scanned
             WHERE (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
        Scan::Calling(..) => sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM (SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE account_id = $13 AND calling /*pg COLLATE \"C\" */ >= $14
                      AND calling /*pg COLLATE \"C\" */ < $15 AND started_at >= $1 AND started_at <= $2
                      AND (started_at, id) < ($2, $3)
                    ORDER BY calling /*pg COLLATE \"C\" */, started_at, id LIMIT $4) AS scanned
             WHERE (trunk_id = $6 OR $6 IS NULL) AND (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL)
               AND (leg = $9 OR $9 IS NULL) AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $5"
        ),
    };
    let bounds = scan.bounds(filter);
    let params: Vec<Value<'_>> = params![
        filter.from,
        at,
        scan.end((at, id)),
        scanned,
        limit,
        filter.trunk,
        filter.upstream,
        filter.status,
        filter.leg,
        filter.country,
        filter.calling,
        filter.called
    ]
    .iter()
    .map(Value::to_owned)
    .chain(bounds)
    .collect();
    conn.all(text, &params).await
}

/// Counts the CDRs of a scan before a cursor, up to `limit`; only for scans by number.
pub async fn count(
    conn: &mut Conn,
    scan: &Scan<'_>,
    filter: &CdrFilter,
    (at, id): CdrCursor,
    limit: i64,
) -> Result<i64, DbError> {
    let text = match scan {
        Scan::Called(..) => sql!(
            "SELECT COUNT(*) FROM (SELECT id FROM cdrs WHERE account_id = $5 AND called /*pg COLLATE \"C\" */ >= $6
                 AND called /*pg COLLATE \"C\" */ < $7 AND started_at >= $1 AND started_at <= $2
                 AND (started_at, id) < ($2, $3)
             ORDER BY called /*pg COLLATE \"C\" */, started_at, id LIMIT $4) AS found"
        ),
        Scan::Calling(..) => sql!(
            "SELECT COUNT(*) FROM (SELECT id FROM cdrs WHERE account_id = $5
                 AND calling /*pg COLLATE \"C\" */ >= $6 AND calling /*pg COLLATE \"C\" */ < $7
                 AND started_at >= $1 AND started_at <= $2 AND (started_at, id) < ($2, $3)
             ORDER BY calling /*pg COLLATE \"C\" */, started_at, id LIMIT $4) AS found"
        ),
        Scan::AllAccounts | Scan::Account(_) | Scan::Trunk(..) | Scan::CallId(_) => return Ok(limit),
    };
    let bounds = scan.bounds(filter);
    let params: Vec<Value<'_>> =
        params![filter.from, at, id, limit].iter().map(Value::to_owned).chain(bounds).collect();
    let (count,) = conn.one(text, &params).await?;
    Ok(count)
}

/// The last of the next `scanned` CDRs before a cursor, if there are as many; only for scans by time.
pub async fn last_scanned(
    conn: &mut Conn,
    scan: &Scan<'_>,
    filter: &CdrFilter,
    (at, id): CdrCursor,
    scanned: i64,
) -> Result<Option<CdrCursor>, DbError> {
    let text = match scan {
        Scan::AllAccounts => sql!(
            "SELECT started_at, id FROM cdrs WHERE started_at >= $1 AND started_at <= $2 AND id > $5 AND id < $3
             ORDER BY id DESC LIMIT 1 OFFSET $4"
        ),
        Scan::Account(_) => sql!(
            "SELECT started_at, id FROM cdrs
             WHERE account_id = $5 AND started_at >= $1 AND started_at <= $2 AND (started_at, id) < ($2, $3)
             ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $4"
        ),
        Scan::Trunk(..) => sql!(
            "SELECT started_at, id FROM cdrs
             WHERE account_id = $5 AND trunk_id = $6 AND started_at >= $1 AND started_at <= $2
               AND (started_at, id) < ($2, $3)
             ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $4"
        ),
        Scan::CallId(_) => sql!(
            "SELECT started_at, id FROM (
                 SELECT * FROM (SELECT started_at, id FROM cdrs WHERE call_id = $5 AND imported AND started_at >= $1
                                  AND started_at <= $2 AND (started_at, id) < ($2, $3)
                                ORDER BY started_at DESC, id DESC LIMIT CAST($4 AS BIGINT) + 1) AS imported_calls
                 UNION ALL
                 SELECT * FROM (SELECT started_at, id FROM cdrs WHERE call_id = $5 AND NOT imported AND started_at >= $1
                                  AND started_at <= $2 AND (started_at, id) < ($2, $3)
                                ORDER BY started_at DESC, id DESC LIMIT CAST($4 AS BIGINT) + 1) AS switched_calls
             ) AS calls
             ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $4"
        ),
        Scan::Called(..) | Scan::Calling(..) => return Ok(None),
    };
    let mut bounds = scan.bounds(filter);
    if let Scan::CallId(_) = scan {
        // The account is a filter of the list, not of the scan.
        bounds.truncate(1);
    }
    let params: Vec<Value<'_>> =
        params![filter.from, at, scan.end((at, id)), scanned - 1].iter().map(Value::to_owned).chain(bounds).collect();
    conn.opt(text, &params).await
}

impl Scan<'_> {
    /// The id that a scan ends at: one of all accounts goes by id alone.
    fn end(&self, cursor: CdrCursor) -> CallId {
        match self {
            Scan::AllAccounts => position(cursor),
            _ => cursor.1,
        }
    }

    /// The last parameters of a scan: account, and trunk or number prefix; or Call-ID, and the account to filter by; or
    /// the id that all are after.
    fn bounds(&self, filter: &CdrFilter) -> Vec<Value<'static>> {
        let number = |account: &AccountId, prefix: &str| {
            params![*account, prefix.to_owned(), after_prefix(prefix)].iter().map(Value::to_owned).collect()
        };
        match self {
            Scan::AllAccounts => vec![CallId::first_at(filter.from).to_value().to_owned()],
            Scan::Account(account) => vec![account.to_value().to_owned()],
            Scan::CallId(call_id) => vec![call_id.to_value().to_owned(), filter.account.to_value().to_owned()],
            Scan::Trunk(account, trunk) => vec![account.to_value().to_owned(), trunk.to_value().to_owned()],
            Scan::Called(account, prefix) | Scan::Calling(account, prefix) => number(account, prefix),
        }
    }
}

/// A text greater than every text with this prefix.
pub fn after_prefix(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// The account of a trunk, if the trunk still exists.
pub async fn trunk_account(conn: &mut Conn, trunk: TrunkId) -> Result<Option<AccountId>, DbError> {
    let found: Option<(AccountId,)> =
        conn.opt(sql!("SELECT account_id FROM trunks WHERE id = $1"), params![trunk]).await?;
    Ok(found.map(|(account,)| account))
}

/// An account's CDRs after a cursor and before a time, oldest first, for exports.
pub async fn list_ascending(
    conn: &mut Conn,
    account: AccountId,
    (at, id): CdrCursor,
    to: Time,
    limit: i64,
) -> Result<Vec<CdrListRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE account_id = $1 AND started_at >= $2 AND (started_at, id) > ($2, $3) AND started_at < $4
             ORDER BY started_at, id LIMIT $5"
        ),
        params![account, at, id, to, limit],
    )
    .await
}

/// The CDRs of all accounts after a cursor and before a time, oldest first, for exports.
pub async fn list_all_ascending(
    conn: &mut Conn,
    cursor: CdrCursor,
    to: Time,
    limit: i64,
) -> Result<Vec<CdrListRow>, DbError> {
    // The times select the partitions.
    conn.all(
        sql!(
            "SELECT ",
            CdrListRow::COLS,
            " FROM cdrs WHERE started_at >= $1 AND started_at < $3 AND id > $2 AND id < $5 ORDER BY id LIMIT $4"
        ),
        params![cursor.0, position(cursor), to, limit, CallId::first_at(to)],
    )
    .await
}
