//! Why a call cost what it cost: its rate, and the row of a deck that the rate follows from.
//!
//! What a call was sold on is kept with it. The row behind that is found again in the tariff of the moment the call
//! began, which the histories of decks, markups and exchange rates give back to the nano; it is shown only if it leads
//! to the very rate that is kept.

use rating::{Prefix, Rate};

use super::store::Sold;
use super::types::{CallPrice, ExchangeRate, PriceSource, Rounding, money};
use crate::fx;
use api::problem::Problem;
use db::DbError;
use platform::app::App;
use platform::ledger::TransactionId;
use platform::routing::tariff::{self, Fx, PastTariff, Terms};
use values::{Currency, Rfc3339, Stored, Time, UpstreamId};

pub fn price(sold: &Sold, source: Option<&PriceSource>) -> CallPrice {
    let (terms, currency) = (&sold.terms, sold.cdr.currency);
    CallPrice {
        prefix: terms.prefix.clone(),
        rate_per_minute: money(terms.rate_per_minute, currency),
        connect_fee: money(terms.connect_fee, currency),
        effective_at: source.map(|source| source.effective_at),
        minimum_seconds: terms.minimum_seconds,
        billing_increment_seconds: terms.increment_seconds,
        billed_seconds: terms.billed_seconds,
        rounding: Rounding::HalfUp,
        charge: money(sold.cdr.charge, currency),
        ledger_transaction_id: terms.ledger_id.map(TransactionId::new),
    }
}

/// The row that a call's rate follows from; none if it had no rate.
pub async fn source(app: &App, sold: &Sold) -> Result<Option<PriceSource>, Problem> {
    let (Some(upstream), Some(number)) = (sold.terms.rate_upstream_id, Prefix::of_number(&sold.cdr.called)) else {
        return Ok(None);
    };
    let at = sold.cdr.started_at;
    let in_force = app.tariff.current(&app.db).await?;
    let histories = app.db.report((in_force, at, number), |conn, (in_force, at, number)| {
        Box::pin(async move {
            let stretch = PastTariff::at(conn, *at, in_force).await?.read_range(conn, *number).await?;
            Ok::<_, DbError>((stretch, tariff::terms_at(conn, *at).await?, tariff::fx_at(conn, *at).await?))
        })
    });
    let (stretch, terms, fx) = histories.await?;
    let Some(terms) = terms.into_iter().find(|terms| terms.upstream_id == upstream) else { return Ok(None) };
    let (kept, currency) = (sold.terms.clone(), sold.cdr.currency);
    let is_kept = move |rate: &Rate| {
        (rate.nanos_per_minute(), rate.connect_fee_nanos()) == (kept.rate_per_minute, kept.connect_fee)
            && i64::from(rate.increment_seconds()) == kept.increment_seconds
            && i64::from(rate.minimum_seconds()) == kept.minimum_seconds
    };
    let work = move || {
        let prices = stretch.prices(currency)?;
        let sell = prices.tariff.sell_rate(number, at.millis());
        let sell = sell.filter(|sell| sell.upstream == upstream && is_kept(&sell.rate));
        let shown = sell.map(|sell| {
            let asked = (sell.source.prefix, sell.source.offer.rate, Time::from_millis(sell.source.effective_at));
            show(upstream, &terms, asked, fx.as_ref(), currency)
        });
        Ok::<_, DbError>(shown)
    };
    // Decks of the past are read anew, which is work for a thread that may be busy for a while.
    Ok(tokio::task::spawn_blocking(work).await.map_err(Problem::internal)??)
}

fn show(
    upstream_id: UpstreamId,
    terms: &Terms,
    (prefix, rate, effective_at): (Prefix, Rate, Time),
    fx: Option<&Fx>,
    currency: Currency,
) -> PriceSource {
    let exchange_rate = fx.filter(|_| terms.currency != currency).and_then(|fx| {
        let rate = fx::Rate::from_raw(*fx.rates.get(&terms.currency)?).ok()?;
        Some(ExchangeRate { currency: terms.currency, date: fx.date, rate })
    });
    PriceSource {
        upstream_id,
        deck_id: terms.deck_id,
        prefix: prefix.to_string(),
        rate_per_minute: money(rate.nanos_per_minute(), terms.currency),
        connect_fee: money(rate.connect_fee_nanos(), terms.currency),
        effective_at: Rfc3339(effective_at),
        markup_percent: terms.markup,
        exchange_rate,
    }
}
