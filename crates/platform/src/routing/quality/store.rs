//! Tables `route_stats` and `route_breakers`.

use rating::quality::Counts;

use super::BreakerChange;
use db::{Conn, DbError, params, row, sql};
use values::{Time, UpstreamId};

/// How long the team is not told again that the same breaker opened, and the time that [`MAX_ANNOUNCED`] is for.
const ANNOUNCE_MILLIS: i64 = 600_000;
/// Breakers that the team is told about in that time: an upstream that fails everywhere is one trouble, not thousands.
const MAX_ANNOUNCED: i64 = 20;

row! {
    /// The counts of a route in a minute.
    #[derive(Clone, Debug)]
    pub struct StatsRow {
        pub minute: i64,
        pub destination_name: String,
        pub upstream_id: UpstreamId,
        pub attempts: i64,
        pub answered: i64,
        pub ended: i64,
        pub seconds: i64,
        pub delays: i64,
        pub delay_millis: i64,
    }
}

impl StatsRow {
    pub fn new(minute: i64, destination_name: &str, upstream_id: UpstreamId, counts: &Counts) -> StatsRow {
        let Counts { attempts, answered, ended, seconds, delays, delay_millis } = *counts;
        let destination_name = destination_name.to_owned();
        StatsRow { minute, destination_name, upstream_id, attempts, answered, ended, seconds, delays, delay_millis }
    }

    pub fn key(&self) -> (i64, &str, UpstreamId) {
        (self.minute, &self.destination_name, self.upstream_id)
    }

    pub fn counts(&self) -> Counts {
        let StatsRow { attempts, answered, ended, seconds, delays, delay_millis, .. } = *self;
        Counts { attempts, answered, ended, seconds, delays, delay_millis }
    }
}

/// Adds counts to those of all nodes, and returns what there is now.
pub async fn add(conn: &mut Conn, row: &StatsRow) -> Result<Counts, DbError> {
    let total: StatsRow = conn
        .one(
            sql!(
                "INSERT INTO route_stats (",
                StatsRow::COLS,
                ", updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                 ON CONFLICT (minute, destination_name, upstream_id) DO UPDATE SET
                     attempts = route_stats.attempts + excluded.attempts,
                     answered = route_stats.answered + excluded.answered,
                     ended = route_stats.ended + excluded.ended,
                     seconds = route_stats.seconds + excluded.seconds,
                     delays = route_stats.delays + excluded.delays,
                     delay_millis = route_stats.delay_millis + excluded.delay_millis,
                     updated_at = excluded.updated_at
                 RETURNING ",
                StatsRow::COLS
            ),
            params![
                row.minute,
                row.destination_name,
                row.upstream_id,
                row.attempts,
                row.answered,
                row.ended,
                row.seconds,
                row.delays,
                row.delay_millis,
                conn.now()
            ],
        )
        .await?;
    Ok(total.counts())
}

/// Counts that changed since then, of minutes from `first` on.
pub async fn stats_since(conn: &mut Conn, since: Time, first: i64, limit: i64) -> Result<Vec<StatsRow>, DbError> {
    conn.all(
        sql!("SELECT ", StatsRow::COLS, " FROM route_stats WHERE updated_at >= $1 AND minute >= $2 LIMIT $3"),
        params![since, first, limit],
    )
    .await
}

row! {
    /// A breaker as a node saw it last.
    #[derive(Clone, Debug)]
    pub struct BreakerRow {
        pub destination_name: String,
        pub upstream_id: UpstreamId,
        pub is_open: bool,
        pub changed_at: Time,
    }
}

/// Breakers that changed since then.
pub async fn breakers_since(conn: &mut Conn, since: Time, limit: i64) -> Result<Vec<BreakerRow>, DbError> {
    conn.all(
        sql!("SELECT ", BreakerRow::COLS, " FROM route_breakers WHERE changed_at >= $1 LIMIT $2"),
        params![since, limit],
    )
    .await
}

/// Deletes counts of minutes before `first`, and breakers that did not change for so long.
pub async fn purge(conn: &mut Conn, first: i64, breaker_ttl_millis: i64) -> Result<(), DbError> {
    let cutoff = Time::from_millis(conn.now().millis() - breaker_ttl_millis);
    conn.exec(sql!("DELETE FROM route_stats WHERE minute < $1"), params![first]).await?;
    conn.exec(sql!("DELETE FROM route_breakers WHERE changed_at < $1"), params![cutoff]).await?;
    Ok(())
}

/// Breakers that are open, up to `limit`.
pub async fn count_open(conn: &mut Conn, limit: i64) -> Result<i64, DbError> {
    let (open,) = conn
        .one(
            sql!("SELECT COUNT(*) FROM (SELECT upstream_id FROM route_breakers WHERE is_open LIMIT $1) AS one"),
            params![limit],
        )
        .await?;
    Ok(open)
}

/// Saves a change of a breaker; whether the team is to be told: not if another node was first, or if it was told of
/// enough changes lately.
pub async fn save_change(conn: &mut Conn, change: &BreakerChange) -> Result<bool, DbError> {
    let BreakerChange { destination, upstream, is_open, sip_code, at } = change;
    let known: Option<(bool,)> = conn
        .opt(
            sql!(
                "SELECT is_open FROM route_breakers WHERE destination_name = $1 AND upstream_id = $2 /*pg FOR UPDATE */"
            ),
            params![*destination, *upstream],
        )
        .await?;
    conn.exec(
        sql!(
            "INSERT INTO route_breakers (destination_name, upstream_id, is_open, sip_code, opened_at, changed_at,
                 is_announced)
             VALUES ($1, $2, $3, $4, $5, $5, FALSE)
             ON CONFLICT (destination_name, upstream_id) DO UPDATE SET is_open = excluded.is_open,
                 sip_code = excluded.sip_code, changed_at = excluded.changed_at,
                 opened_at = CASE WHEN excluded.is_open AND NOT route_breakers.is_open THEN excluded.opened_at
                                  ELSE route_breakers.opened_at END"
        ),
        params![*destination, *upstream, *is_open, *sip_code, *at],
    )
    .await?;
    if known.is_some_and(|(was_open,)| was_open) == *is_open {
        return Ok(false);
    }
    let told = if *is_open {
        let cutoff = Time::from_millis(at.millis() - ANNOUNCE_MILLIS);
        conn.exec(
            sql!(
                "UPDATE route_breakers SET announced_at = $3, is_announced = TRUE
                 WHERE destination_name = $1 AND upstream_id = $2 AND (announced_at IS NULL OR announced_at < $4)
                   AND (SELECT COUNT(*) FROM route_breakers AS told WHERE told.announced_at >= $4) < $5"
            ),
            params![*destination, *upstream, *at, cutoff, MAX_ANNOUNCED],
        )
        .await?
    } else {
        conn.exec(
            sql!(
                "UPDATE route_breakers SET is_announced = FALSE
                 WHERE destination_name = $1 AND upstream_id = $2 AND is_announced"
            ),
            params![*destination, *upstream],
        )
        .await?
    };
    Ok(told > 0)
}
