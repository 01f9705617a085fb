//! Shows how the charge of a call is computed: its sell rate, and the deck rate that the sell rate follows from.
//!
//! The CDR has the sell rate. The deck rate behind it is found again in the tariff of the time when the call began,
//! which can be rebuilt exactly from the history of decks, markups and exchange rates. It is returned only if it leads
//! to the very sell rate of the CDR.

use rating::{Prefix, Rate};

use super::row::CdrRow;
use super::types::{CallPrice, ExchangeRate, PriceSource, Rounding, money};
use crate::fx;
use api::problem::Problem;
use db::DbError;
use platform::app::App;
use platform::ledger::TransactionId;
use platform::routing::tariff::{self, Fx, PastTariff, Terms};
use values::{Currency, Rfc3339, Stored, Time, UpstreamId};

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
    let in_force = app.tariff.current(&app.db).await?;
    let histories = app.db.report((in_force, at, number), |conn, (in_force, at, number)| {
        Box::pin(async move {
            let stretch = PastTariff::at(conn, *at, in_force).await?.read_range(conn, *number).await?;
            Ok::<_, DbError>((stretch, tariff::terms_at(conn, *at).await?, tariff::fx_at(conn, *at).await?))
        })
    });
    let (stretch, terms, fx) = histories.await?;
    let Some(terms) = terms.into_iter().find(|terms| terms.upstream_id == upstream) else { return Ok(None) };
    let (sold, currency) = (cdr.terms.clone(), cdr.terms.currency);
    let is_sold = move |rate: &Rate| {
        (rate.nanos_per_minute(), rate.connect_fee_nanos()) == (sold.rate_per_minute, sold.connect_fee)
            && i64::from(rate.increment_seconds()) == sold.increment_seconds
            && i64::from(rate.minimum_seconds()) == sold.minimum_seconds
    };
    let work = move || {
        let prices = stretch.prices(currency)?;
        let sell = prices.tariff.sell_rate(number, at.millis());
        let sell = sell.filter(|sell| sell.upstream == upstream && is_sold(&sell.rate));
        let source = sell.map(|sell| {
            let asked = (sell.source.prefix, sell.source.offer.rate, Time::from_millis(sell.source.effective_at));
            price_source(upstream, &terms, asked, fx.as_ref(), currency)
        });
        Ok::<_, DbError>(source)
    };
    // Rebuilding a past tariff takes long, so it runs on a blocking thread.
    Ok(tokio::task::spawn_blocking(work).await.map_err(Problem::internal)??)
}

fn price_source(
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
