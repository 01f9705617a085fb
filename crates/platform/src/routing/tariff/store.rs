//! Statements for terms, exchange rates and decks.

use std::collections::{BTreeMap, HashMap};

use rating::{DeckTimes, Leaf, Notice, Prefix};
use uuid::Uuid;

use super::{DEFAULT_NOTICE_DAYS, NAME, UpstreamStatus};
use crate::routing::cache::{self, Change};
use db::{Conn, DbError, insert, params, row, row_values, sql};
use values::{Currency, Date, Markup, Time, UpstreamId};

/// More than ISO 4217 has.
const MAX_CURRENCIES: i64 = 500;
/// Far more than any operator has.
const MAX_UPSTREAMS: i64 = 10_000;

row! {
    /// The terms on which an upstream's rates are sold.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Terms {
        pub upstream_id: UpstreamId,
        /// Absent until the first import.
        pub deck_id: Option<Uuid>,
        pub status: UpstreamStatus,
        pub markup: Markup,
        /// The currency of its rates.
        pub currency: Currency,
    }
}

/// Records the terms of an upstream from now on.
pub async fn record_terms(conn: &mut Conn, terms: &Terms) -> Result<Change, DbError> {
    let change = cache::bump_version(conn, NAME).await?;
    let Terms { upstream_id, deck_id, status, markup, currency } = terms;
    insert!(
        conn,
        tariff_terms {
            upstream_id: *upstream_id,
            since: change.at,
            version: change.version,
            deck_id: *deck_id,
            status: *status,
            markup: *markup,
            currency: *currency
        }
    )
    .await?;
    Ok(change)
}

/// Deletes the terms of an upstream that was never used.
pub async fn delete_terms(conn: &mut Conn, upstream: UpstreamId) -> Result<(), DbError> {
    cache::bump_version(conn, NAME).await?;
    conn.exec(sql!("DELETE FROM tariff_terms WHERE upstream_id = $1"), params![upstream]).await?;
    Ok(())
}

/// A past time, seen from a later one: what was recorded by `known_at` counts.
#[derive(Clone, Copy, Debug)]
pub struct PastTime {
    at: Time,
    known_at: Time,
}

impl PastTime {
    pub fn new(at: Time, known_at: Time) -> PastTime {
        PastTime { at, known_at: known_at.max(at) }
    }

    /// A time, with all that is recorded by now.
    pub fn known_now(at: Time) -> PastTime {
        PastTime::new(at, Time::from_millis(i64::MAX))
    }

    /// The latest time.
    pub fn latest() -> PastTime {
        PastTime::known_now(Time::from_millis(i64::MAX))
    }

    pub fn at(self) -> Time {
        self.at
    }

    pub fn known_at(self) -> Time {
        self.known_at
    }

    /// The time that it is seen from.
    pub fn viewpoint(self) -> PastTime {
        PastTime { at: self.known_at, ..self }
    }
}

/// The terms of every upstream at a time. Before its first terms an upstream has those, for back-dated rates.
pub async fn terms_at(conn: &mut Conn, moment: PastTime) -> Result<Vec<Terms>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Terms::COLS,
            " FROM tariff_terms WHERE since = COALESCE(
                  (SELECT MAX(since) FROM tariff_terms AS other
                   WHERE other.upstream_id = tariff_terms.upstream_id AND other.since <= $1),
                  (SELECT MIN(since) FROM tariff_terms AS other
                   WHERE other.upstream_id = tariff_terms.upstream_id AND other.since <= $2))
             ORDER BY upstream_id LIMIT $3"
        ),
        params![moment.at, moment.known_at, MAX_UPSTREAMS],
    )
    .await
}

/// The terms of every upstream at a time, and its latest deck unless it is the one of then.
pub async fn terms_and_latest_decks(conn: &mut Conn, moment: PastTime) -> Result<Vec<(Terms, Option<Uuid>)>, DbError> {
    let latest = terms_at(conn, moment.viewpoint()).await?.into_iter();
    let latest: HashMap<UpstreamId, Option<Uuid>> = latest.map(|terms| (terms.upstream_id, terms.deck_id)).collect();
    let with_deck = |terms: Terms| {
        let deck = latest.get(&terms.upstream_id).copied().flatten().filter(|deck| terms.deck_id != Some(*deck));
        (terms, deck)
    };
    Ok(terms_at(conn, moment).await?.into_iter().map(with_deck).collect())
}

