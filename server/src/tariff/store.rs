//! The histories that the tariff follows from.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{NAME, UpstreamStatus};
use crate::db::{Conn, DbError, params, row, sql};
use crate::snapshot::{self, Change};
use crate::values::{Currency, Date, Markup, Time, UpstreamId};

/// More currencies than there are.
const MOST_CURRENCIES: i64 = 500;
/// More upstreams than anybody has.
const MOST_UPSTREAMS: i64 = 10_000;

row! {
    /// On what an upstream's rates sell.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Terms {
        pub upstream_id: UpstreamId,
        /// Absent until something was imported.
        pub deck_id: Option<Uuid>,
        pub status: UpstreamStatus,
        pub markup: Markup,
        /// What its rates are in.
        pub currency: Currency,
    }
}

/// Writes down that an upstream's rates sell on these terms from now on.
pub async fn note_terms(conn: &mut Conn, terms: &Terms, now: Time) -> Result<Change, DbError> {
    let change = snapshot::changed(conn, NAME, now).await?;
    let Terms { upstream_id, deck_id, status, markup, currency } = terms;
    conn.exec(
        sql!(
            "INSERT INTO tariff_terms (upstream_id, since, version, deck_id, status, markup, currency)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![*upstream_id, change.at, change.version, *deck_id, *status, *markup, *currency],
    )
    .await?;
    Ok(change)
}

/// Forgets an upstream that never sold anything.
pub async fn forget_terms(conn: &mut Conn, upstream: UpstreamId, now: Time) -> Result<(), DbError> {
    snapshot::changed(conn, NAME, now).await?;
    conn.exec(sql!("DELETE FROM tariff_terms WHERE upstream_id = $1"), params![upstream]).await?;
    Ok(())
}

/// The terms of every upstream at a moment.
pub async fn terms_at(conn: &mut Conn, moment: Time) -> Result<Vec<Terms>, DbError> {
    conn.all(
        sql!(
            "SELECT ",
            Terms::COLS,
            " FROM tariff_terms WHERE since <= $1 AND since = (SELECT MAX(since) FROM tariff_terms AS later
                  WHERE later.upstream_id = tariff_terms.upstream_id AND later.since <= $1)
             ORDER BY upstream_id LIMIT $2"
        ),
        params![moment, MOST_UPSTREAMS],
    )
    .await
}

/// Exchange rates: what one euro is worth, in billionths, by currency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fx {
    pub date: Date,
    pub rates: BTreeMap<Currency, i64>,
}

/// Writes down that these rates are in force from now on, unless they are already.
pub async fn note_fx(conn: &mut Conn, fx: &Fx, now: Time) -> Result<(), DbError> {
    let latest = Time::from_millis(i64::MAX);
    if fx_at(conn, latest).await?.as_ref() == Some(fx) {
        return Ok(());
    }
    let change = snapshot::changed(conn, NAME, now).await?;
    for (currency, rate) in &fx.rates {
        conn.exec(
            sql!("INSERT INTO tariff_fx (since, version, date, currency, rate) VALUES ($1, $2, $3, $4, $5)"),
            params![change.at, change.version, fx.date, *currency, *rate],
        )
        .await?;
    }
    Ok(())
}

/// The rates in force at a moment.
pub async fn fx_at(conn: &mut Conn, moment: Time) -> Result<Option<Fx>, DbError> {
    let rows: Vec<(Date, Currency, i64)> = conn
        .all(
            sql!(
                "SELECT date, currency, rate FROM tariff_fx
                 WHERE since = (SELECT MAX(since) FROM tariff_fx WHERE since <= $1) LIMIT $2"
            ),
            params![moment, MOST_CURRENCIES],
        )
        .await?;
    let date = rows.first().map(|(date, ..)| *date);
    Ok(date.map(|date| Fx { date, rates: rows.into_iter().map(|(_, currency, rate)| (currency, rate)).collect() }))
}
