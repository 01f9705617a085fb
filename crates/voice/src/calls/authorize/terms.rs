//! On which terms a call is taken: what it is sold at and where it goes, or why it is not taken at all.

use rating::Rate;

use super::store::Facts;
use crate::calls::prices::{Quote, Route};
use crate::calls::types::{Denial, Leg};
use crate::fraud_caps;
use values::{E164, SipUri, UpstreamId};

#[derive(Debug)]
pub struct Terms {
    pub leg: Leg,
    pub called: E164,
    pub rate: Rate,
    /// Whose price it is.
    pub rate_upstream_id: Option<UpstreamId>,
    pub country: Option<String>,
    pub destination_name: Option<String>,
    pub prefix: Option<String>,
    /// Who may carry it, the cheapest first.
    pub routes: Vec<Route>,
    /// Where a call to a customer's number goes, and who brought it.
    pub target_uri: Option<SipUri>,
    pub upstream_id: Option<UpstreamId>,
}

impl Terms {
    /// For a customer's call, as it was dialled and what is asked for it.
    pub fn outbound(facts: &Facts, called: Option<&E164>, quote: Option<&Quote>) -> Result<Terms, Denial> {
        if !facts.is_account_active {
            return Err(Denial::AccountNotActive);
        }
        let called = called.ok_or(Denial::NumberNotDialable)?;
        let Quote { sale, routes, .. } = quote.ok_or(Denial::DestinationNotPriced)?;
        let most_per_minute = facts.max_rate_per_minute.unwrap_or(fraud_caps::DEFAULT.max_rate_per_minute.0.nanos());
        if sale.rate.nanos_per_minute() > most_per_minute {
            return Err(Denial::RateCap);
        }
        if routes.is_empty() {
            return Err(Denial::NoRoute);
        }
        Ok(Terms {
            leg: Leg::Termination,
            called: called.clone(),
            rate: sale.rate,
            rate_upstream_id: Some(sale.upstream),
            country: Some(sale.country.clone()),
            destination_name: Some(sale.destination_name.clone()),
            prefix: Some(sale.prefix.clone()),
            routes: routes.clone(),
            target_uri: None,
            upstream_id: None,
        })
    }

    /// For a call to a customer's number, which costs the customer nothing.
    pub fn inbound(facts: &Facts, called: &E164, upstream: UpstreamId) -> Result<Terms, Denial> {
        if !facts.is_account_active {
            return Err(Denial::AccountNotActive);
        }
        let target_uri = facts.inbound_uri.clone().ok_or(Denial::NoInboundUri)?;
        Ok(Terms {
            leg: Leg::Origination,
            called: called.clone(),
            rate: Rate::FREE,
            rate_upstream_id: None,
            country: facts.number_country.clone(),
            destination_name: None,
            prefix: None,
            routes: Vec::new(),
            target_uri: Some(target_uri),
            upstream_id: Some(upstream),
        })
    }
}