/// At most `limit` times at which the tariff changed after a time, in order.
pub async fn changes_after(conn: &mut Conn, moment: Time, limit: i64) -> Result<Vec<(Time,)>, DbError> {
    conn.all(
        sql!(
            "SELECT since FROM tariff_terms WHERE since > $1
             UNION SELECT since FROM tariff_fx WHERE since > $1 ORDER BY 1 LIMIT $2"
        ),
        params![moment, limit],
    )
    .await
}

/// Changes in one period at most.
const MAX_CHANGES: i64 = 10_000;

/// Which deck an upstream had since when, from the one in force at `from` to the last one before `to`.
pub async fn decks_between(
    conn: &mut Conn,
    upstream: UpstreamId,
    from: Time,
    to: Time,
) -> Result<Vec<(Time, Option<Uuid>)>, DbError> {
    conn.all(
        sql!(
            "SELECT since, deck_id FROM tariff_terms
             WHERE upstream_id = $1 AND since < $3
               AND since >= COALESCE((SELECT MAX(since) FROM tariff_terms WHERE upstream_id = $1 AND since <= $2), $2)
             ORDER BY since LIMIT $4"
        ),
        params![upstream, from, to, MAX_CHANGES],
    )
    .await
}

/// Exchange rates for one euro, in billionths, by currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fx {
    pub date: Date,
    pub rates: BTreeMap<Currency, i64>,
}

/// The exchange rates of a time.
#[derive(Clone, Default)]
pub struct FxHistory {
    fx: Option<Fx>,
    /// They were recorded later, as the first ones.
    is_later: bool,
}

impl FxHistory {
    /// The exchange rates of an upstream. The first ones that were recorded later do not change what it sold then.
    pub fn of(&self, upstream: &Terms) -> Option<&Fx> {
        self.fx.as_ref().filter(|_| !self.is_later || upstream.deck_id.is_none())
    }
}

/// Locks the tariff against other changes until the commit.
pub async fn lock(conn: &mut Conn) -> Result<(), DbError> {
    cache::lock(conn, NAME).await
}

/// The version of the tariff.
pub async fn version(conn: &mut Conn) -> Result<i64, DbError> {
    cache::version(conn, NAME).await
}

/// Records exchange rates from now on, unless they are in force already. The caller [`lock`]s the tariff first.
pub async fn record_fx(conn: &mut Conn, fx: &Fx) -> Result<(), DbError> {
    if fx_at(conn, PastTime::latest()).await?.fx.as_ref() == Some(fx) {
        return Ok(());
    }
    let change = cache::bump_version(conn, NAME).await?;
    for (currency, rate) in &fx.rates {
        insert!(
            conn,
            tariff_fx { since: change.at, version: change.version, date: fx.date, currency: *currency, rate: *rate }
        )
        .await?;
    }
    Ok(())
}

/// The exchange rates in force at a time; before the first ones were recorded, those.
pub async fn fx_at(conn: &mut Conn, moment: PastTime) -> Result<FxHistory, DbError> {
    let rows: Vec<(Time, Date, Currency, i64)> = conn
        .all(
            sql!(
                "SELECT since, date, currency, rate FROM tariff_fx
                 WHERE since = COALESCE((SELECT MAX(since) FROM tariff_fx WHERE since <= $1),
                                        (SELECT MIN(since) FROM tariff_fx WHERE since <= $2)) LIMIT $3"
            ),
            params![moment.at, moment.known_at, MAX_CURRENCIES],
        )
        .await?;
    let Some((since, date, ..)) = rows.first().copied() else { return Ok(FxHistory::default()) };
    let rates = rows.into_iter().map(|(_, _, currency, rate)| (currency, rate)).collect();
    Ok(FxHistory { fx: Some(Fx { date, rates }), is_later: since > moment.at })
}

