//! Shows how the charge of a call is computed: its sell rate, and the deck rate that the sell rate follows from.
//!
//! The CDR has the sell rate. The deck rate behind it is found again in the tariff of the time when the call began,
//! which can be rebuilt exactly from the history of decks, markups and exchange rates. Back-dated rates that came after
//! the call was priced are left out: a live call is priced when it begins, an imported one when it is imported. The
//! deck rate is returned only if it leads to the very sell rate of the CDR. It is one of an earlier deck if the notice of
//! an increase held the price.
//!
//! A CDR names the version of the rate plan that priced it. Its prefix and destination tell which rule of the plan
//! decided. Customers see the kind of the rule, the team also the plan and the rule.

use std::sync::Arc;

use rating::{Listing, Notice, Offer, Prefix, PricedBy, Rate};

use super::row::CdrRow;
use super::terms::CallTerms;
use super::types::{CallPlan, CallPrice, ExchangeRate, PriceSource, Rounding, money};
use crate::fx;
use api::problem::Problem;
use db::DbError;
use platform::app::App;
use platform::ledger::TransactionId;
use platform::routing::plans::{self, PlanTimeline, PriceRule};
use platform::routing::tariff::{self, PastSource, PastTariff, PastTime};
use values::{Currency, Rfc3339, Stored, Time};

/// What the price of a call follows from.
pub struct PriceProof {
    /// The deck rate; none if the call had no rate.
    pub source: Option<PriceSource>,
    /// What decided the price; none if the call had no rate.
    rule: Option<PriceRule>,
    /// The plan, unless the price is that of the list.
    pub plan: Option<CallPlan>,
    /// Since when the customer had the plan.
    plan_since: Option<Time>,
}

pub fn price(cdr: &CdrRow, proof: &PriceProof) -> CallPrice {
    let since = proof.source.as_ref().map(|source| source.effective_at.0.max(proof.plan_since.unwrap_or(Time::EPOCH)));
    let (terms, result, currency) = (&cdr.terms, &cdr.result, cdr.terms.currency);
    CallPrice {
        prefix: terms.prefix.clone(),
        rate_per_minute: money(terms.rate_per_minute, currency),
        connect_fee: money(terms.connect_fee, currency),
        rule: proof.rule,
        effective_at: since.map(Rfc3339),
        minimum_seconds: terms.minimum_seconds,
        billing_increment_seconds: terms.increment_seconds,
        billed_seconds: result.billed_seconds,
        rounding: Rounding::HalfUp,
        charge: money(result.charge, currency),
        ledger_transaction_id: result.ledger_id.map(TransactionId::new),
    }
}

/// What the sell rate of a call follows from.
pub async fn prove(app: &App, cdr: &CdrRow) -> Result<PriceProof, Problem> {
    let account = cdr.terms.account_id;
    let cached = app.plans.current(&app.db).await?;
    let Some(id) = cdr.terms.rate_plan_version_id else {
        let rule = cdr.terms.rate_upstream_id.map(|_| PriceRule::List);
        let source = source(app, cdr, None, cached.notice(account, None)).await?;
        return Ok(PriceProof { source, rule, plan: None, plan_since: None });
    };
    let mut conn = app.db.read().await?;
    let version = plans::find_version(&mut conn, id).await?.ok_or_else(|| Problem::internal("the plan is gone"))?;
    let row =
        plans::find(&mut conn, version.rate_plan_id).await?.ok_or_else(|| Problem::internal("the plan is gone"))?;
    let moment = PastTime::known_now(cdr.terms.started_at);
    let in_force = PlanTimeline::of_account(&mut conn, account).await?.at(account, moment);
    drop(conn);
    let since = in_force.filter(|in_force| in_force.version_id == id).map(|in_force| in_force.since);
    let plan = Arc::new(version.compile().map_err(Problem::internal)?);
    let CallTerms { prefix, destination_name, country, .. } = &cdr.terms;
    let by = decided_by(&plan, prefix.as_deref(), destination_name.as_deref(), country.as_deref());
    let rule = by.and_then(PricedBy::rule).and_then(|rule| version.rules.0.get(rule)).cloned();
    let call_plan = CallPlan {
        rate_plan_id: row.id,
        name: row.name,
        version_id: version.id,
        version: version.number,
        base: version.base,
        markup_pct: version.markup,
        rule,
    };
    Ok(PriceProof {
        source: source(app, cdr, Some(plan), cached.notice(account, Some(call_plan.rate_plan_id))).await?,
        rule: by.map(PriceRule::from),
        plan: Some(call_plan),
        plan_since: Some(since.unwrap_or(version.effective_at)),
    })
}

/// The rule of a plan that decided the price of a call; none if the call had no rate. The prefix of the price leads to
/// the same rule as the number, which may be anonymised.
pub fn decided_by(
    plan: &rating::Plan,
    prefix: Option<&str>,
    destination_name: Option<&str>,
    country: Option<&str>,
) -> Option<PricedBy> {
    Some(plan.decide(prefix?.parse().ok()?, destination_name?, rating::Country::new(country?)?))
}

/// The deck rate that the sell rate of a call follows from; none if the call had no rate.
async fn source(
    app: &App,
    cdr: &CdrRow,
    plan: Option<Arc<rating::Plan>>,
    notice: Notice,
) -> Result<Option<PriceSource>, Problem> {
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
        let prices = stretch.prices(currency)?.with_plan(plan).with_notice(notice);
        let sell = prices.tariff.sell_rate(number, at.millis());
        let Some(sell) = sell.filter(|sell| sell.upstream == upstream && is_sold(&sell.rate)) else { return Ok(None) };
        let source = stretch.source(upstream, sell.source.prefix)?;
        Ok::<_, DbError>(source.map(|source| (price_source(&source, &sell.source, currency), sell.held)))
    };
    // Rebuilding a past tariff takes long, so it runs on a blocking thread.
    let found = tokio::task::spawn_blocking(work).await.map_err(Problem::internal)??;
    let Some((mut source, held)) = found else { return Ok(None) };
    if let Some(held) = held {
        let (from, to) = (Time::from_millis(held.as_of), Time::from_millis(held.as_of + 1));
        let decks = tariff::decks_between(&mut *app.db.read().await?, upstream, from, to).await?;
        source.deck_id = decks.first().and_then(|(_, deck)| *deck);
    }
    Ok(Some(source))
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
