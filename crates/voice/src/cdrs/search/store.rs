//! The statements behind a list. Each looks at a bounded number of rows, in the order of one index, and only then at
//! the other wishes: the inner LIMIT keeps the engine from choosing a way that is longer.

use std::cmp::Reverse;

use super::{Place, Wanted, beyond};
use crate::calls::{CallStatus, Leg};
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, CallId, Country, Currency, Time, TrunkId, UpstreamId};

row! {
    #[derive(Clone, Debug)]
    pub struct CdrRow {
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
    }
}

/// How many of an account's newest calls are had at once.
pub const NEWEST: i64 = 201;

/// An account's newest calls, which is what is asked for most. Without a range, and with a limit that stands in the
/// text, an engine that plans anew for values it cannot foresee finds that one plan does for all, and saves itself work
/// that takes longer than the reading.
pub async fn newest(conn: &mut Conn, account: AccountId, limit: i64) -> Result<Vec<CdrRow>, DbError> {
    let mut rows: Vec<CdrRow> = conn
        .all(
            sql!(
                "SELECT ",
                CdrRow::COLS,
                " FROM (SELECT * FROM cdrs WHERE account_id = $1 ORDER BY started_at DESC, id DESC LIMIT 201) AS newest
                 LIMIT $2"
            ),
            params![account, limit],
        )
        .await?;
    rows.sort_by_key(|row| Reverse((row.started_at, row.id)));
    Ok(rows)
}

/// Of everybody's calls before a place, those that are wanted among so many. Their index is that of an expression, lest
/// it be taken for the calls of one account; the bare conditions choose the months.
pub async fn of_everybody(
    conn: &mut Conn,
    wanted: &Wanted,
    (at, id): Place,
    looked_at: i64,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM (SELECT * FROM cdrs WHERE started_at >= $1 AND started_at <= $2 AND started_at + 0 >= $1
                      AND started_at + 0 <= $2 AND (started_at + 0, id) < ($2, $3)
                    ORDER BY started_at + 0 DESC, id DESC LIMIT $4) AS looked_at
             WHERE (trunk_id = $5 OR $5 IS NULL) AND (upstream_id = $6 OR $6 IS NULL) AND (status = $7 OR $7 IS NULL)
               AND (leg = $8 OR $8 IS NULL) AND (country = $9 OR $9 IS NULL)
               AND (CAST($10 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($10 AS TEXT))) = $10)
               AND (CAST($11 AS TEXT) IS NULL OR substr(called, 1, length(CAST($11 AS TEXT))) = $11)
             ORDER BY started_at DESC, id DESC LIMIT $12"
        ),
        params![
            wanted.from,
            at,
            id,
            looked_at,
            wanted.trunk,
            wanted.upstream,
            wanted.status,
            wanted.leg,
            wanted.country,
            wanted.calling,
            wanted.called,
            limit
        ],
    )
    .await
}

/// The same of one account.
pub async fn of_account(
    conn: &mut Conn,
    account: AccountId,
    wanted: &Wanted,
    (at, id): Place,
    looked_at: i64,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM (SELECT * FROM cdrs WHERE account_id = $1 AND started_at >= $2 AND started_at <= $3
                      AND (started_at, id) < ($3, $4)
                    ORDER BY started_at DESC, id DESC LIMIT $5) AS looked_at
             WHERE (upstream_id = $6 OR $6 IS NULL) AND (status = $7 OR $7 IS NULL) AND (leg = $8 OR $8 IS NULL)
               AND (country = $9 OR $9 IS NULL)
               AND (CAST($10 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($10 AS TEXT))) = $10)
               AND (CAST($11 AS TEXT) IS NULL OR substr(called, 1, length(CAST($11 AS TEXT))) = $11)
             ORDER BY started_at DESC, id DESC LIMIT $12"
        ),
        params![
            account,
            wanted.from,
            at,
            id,
            looked_at,
            wanted.upstream,
            wanted.status,
            wanted.leg,
            wanted.country,
            wanted.calling,
            wanted.called,
            limit
        ],
    )
    .await
}