/// Inserts a deck that is not in force yet, made from a file at a time.
pub async fn insert_deck(conn: &mut Conn, id: Uuid, upstream: UpstreamId, made_at: Time) -> Result<(), DbError> {
    conn.exec(
        sql!("INSERT INTO decks (id, upstream_id, in_force_at, prefixes, created_at) VALUES ($1, $2, NULL, 0, $3)"),
        params![id, upstream, made_at],
    )
    .await?;
    Ok(())
}

/// A leaf of a deck to be inserted.
pub struct NewLeaf {
    deck: Uuid,
    first: i64,
    body: Vec<u8>,
}

impl NewLeaf {
    pub fn new(deck: Uuid, leaf: Leaf) -> NewLeaf {
        NewLeaf { deck, first: code(leaf.first), body: leaf.body }
    }
}

/// A prefix as a number that sorts like its digits.
fn code(prefix: Prefix) -> i64 {
    i64::try_from(prefix.code()).unwrap_or(i64::MAX)
}

pub async fn insert_leaves(conn: &mut Conn, leaves: &[NewLeaf]) -> Result<(), DbError> {
    let columns = ["deck_id", "first_prefix", "body"];
    conn.insert_many("deck_leaves", columns, leaves, |leaf| row_values![leaf.deck, leaf.first, leaf.body]).await?;
    Ok(())
}

/// Inserts leaves of what a deck replaces.
pub async fn insert_replaced_leaves(conn: &mut Conn, leaves: &[NewLeaf]) -> Result<(), DbError> {
    let columns = ["deck_id", "first_prefix", "body"];
    conn.insert_many("replaced_leaves", columns, leaves, |leaf| row_values![leaf.deck, leaf.first, leaf.body]).await?;
    Ok(())
}

/// Marks a deck as complete and in force. With a reason to waive it, its increases need no notice.
pub async fn activate_deck(
    conn: &mut Conn,
    id: Uuid,
    prefixes: i64,
    at: Time,
    waive_reason: Option<&str>,
) -> Result<(), DbError> {
    conn.exec(
        sql!("UPDATE decks SET in_force_at = $2, prefixes = $3, waive_reason = $4 WHERE id = $1"),
        params![id, at, prefixes, waive_reason],
    )
    .await?;
    Ok(())
}

/// Deletes a deck whose import did not finish.
pub async fn delete_unfinished_deck(conn: &mut Conn, id: Uuid) -> Result<(), DbError> {
    conn.exec(
        sql!(
            "DELETE FROM deck_leaves WHERE deck_id = $1
                 AND EXISTS (SELECT 1 FROM decks WHERE id = $1 AND in_force_at IS NULL)"
        ),
        params![id],
    )
    .await?;
    conn.exec(
        sql!(
            "DELETE FROM replaced_leaves WHERE deck_id = $1
                 AND EXISTS (SELECT 1 FROM decks WHERE id = $1 AND in_force_at IS NULL)"
        ),
        params![id],
    )
    .await?;
    conn.exec(sql!("DELETE FROM decks WHERE id = $1 AND in_force_at IS NULL"), params![id]).await?;
    Ok(())
}

/// When a deck was made, and when it came into force.
pub async fn deck_times(conn: &mut Conn, deck: Uuid) -> Result<DeckTimes, DbError> {
    let (made_at, in_force_at): (Time, Option<Time>) =
        conn.one(sql!("SELECT created_at, in_force_at FROM decks WHERE id = $1"), params![deck]).await?;
    let in_force_at = in_force_at.ok_or_else(|| DbError::other("the deck is not in force"))?;
    Ok(DeckTimes { made_at: made_at.millis(), in_force_at: in_force_at.millis() })
}

/// More than the largest deck has.
const MAX_LEAVES: i64 = 100_000;

/// The leaves of a deck, or of what it has replaced.
#[derive(Clone, Copy, Debug)]
pub enum StoredLeaves {
    Deck,
    Replaced,
}

/// All leaves, in order.
pub async fn leaves(conn: &mut Conn, of: StoredLeaves, deck: Uuid) -> Result<Vec<Vec<u8>>, DbError> {
    let sql = match of {
        StoredLeaves::Deck => sql!("SELECT body FROM deck_leaves WHERE deck_id = $1 ORDER BY first_prefix LIMIT $2"),
        StoredLeaves::Replaced => {
            sql!("SELECT body FROM replaced_leaves WHERE deck_id = $1 ORDER BY first_prefix LIMIT $2")
        }
    };
    let leaves: Vec<(Vec<u8>,)> = conn.all(sql, params![deck, MAX_LEAVES]).await?;
    Ok(leaves.into_iter().map(|(body,)| body).collect())
}

