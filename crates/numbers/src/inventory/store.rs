//! The groups and the numbers in them. Whoever changes a number's group or state counts it there, in the same
//! transaction; numbers come before groups, and groups in the order of their ids, so that nobody waits in a circle.

use super::types::{InventoryId, NumberCapability, NumberType, Regulatory, StockId, StockState};
use db::{Conn, DbError, params, row, sql};
use values::{Country, E164, Time, UpstreamId, Words};

row! {
    #[derive(Clone, Debug)]
    pub struct GroupRow {
        pub id: InventoryId,
        pub country: Country,
        pub kind: NumberType,
        pub area_name: String,
        pub prefix: String,
        pub capabilities: Words<NumberCapability>,
        pub monthly: i64,
        pub setup: i64,
        pub regulatory: Regulatory,
        pub free: i64,
    }
}

/// Which groups are listed.
pub struct WantedGroups {
    pub country: Option<Country>,
    pub kind: Option<NumberType>,
    pub capability: Option<NumberCapability>,
    pub prefix: Option<String>,
    pub regulatory: Option<Regulatory>,
}

/// Groups with free numbers, newest first, after this one.
pub async fn groups(
    conn: &mut Conn,
    wanted: &WantedGroups,
    after: InventoryId,
    limit: i64,
) -> Result<Vec<GroupRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            GroupRow::COLS,
            " FROM number_groups
             WHERE free > 0 AND id < $1
               AND (country = $2 OR $2 IS NULL) AND (kind = $3 OR $3 IS NULL)
               AND (CAST($4 AS TEXT) IS NULL OR ' ' || capabilities || ' ' LIKE '% ' || $4 || ' %')
               AND (CAST($5 AS TEXT) IS NULL OR substr(prefix, 1, length(CAST($5 AS TEXT))) = $5) AND (regulatory = $6 OR $6 IS NULL)
             ORDER BY id DESC LIMIT $7"
        ),
        params![after, wanted.country, wanted.kind, wanted.capability, wanted.prefix, wanted.regulatory, limit],
    )
    .await
}

pub async fn group(conn: &mut Conn, id: InventoryId) -> Result<Option<GroupRow>, DbError> {
    conn.opt(sql!("SELECT ", GroupRow::COLS, " FROM number_groups WHERE id = $1"), params![id]).await
}

/// The groups with free numbers of an area, those that cost least first.
pub async fn groups_of_area(
    conn: &mut Conn,
    country: Country,
    kind: NumberType,
    area_code: &str,
    limit: i64,
) -> Result<Vec<GroupRow>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            GroupRow::COLS,
            " FROM number_groups WHERE country = $1 AND kind = $2 AND area_code = $3 AND free > 0
             ORDER BY setup + monthly, regulatory, id LIMIT $4"
        ),
        params![country, kind, area_code, limit],
    )
    .await
}

row! {
    /// What makes a group one.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Terms {
        pub country: Country,
        pub kind: NumberType,
        pub area_name: String,
        pub prefix: String,
        pub area_code: String,
        pub capabilities: Words<NumberCapability>,
        pub monthly: i64,
        pub setup: i64,
        pub regulatory: Regulatory,
    }
}

pub async fn terms(conn: &mut Conn, group: InventoryId) -> Result<Terms, DbError> {
    conn.one(sql!("SELECT ", Terms::COLS, " FROM number_groups WHERE id = $1"), params![group]).await
}

/// The group of these terms, which is `new` if there was none.
pub async fn group_of(conn: &mut Conn, terms: &Terms, new: InventoryId) -> Result<InventoryId, DbError> {
    if let Some(id) = find_group(conn, terms).await? {
        return Ok(id);
    }
    conn.exec(
        sql!(
            "INSERT INTO number_groups (id, country, kind, area_name, prefix, area_code, capabilities, monthly, setup,
                                        regulatory, free)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0)
             ON CONFLICT (country, kind, prefix, area_name, capabilities, monthly, setup, regulatory) DO NOTHING"
        ),
        params![
            new,
            terms.country,
            terms.kind,
            terms.area_name,
            terms.prefix,
            terms.area_code,
            terms.capabilities,
            terms.monthly,
            terms.setup,
            terms.regulatory
        ],
    )
    .await?;
    find_group(conn, terms).await?.ok_or(DbError::NotFound)
}

async fn find_group(conn: &mut Conn, terms: &Terms) -> Result<Option<InventoryId>, DbError> {
    let found: Option<(InventoryId,)> = conn
        .opt(
            sql!(
                "SELECT id FROM number_groups
                 WHERE country = $1 AND kind = $2 AND prefix = $3 AND area_name = $4 AND capabilities = $5
                   AND monthly = $6 AND setup = $7 AND regulatory = $8"
            ),
            params![
                terms.country,
                terms.kind,
                terms.prefix,
                terms.area_name,
                terms.capabilities,
                terms.monthly,
                terms.setup,
                terms.regulatory
            ],
        )
        .await?;
    Ok(found.map(|(id,)| id))
}

/// Counts numbers of a group that became free, or no longer are.
pub async fn count(conn: &mut Conn, group: InventoryId, change: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE number_groups SET free = free + $2 WHERE id = $1"), params![group, change]).await?;
    Ok(())
}

row! {
    /// A number that was free a moment ago.
    #[derive(Clone, Debug)]
    pub struct Taken {
        pub id: StockId,
        pub upstream_id: UpstreamId,
        pub e164: E164,
    }
}

