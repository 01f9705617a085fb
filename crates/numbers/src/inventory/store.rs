//! Inventory groups (`number_groups`) and DIDs (`number_stock`).
//!
//! A change of a DID's group or state updates the free count of the group in the same transaction. DIDs are locked
//! before groups, and groups in the order of their ids, so that transactions cannot deadlock.

use super::types::{InventoryId, NumberCapability, NumberType, Regulatory, StockId, StockState};
use db::{Conn, DbError, insert, params, row, sql};
use values::{Country, E164, UpstreamId, Words};

/// More than ISO 3166 has.
const MAX_COUNTRIES: i64 = 1000;

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

/// Filters for the list of groups.
pub struct GroupFilter {
    pub country: Option<Country>,
    pub kind: Option<NumberType>,
    pub capability: Option<NumberCapability>,
    pub prefix: Option<String>,
    pub regulatory: Option<Regulatory>,
}

/// Lists groups with free numbers, newest first, after the cursor.
pub async fn list_groups(
    conn: &mut Conn,
    filter: &GroupFilter,
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
        params![after, filter.country, filter.kind, filter.capability, filter.prefix, filter.regulatory, limit],
    )
    .await
}

pub async fn find_group(conn: &mut Conn, id: InventoryId) -> Result<Option<GroupRow>, DbError> {
    conn.opt(sql!("SELECT ", GroupRow::COLS, " FROM number_groups WHERE id = $1"), params![id]).await
}

/// Countries with free numbers, each with its lowest monthly rental. Goes from country to country along an index, however
/// many groups there are.
pub async fn countries(conn: &mut Conn) -> Result<Vec<(Country, i64)>, DbError> {
    conn.all(
        sql!(
            "WITH RECURSIVE listed (country) AS (
                 SELECT MIN(country) FROM number_groups WHERE free > 0
                 UNION ALL
                 SELECT (SELECT MIN(g.country) FROM number_groups g WHERE g.free > 0 AND g.country > listed.country)
                 FROM listed WHERE listed.country IS NOT NULL)
             SELECT country, (SELECT MIN(g.monthly) FROM number_groups g WHERE g.free > 0 AND g.country = listed.country)
             FROM listed WHERE country IS NOT NULL ORDER BY country LIMIT $1"
        ),
        params![MAX_COUNTRIES],
    )
    .await
}

/// Lists groups with free numbers in an area, cheapest first.
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
    /// What the numbers of a group have in common.
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

pub async fn group_terms(conn: &mut Conn, group: InventoryId) -> Result<Terms, DbError> {
    conn.one(sql!("SELECT ", Terms::COLS, " FROM number_groups WHERE id = $1"), params![group]).await
}

/// The group with these terms; it is created with the id `new` if there is none.
pub async fn find_or_create_group(conn: &mut Conn, terms: &Terms, new: InventoryId) -> Result<InventoryId, DbError> {
    if let Some(id) = find_group_by_terms(conn, terms).await? {
        return Ok(id);
    }
    insert!(
        conn,
        number_groups {
            id: new,
            country: terms.country,
            kind: terms.kind,
            area_name: terms.area_name,
            prefix: terms.prefix,
            area_code: terms.area_code,
            capabilities: terms.capabilities,
            monthly: terms.monthly,
            setup: terms.setup,
            regulatory: terms.regulatory,
            free: 0i64
        },
        "ON CONFLICT (country, kind, prefix, area_name, capabilities, monthly, setup, regulatory) DO NOTHING"
    )
    .await?;
    find_group_by_terms(conn, terms).await?.ok_or(DbError::NotFound)
}