/// The same of one trunk.
pub async fn of_trunk(
    conn: &mut Conn,
    (account, trunk): (AccountId, TrunkId),
    wanted: &Wanted,
    (at, id): Place,
    looked_at: i64,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM (SELECT * FROM cdrs WHERE account_id = $1 AND trunk_id = $2 AND started_at >= $3
                      AND started_at <= $4 AND (started_at, id) < ($4, $5)
                    ORDER BY started_at DESC, id DESC LIMIT $6) AS looked_at
             WHERE (upstream_id = $7 OR $7 IS NULL) AND (status = $8 OR $8 IS NULL) AND (leg = $9 OR $9 IS NULL)
               AND (country = $10 OR $10 IS NULL)
               AND (CAST($11 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($11 AS TEXT))) = $11)
               AND (CAST($12 AS TEXT) IS NULL OR substr(called, 1, length(CAST($12 AS TEXT))) = $12)
             ORDER BY started_at DESC, id DESC LIMIT $13"
        ),
        params![
            account,
            trunk,
            wanted.from,
            at,
            id,
            looked_at,
            wanted.upstream,
            wanted.status,
            wanted.leg,
            wanted.country,
            wanted.calling,
            wanted.called,
            limit
        ],
    )
    .await
}

/// The same of numbers that begin like this one, and have been called.
pub async fn of_called(
    conn: &mut Conn,
    (account, called): (AccountId, &str),
    wanted: &Wanted,
    (at, id): Place,
    looked_at: i64,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM (SELECT * FROM cdrs WHERE account_id = $1 AND called /*pg COLLATE \"C\" */ >= $2
                      AND called /*pg COLLATE \"C\" */ < $3 AND started_at >= $4 AND started_at <= $5
                      AND (started_at, id) < ($5, $6)
                    ORDER BY called /*pg COLLATE \"C\" */, started_at, id LIMIT $7) AS looked_at
             WHERE (upstream_id = $8 OR $8 IS NULL) AND (trunk_id = $9 OR $9 IS NULL) AND (status = $10 OR $10 IS NULL)
               AND (leg = $11 OR $11 IS NULL) AND (country = $12 OR $12 IS NULL)
               AND (CAST($13 AS TEXT) IS NULL OR substr(calling, 1, length(CAST($13 AS TEXT))) = $13)
             ORDER BY started_at DESC, id DESC LIMIT $14"
        ),
        params![
            account,
            called,
            beyond(called),
            wanted.from,
            at,
            id,
            looked_at,
            wanted.upstream,
            wanted.trunk,
            wanted.status,
            wanted.leg,
            wanted.country,
            wanted.calling,
            limit
        ],
    )
    .await
}

/// The same of callers that begin like this.
pub async fn of_calling(
    conn: &mut Conn,
    (account, calling): (AccountId, &str),
    wanted: &Wanted,
    (at, id): Place,
    looked_at: i64,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM (SELECT * FROM cdrs WHERE account_id = $1 AND calling /*pg COLLATE \"C\" */ >= $2
                      AND calling /*pg COLLATE \"C\" */ < $3 AND started_at >= $4 AND started_at <= $5
                      AND (started_at, id) < ($5, $6)
                    ORDER BY calling /*pg COLLATE \"C\" */, started_at, id LIMIT $7) AS looked_at
             WHERE (upstream_id = $8 OR $8 IS NULL) AND (trunk_id = $9 OR $9 IS NULL) AND (status = $10 OR $10 IS NULL)
               AND (leg = $11 OR $11 IS NULL) AND (country = $12 OR $12 IS NULL)
               AND (CAST($13 AS TEXT) IS NULL OR substr(called, 1, length(CAST($13 AS TEXT))) = $13)
             ORDER BY started_at DESC, id DESC LIMIT $14"
        ),
        params![
            account,
            calling,
            beyond(calling),
            wanted.from,
            at,
            id,
            looked_at,
            wanted.upstream,
            wanted.trunk,
            wanted.status,
            wanted.leg,
            wanted.country,
            wanted.called,
            limit
        ],
    )
    .await
}

