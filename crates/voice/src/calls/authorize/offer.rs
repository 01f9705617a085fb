//! Checks that need no counter, and the price and routes of a call that passes them.

use super::store::CallContext;
use super::target::{NextHop, Target};
use crate::calls::types::DenyReason;
use crate::cdrs::{Leg, Price, Quote, Route};
use crate::fraud_caps;
use values::{E164, SipUri, UpstreamId};

/// What a call is authorized on.
#[derive(Debug)]
pub struct Offer {
    pub leg: Leg,
    pub called: E164,
    pub price: Price,
    /// Upstreams that may take the call, in the order in which they are tried.
    pub routes: Vec<Route>,
    /// The request URI of an inbound call, and the address that it is sent to.
    pub target_uri: Option<SipUri>,
    pub next_hop: Option<NextHop>,
    /// The upstream that an inbound call comes from.
    pub upstream_id: Option<UpstreamId>,
}

impl Offer {
    /// For a call from a customer.
    pub fn outbound(context: &CallContext, called: Option<&E164>, quote: Option<&Quote>) -> Result<Offer, DenyReason> {
        if !context.is_account_active {
            return Err(DenyReason::AccountNotActive);
        }
        let called = called.ok_or(DenyReason::NumberNotDialable)?;
        let Quote { sale, routes, .. } = quote.ok_or(DenyReason::DestinationNotPriced)?;
        let max_rate = context.max_rate_per_minute.unwrap_or(fraud_caps::DEFAULT.max_rate_per_minute.0.nanos());
        if sale.rate.nanos_per_minute() > max_rate {
            return Err(DenyReason::RateCap);
        }
        if routes.is_empty() {
            return Err(DenyReason::NoRoute);
        }
        Ok(Offer {
            leg: Leg::Termination,
            called: called.clone(),
            price: sale.into(),
            routes: routes.clone(),
            target_uri: None,
            next_hop: None,
            upstream_id: None,
        })
    }

    /// For a call to a customer's number, which costs the customer nothing.
    pub fn inbound(
        context: &CallContext,
        called: &E164,
        upstream: UpstreamId,
        target: Option<&Target>,
    ) -> Result<Offer, DenyReason> {
        if !context.is_account_active {
            return Err(DenyReason::AccountNotActive);
        }
        let uri = context.inbound_uri.as_ref().ok_or(DenyReason::NoInboundUri)?;
        let next_hop = target.ok_or(DenyReason::NoInboundUri)?.next_hop.clone()?;
        Ok(Offer {
            leg: Leg::Origination,
            called: called.clone(),
            price: Price::free(context.number_country.clone()),
            routes: Vec::new(),
            target_uri: Some(uri.with_user(called)),
            next_hop: Some(next_hop),
            upstream_id: Some(upstream),
        })
    }
}
