//! Shows how the charge of a call is computed: its sell rate, and the deck rate that the sell rate follows from.
//!
//! The CDR has the sell rate. The deck rate behind it is found again in the tariff of the time when the call began,
//! which can be rebuilt exactly from the history of decks, markups and exchange rates. Back-dated rates that came after
//! the call was priced are left out: a live call is priced when it begins, an imported one when it is imported. The
//! deck rate is returned only if it leads to the very sell rate of the CDR.

use rating::{Listing, Offer, Prefix, Rate};

use super::row::CdrRow;
use super::types::{CallPrice, ExchangeRate, PriceSource, Rounding, money};
use crate::fx;
use api::problem::Problem;
use db::DbError;
use platform::app::App;
use platform::ledger::TransactionId;
use platform::routing::tariff::{PastSource, PastTariff, PastTime};
use values::{Currency, Rfc3339, Stored, Time};

pub fn price(cdr: &CdrRow, source: Option<&PriceSource>) -> CallPrice {
    let (terms, result, currency) = (&cdr.terms, &cdr.result, cdr.terms.currency);
    CallPrice {
        prefix: terms.prefix.clone(),
        rate_per_minute: money(terms.rate_per_minute, currency),
        connect_fee: money(terms.connect_fee, currency),
        effective_at: source.map(|source| source.effective_at),
        minimum_seconds: terms.minimum_seconds,
        billing_increment_seconds: terms.increment_seconds,
        billed_seconds: result.billed_seconds,
        rounding: Rounding::HalfUp,
        charge: money(result.charge, currency),
        ledger_transaction_id: result.ledger_id.map(TransactionId::new),
    }
}

/// The deck rate that the sell rate of a call follows from; none if the call had no rate.
pub async fn source(app: &App, cdr: &CdrRow) -> Result<Option<PriceSource>, Problem> {
    let (Some(upstream), Some(number)) = (cdr.terms.rate_upstream_id, Prefix::of_number(&cdr.terms.called)) else {
        return Ok(None);
    };
    let at = cdr.terms.started_at;
    let moment = PastTime::new(at, if cdr.result.imported { cdr.result.recorded_at } else { at });
    let in_force = app.tariff.current(&app.db).await?;
    let stretch = app.db.report((in_force, moment, number), |conn, (in_force, moment, number)| {
        Box::pin(async move { PastTariff::at(conn, *moment, in_force).await?.read_range(conn, *number).await })
    });
    let stretch = stretch.await?;
    let (sold, currency) = (cdr.terms.clone(), cdr.terms.currency);
    let is_sold = move |rate: &Rate| {
        (rate.nanos_per_minute(), rate.connect_fee_nanos()) == (sold.rate_per_minute, sold.connect_fee)
            && i64::from(rate.increment_seconds()) == sold.increment_seconds
            && i64::from(rate.minimum_seconds()) == sold.minimum_seconds
    };
    let work = move || {
        let prices = stretch.prices(currency)?;
        let sell = prices.tariff.sell_rate(number, at.millis());
        let Some(sell) = sell.filter(|sell| sell.upstream == upstream && is_sold(&sell.rate)) else { return Ok(None) };
        let source = stretch.source(upstream, sell.source.prefix)?;
        Ok::<_, DbError>(source.map(|source| price_source(&source, &sell.source, currency)))
    };
    // Rebuilding a past tariff takes long, so it runs on a blocking thread.
    Ok(tokio::task::spawn_blocking(work).await.map_err(Problem::internal)??)
}

fn price_source(source: &PastSource<'_>, listing: &Listing<&Offer>, currency: Currency) -> PriceSource {
    let PastSource { terms, fx, deck_id } = source;
    let exchange_rate = fx.filter(|_| terms.currency != currency).and_then(|fx| {
        let rate = fx::Rate::from_raw(*fx.rates.get(&terms.currency)?).ok()?;
        Some(ExchangeRate { currency: terms.currency, date: fx.date, rate })
    });
    PriceSource {
        upstream_id: terms.upstream_id,
        deck_id: *deck_id,
        prefix: listing.prefix.to_string(),
        rate_per_minute: money(listing.offer.rate.nanos_per_minute(), terms.currency),
        connect_fee: money(listing.offer.rate.connect_fee_nanos(), terms.currency),
        effective_at: Rfc3339(Time::from_millis(listing.effective_at)),
        markup_percent: terms.markup,
        exchange_rate,
    }
}