/// How many calls to numbers that begin like this there are before a place, counted up to so many.
pub async fn count_called(
    conn: &mut Conn,
    (account, called): (AccountId, &str),
    wanted: &Wanted,
    (at, id): Place,
    most: i64,
) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM cdrs WHERE account_id = $1 AND called /*pg COLLATE \"C\" */ >= $2
                     AND called /*pg COLLATE \"C\" */ < $3 AND started_at >= $4 AND started_at <= $5
                     AND (started_at, id) < ($5, $6)
                 ORDER BY called /*pg COLLATE \"C\" */, started_at, id LIMIT $7) AS found"
            ),
            params![account, called, beyond(called), wanted.from, at, id, most],
        )
        .await?;
    Ok(count)
}

/// The same of callers.
pub async fn count_calling(
    conn: &mut Conn,
    (account, calling): (AccountId, &str),
    wanted: &Wanted,
    (at, id): Place,
    most: i64,
) -> Result<i64, DbError> {
    let (count,) = conn
        .one(
            sql!(
                "SELECT COUNT(*) FROM (SELECT id FROM cdrs WHERE account_id = $1
                     AND calling /*pg COLLATE \"C\" */ >= $2 AND calling /*pg COLLATE \"C\" */ < $3
                     AND started_at >= $4 AND started_at <= $5 AND (started_at, id) < ($5, $6)
                 ORDER BY calling /*pg COLLATE \"C\" */, started_at, id LIMIT $7) AS found"
            ),
            params![account, calling, beyond(calling), wanted.from, at, id, most],
        )
        .await?;
    Ok(count)
}

/// The last of so many calls before a place, if there are as many.
pub async fn last_of_everybody(
    conn: &mut Conn,
    from: Time,
    (at, id): Place,
    looked_at: i64,
) -> Result<Option<Place>, DbError> {
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs
             WHERE started_at >= $1 AND started_at <= $2 AND started_at + 0 >= $1 AND started_at + 0 <= $2
               AND (started_at + 0, id) < ($2, $3)
             ORDER BY started_at + 0 DESC, id DESC LIMIT 1 OFFSET $4"
        ),
        params![from, at, id, looked_at - 1],
    )
    .await
}

/// The same of one account.
pub async fn last_of_account(
    conn: &mut Conn,
    account: AccountId,
    from: Time,
    (at, id): Place,
    looked_at: i64,
) -> Result<Option<Place>, DbError> {
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs
             WHERE account_id = $1 AND started_at >= $2 AND started_at <= $3 AND (started_at, id) < ($3, $4)
             ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $5"
        ),
        params![account, from, at, id, looked_at - 1],
    )
    .await
}

/// The same of one trunk.
pub async fn last_of_trunk(
    conn: &mut Conn,
    (account, trunk): (AccountId, TrunkId),
    from: Time,
    (at, id): Place,
    looked_at: i64,
) -> Result<Option<Place>, DbError> {
    conn.opt(
        sql!(
            "SELECT started_at, id FROM cdrs
             WHERE account_id = $1 AND trunk_id = $2 AND started_at >= $3 AND started_at <= $4
               AND (started_at, id) < ($4, $5)
             ORDER BY started_at DESC, id DESC LIMIT 1 OFFSET $6"
        ),
        params![account, trunk, from, at, id, looked_at - 1],
    )
    .await
}

/// Whose a trunk is, if it is still there.
pub async fn owner(conn: &mut Conn, trunk: TrunkId) -> Result<Option<AccountId>, DbError> {
    let found: Option<(AccountId,)> =
        conn.opt(sql!("SELECT account_id FROM trunks WHERE id = $1"), params![trunk]).await?;
    Ok(found.map(|(account,)| account))
}

/// An account's calls after this place and before a moment, the oldest first, as a file has them.
pub async fn onwards(
    conn: &mut Conn,
    account: AccountId,
    (at, id): (Time, CallId),
    to: Time,
    limit: i64,
) -> Result<Vec<CdrRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            CdrRow::COLS,
            " FROM cdrs WHERE account_id = $1 AND started_at >= $2 AND (started_at, id) > ($2, $3) AND started_at < $4
             ORDER BY started_at, id LIMIT $5"
        ),
        params![account, at, id, to, limit],
    )
    .await
}
