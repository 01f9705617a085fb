//! The rates, by day.

use super::rate::{Rate, Rates};
use db::{Conn, DbError, params, sql};
use platform::routing::tariff::{self, Fx};
use values::{Currency, Date, Stored, Time};

/// More currencies than there are.
const MOST: i64 = 500;

/// The rates of the last day, not after `day`, that has some.
pub async fn rates_on(conn: &mut Conn, day: Date) -> Result<Option<Rates>, DbError> {
    let rows: Vec<(Date, Currency, Rate)> = conn
        .all(
            sql!(
                "SELECT date, currency, rate FROM fx_rates
                 WHERE date = (SELECT MAX(date) FROM fx_rates WHERE date <= $1) LIMIT $2"
            ),
            params![day, MOST],
        )
        .await?;
    let date = rows.first().map(|(date, ..)| *date);
    let rates = rows.into_iter().map(|(_, currency, rate)| (currency, rate)).collect();
    Ok(date.map(|date| Rates { date, rates }))
}

/// Puts these in the place of the day's rates.
pub async fn replace(conn: &mut Conn, rates: &Rates) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM fx_rates WHERE date = $1"), params![rates.date]).await?;
    for (currency, rate) in &rates.rates {
        // Somebody else may put the same day in at the same time.
        conn.exec(
            sql!(
                "INSERT INTO fx_rates (date, currency, rate) VALUES ($1, $2, $3)
                 ON CONFLICT (date, currency) DO UPDATE SET rate = excluded.rate"
            ),
            params![rates.date, *currency, *rate],
        )
        .await?;
    }
    Ok(())
}

/// Tells the tariff which rates are in force from now on.
pub async fn enforce(conn: &mut Conn, now: Time) -> Result<(), DbError> {
    // Somebody else may set a later day at the same time.
    tariff::lock(conn).await?;
    let Some(Rates { date, rates }) = rates_on(conn, now.into()).await? else { return Ok(()) };
    let rates = rates.into_iter().map(|(currency, rate)| (currency, rate.to_raw())).collect();
    tariff::record_fx(conn, &Fx { date, rates }, now).await
}