async fn find_group_by_terms(conn: &mut Conn, terms: &Terms) -> Result<Option<InventoryId>, DbError> {
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

/// Adds to the free count of a group; negative when numbers are taken.
pub async fn add_free(conn: &mut Conn, group: InventoryId, change: i64) -> Result<(), DbError> {
    conn.exec(sql!("UPDATE number_groups SET free = free + $2 WHERE id = $1"), params![group, change]).await?;
    Ok(())
}

row! {
    /// A number that was just allocated to an order.
    #[derive(Clone, Debug)]
    pub struct AllocatedNumber {
        pub id: StockId,
        pub upstream_id: UpstreamId,
        pub e164: E164,
    }
}

/// Allocates the lowest free number of a group. Numbers locked by other transactions are skipped at first; if no other
/// is free, it waits for them. The caller calls [`add_free`] late in its transaction, because that locks the group.
pub async fn allocate(conn: &mut Conn, group: InventoryId) -> Result<Option<AllocatedNumber>, DbError> {
    let now = conn.now();
    let taken = conn
        .opt(
            sql!(
                "UPDATE number_stock SET state = 'taken', updated_at = $2
                 WHERE id = (SELECT id FROM number_stock WHERE group_id = $1 AND state = 'free'
                             ORDER BY e164 LIMIT 1 /*pg FOR UPDATE SKIP LOCKED */)
                 RETURNING ",
                AllocatedNumber::COLS
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
            AllocatedNumber::COLS
        ),
        params![group, now],
    )
    .await
}

/// Makes a taken number free again, or withdrawn if the team withdrew it meanwhile.
pub async fn return_to_inventory(conn: &mut Conn, id: StockId) -> Result<(), DbError> {
    let now = conn.now();
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
        Some((group, StockState::Free)) => add_free(conn, group, 1).await,
        _ => Ok(()),
    }
}

/// Withdraws a taken number until the team offers it again.
pub async fn withdraw(conn: &mut Conn, id: StockId) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET state = 'withdrawn', is_active = FALSE, updated_at = $2
             WHERE id = $1 AND state = 'taken'"
        ),
        params![id, conn.now()],
    )
    .await?;
    Ok(())
}

row! {
    /// A DID with the type and price of its group.
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

/// Filters for the list of DIDs.
pub struct StockFilter {
    pub country: Option<Country>,
    pub kind: Option<NumberType>,
    pub upstream: Option<UpstreamId>,
    pub is_active: Option<bool>,
    /// First and last E.164 number, as text; the order of the texts is the order of the numbers.
    pub range: (String, String),
}

/// Lists DIDs in the order of their E.164 form, after the cursor.
pub async fn list_numbers(
    conn: &mut Conn,
    filter: &StockFilter,
    after: &str,
    limit: i64,
) -> Result<Vec<StockRow>, DbError> {
    let (first, last) = &filter.range;
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
        params![after, *first, *last, filter.country, filter.kind, filter.upstream, filter.is_active, limit],
    )
    .await
}

pub async fn find_number(conn: &mut Conn, id: StockId) -> Result<Option<StockRow>, DbError> {
    conn.opt(
        sql!(
            "SELECT s.id, s.upstream_id, s.e164, s.group_id, s.country, s.regulatory, s.regulatory_override,
                    s.is_active, s.state, g.kind, g.monthly
             FROM number_stock s JOIN number_groups g ON g.id = s.group_id WHERE s.id = $1"
        ),
        params![id],
    )
    .await
}

/// The same, locked until the commit.
pub async fn lock_number(conn: &mut Conn, id: StockId) -> Result<Option<StockRow>, DbError> {
    // Not in one statement: whoever waited for the lock would look for the group that the number was in before.
    let _: Option<(StockId,)> =
        conn.opt(sql!("SELECT id FROM number_stock WHERE id = $1 /*pg FOR UPDATE */"), params![id]).await?;
    find_number(conn, id).await
}

/// Updates a locked DID and the free counts of its groups.
pub async fn update(conn: &mut Conn, before: &StockRow, after: &StockRow) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "UPDATE number_stock SET group_id = $2, regulatory_override = $3, is_active = $4, state = $5, updated_at = $6
             WHERE id = $1"
        ),
        params![after.id, after.group_id, after.regulatory_override, after.is_active, after.state, conn.now()],
    )
    .await?;
    let free = |row: &StockRow| i64::from(row.state == StockState::Free);
    let mut changes = [(before.group_id, -free(before)), (after.group_id, free(after))];
    changes.sort();
    for (group, change) in changes {
        if change != 0 {
            add_free(conn, group, change).await?;
        }
    }
    Ok(())
}
