//! The `fx_rates` table.

use super::rate::{Rate, Rates};
use db::{Conn, DbError, insert, params, sql};
use platform::routing::tariff::{self, Fx};
use values::{Currency, Date, Stored};

/// Limit of the query; more than there are currencies.
const MAX_CURRENCIES: i64 = 500;

/// The newest rates of `day` or earlier.
pub async fn rates_on(conn: &mut Conn, day: Date) -> Result<Option<Rates>, DbError> {
    let rows: Vec<(Date, Currency, Rate)> = conn
        .all(
            sql!(
                "SELECT date, currency, rate FROM fx_rates
                 WHERE date = (SELECT MAX(date) FROM fx_rates WHERE date <= $1) LIMIT $2"
            ),
            params![day, MAX_CURRENCIES],
        )
        .await?;
    let date = rows.first().map(|(date, ..)| *date);
    let rates = rows.into_iter().map(|(_, currency, rate)| (currency, rate)).collect();
    Ok(date.map(|date| Rates { date, rates }))
}

/// Replaces the rates of a day. The caller has locked the tariff.
pub async fn replace(conn: &mut Conn, rates: &Rates) -> Result<(), DbError> {
    conn.exec(sql!("DELETE FROM fx_rates WHERE date = $1"), params![rates.date]).await?;
    for (currency, rate) in &rates.rates {
        insert!(conn, fx_rates { date: rates.date, currency: *currency, rate: *rate }).await?;
    }
    Ok(())
}

/// Applies the newest rates to the tariff, which the caller has locked: another transaction may set a later day.
pub async fn apply_to_tariff(conn: &mut Conn) -> Result<(), DbError> {
    let now = conn.now();
    let Some(Rates { date, rates }) = rates_on(conn, now.into()).await? else { return Ok(()) };
    let rates = rates.into_iter().map(|(currency, rate)| (currency, rate.to_raw())).collect();
    tariff::record_fx(conn, &Fx { date, rates }).await
}