/// Takes the lowest free number of a group. Numbers that others are about to take are passed over at first; if there is no other,
/// it waits for what becomes of them. [`count`] is for the caller to do, late in its transaction: others wait for that.
pub async fn take(conn: &mut Conn, group: InventoryId, now: Time) -> Result<Option<Taken>, DbError> {
    let taken = conn
        .opt(
            sql!(
                "UPDATE number_stock SET state = 'taken', updated_at = $2
                 WHERE id = (SELECT id FROM number_stock WHERE group_id = $1 AND state = 'free'
                             ORDER BY e164 LIMIT 1 /*pg FOR UPDATE SKIP LOCKED */)
                 RETURNING ",
                Taken::COLS
            ),
            params![group, now],
        )
        .await?;
    if taken.is_some() {
        return Ok(taken);
    }
    conn.opt(
        sql!(
            "UPDATE number_stock SET state = 'taken', updated_at = $2
             WHERE id = (SELECT id FROM number_stock WHERE group_id = $1 AND state = 'free'
                         ORDER BY e164 LIMIT 1 /*pg FOR UPDATE */)
             RETURNING ",
            Taken::COLS
        ),
        params![group, now],
    )
    .await
}

/// Puts a number back that somebody had: free, unless it was withdrawn meanwhile.
pub async fn give_back(conn: &mut Conn, id: StockId, now: Time) -> Result<(), DbError> {
    let back: Option<(InventoryId, StockState)> = conn
        .opt(
            sql!(
                "UPDATE number_stock SET state = CASE WHEN is_active THEN 'free' ELSE 'withdrawn' END, updated_at = $2
                 WHERE id = $1 AND state = 'taken' RETURNING group_id, state"
            ),
            params![id, now],
        )
        .await?;
    match back {
        Some((group, StockState::Free)) => count(conn, group, 1).await,
        _ => Ok(()),
    }
}

/// Puts a number aside that somebody had, until the team has looked at it.
pub async fn withdraw(conn: &mut Conn, id: StockId, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET state = 'withdrawn', is_active = FALSE, updated_at = $2
             WHERE id = $1 AND state = 'taken'"
        ),
        params![id, now],
    )
    .await?;
    Ok(())
}

row! {
    /// A number with what the team sees of its group.
    #[derive(Clone, Debug)]
    pub struct StockRow {
        pub id: StockId,
        pub upstream_id: UpstreamId,
        pub e164: E164,
        pub group_id: InventoryId,
        pub country: Country,
        pub regulatory: Regulatory,
        pub regulatory_override: Option<Regulatory>,
        pub is_active: bool,
        pub state: StockState,
        pub kind: NumberType,
        pub monthly: i64,
    }
}

/// Which numbers are listed.
pub struct WantedNumbers {
    pub country: Option<Country>,
    pub kind: Option<NumberType>,
    pub upstream: Option<UpstreamId>,
    pub is_active: Option<bool>,
    /// The first number, and the last, as texts that sort as numbers do.
    pub range: (String, String),
}

/// Numbers in their order, after this one.
pub async fn numbers(
    conn: &mut Conn,
    wanted: &WantedNumbers,
    after: &str,
    limit: i64,
) -> Result<Vec<StockRow>, DbError> {
    let (first, last) = &wanted.range;
    conn.all(
        sql!(
            "SELECT s.id, s.upstream_id, s.e164, s.group_id, s.country, s.regulatory, s.regulatory_override,
                    s.is_active, s.state, g.kind, g.monthly
             FROM number_stock s JOIN number_groups g ON g.id = s.group_id
             WHERE s.e164 > $1 AND s.e164 >= $2 AND s.e164 <= $3
               AND (s.country = $4 OR $4 IS NULL) AND (g.kind = $5 OR $5 IS NULL)
               AND (s.upstream_id = $6 OR $6 IS NULL) AND (s.is_active = $7 OR $7 IS NULL)
             ORDER BY s.e164 LIMIT $8"
        ),
        params![after, *first, *last, wanted.country, wanted.kind, wanted.upstream, wanted.is_active, limit],
    )
    .await
}

pub async fn number(conn: &mut Conn, id: StockId) -> Result<Option<StockRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT s.id, s.upstream_id, s.e164, s.group_id, s.country, s.regulatory, s.regulatory_override,
                    s.is_active, s.state, g.kind, g.monthly
             FROM number_stock s JOIN number_groups g ON g.id = s.group_id WHERE s.id = $1 /*pg FOR UPDATE OF s */"
        ),
        params![id],
    )
    .await
}

/// Keeps what may change of a number that is locked, and counts it in its groups.
pub async fn update(conn: &mut Conn, before: &StockRow, after: &StockRow, now: Time) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET group_id = $2, regulatory_override = $3, is_active = $4, state = $5, updated_at = $6
             WHERE id = $1"
        ),
        params![after.id, after.group_id, after.regulatory_override, after.is_active, after.state, now],
    )
    .await?;
    let free = |row: &StockRow| i64::from(row.state == StockState::Free);
    let mut changes = [(before.group_id, -free(before)), (after.group_id, free(after))];
    changes.sort();
    for (group, change) in changes {
        if change != 0 {
            count(conn, group, change).await?;
        }
    }
    Ok(())
}