/// At most `limit` leaves, from the one that a prefix belongs to.
pub async fn leaves_from(
    conn: &mut Conn,
    of: StoredLeaves,
    deck: Uuid,
    from: Prefix,
    limit: i64,
) -> Result<Vec<(i64, Vec<u8>)>, DbError> {
    let sql = match of {
        StoredLeaves::Deck => sql!(
            "SELECT first_prefix, body FROM deck_leaves
             WHERE deck_id = $1 AND first_prefix >= COALESCE(
                 (SELECT MAX(first_prefix) FROM deck_leaves WHERE deck_id = $1 AND first_prefix <= $2), $2)
             ORDER BY first_prefix LIMIT $3"
        ),
        StoredLeaves::Replaced => sql!(
            "SELECT first_prefix, body FROM replaced_leaves
             WHERE deck_id = $1 AND first_prefix >= COALESCE(
                 (SELECT MAX(first_prefix) FROM replaced_leaves WHERE deck_id = $1 AND first_prefix <= $2), $2)
             ORDER BY first_prefix LIMIT $3"
        ),
    };
    conn.all(sql, params![deck, code(from), limit]).await
}

/// The leaf that a prefix belongs to.
pub async fn leaf_of(
    conn: &mut Conn,
    of: StoredLeaves,
    deck: Uuid,
    prefix: Prefix,
) -> Result<Option<(i64, Vec<u8>)>, DbError> {
    let sql = match of {
        StoredLeaves::Deck => sql!(
            "SELECT first_prefix, body FROM deck_leaves WHERE deck_id = $1 AND first_prefix <= $2
             ORDER BY first_prefix DESC LIMIT 1"
        ),
        StoredLeaves::Replaced => sql!(
            "SELECT first_prefix, body FROM replaced_leaves WHERE deck_id = $1 AND first_prefix <= $2
             ORDER BY first_prefix DESC LIMIT 1"
        ),
    };
    conn.opt(sql, params![deck, code(prefix)]).await
}

row! {
    /// A deck that took the place of another one.
    #[derive(Clone, Copy, Debug)]
    pub struct ReplacingDeck {
        pub id: Uuid,
        pub upstream_id: UpstreamId,
        pub in_force_at: Time,
        pub is_waived: bool,
    }
}

/// The longest notice in milliseconds that any customer may have.
async fn longest_notice(conn: &mut Conn) -> Result<i64, DbError> {
    let (days,): (Option<i64>,) = conn
        .one(
            sql!(
                "SELECT MAX(notice_days) FROM (
                     SELECT notice_days FROM rate_plan_assignments UNION ALL SELECT notice_days FROM rate_plan_notices
                 ) AS agreed"
            ),
            params![],
        )
        .await?;
    Ok(days.unwrap_or(0).max(DEFAULT_NOTICE_DAYS) * Notice::DAY_MILLIS)
}

/// The decks in force at a time or before whose notice was not over when the last of them came, oldest first. So the
/// same ones count until the next deck comes.
pub async fn replacing_decks(conn: &mut Conn, at: Time) -> Result<Vec<ReplacingDeck>, DbError> {
    let (last,): (Option<Time>,) =
        conn.one(sql!("SELECT MAX(in_force_at) FROM decks WHERE in_force_at <= $1"), params![at]).await?;
    let Some(last) = last else { return Ok(Vec::new()) };
    let since = Time::from_millis(last.millis() - longest_notice(conn).await?);
    conn.all(
        sql!(
            "SELECT id, upstream_id, in_force_at, waive_reason IS NOT NULL FROM decks
             WHERE in_force_at > $1 AND in_force_at <= $2
                 AND EXISTS (SELECT 1 FROM replaced_leaves WHERE deck_id = decks.id)
             ORDER BY in_force_at LIMIT $3"
        ),
        params![since, last, MAX_CHANGES],
    )
    .await
}
