//! What is settled when a call begins and stays the same in its live call, its CDR and its amendments.

use rating::Rate;

use super::quotes::Sale;
use db::{DbError, table_row};
use identity::balance::CURRENCY;
use values::{AccountId, Currency, Money, RatePlanVersionId, Time, TrunkId, UpstreamId, text_enum};

text_enum! {
    /// Direction of a call, seen from the network.
    pub enum Leg {
        /// Inbound: a call from an upstream to a customer's number.
        Origination = "origination",
        /// Outbound: a call from a customer to an upstream.
        Termination = "termination",
    }
}

text_enum! {
    /// Outcome of a call.
    pub enum CallStatus {
        /// The callee answered.
        Answered = "answered",
        /// Nobody answered.
        NoAnswer = "no_answer",
        /// The callee was busy.
        Busy = "busy",
        /// The call could not be completed.
        Failed = "failed",
        /// The caller hung up before the answer.
        Cancelled = "cancelled",
    }
}

text_enum! {
    /// Who had the switch end a call.
    pub enum HungUpBy {
        /// A team member, by `POST /admin/calls/{id}/hangup`.
        Team = "team",
    }
}

table_row! {
    /// Whose call it is, between which numbers, and at which sell rate. The column names are the same in `live_calls`
    /// and `cdrs`.
    #[derive(Clone, Debug)]
    pub struct CallTerms {
        pub account_id: AccountId,
        pub trunk_id: TrunkId,
        /// SIP Call-ID.
        pub call_id: String,
        pub leg: Leg,
        pub zone: String,
        pub calling: String,
        pub called: String,
        pub country: Option<String>,
        pub destination_name: Option<String>,
        pub prefix: Option<String>,
        pub currency: Currency,
        pub rate_per_minute: i64,
        pub connect_fee: i64,
        pub increment_seconds: i64,
        pub minimum_seconds: i64,
        /// Whose rate the sell rate follows from.
        pub rate_upstream_id: Option<UpstreamId>,
        /// The version of the rate plan that the sell rate follows from; none for the list price.
        pub rate_plan_version_id: Option<RatePlanVersionId>,
        pub started_at: Time,
    }
}

/// Destination and sell rate of a call.
#[derive(Clone, Debug)]
pub struct Price {
    pub rate: Rate,
    pub country: Option<String>,
    pub destination_name: Option<String>,
    pub prefix: Option<String>,
    pub upstream: Option<UpstreamId>,
    pub plan_version: Option<RatePlanVersionId>,
}

impl Price {
    /// A call that costs the customer nothing.
    pub fn free(country: Option<String>) -> Price {
        Price { rate: Rate::FREE, country, destination_name: None, prefix: None, upstream: None, plan_version: None }
    }
}

impl From<&Sale> for Price {
    fn from(sale: &Sale) -> Price {
        Price {
            rate: sale.rate,
            country: Some(sale.country.clone()),
            destination_name: Some(sale.destination_name.clone()),
            prefix: Some(sale.prefix.clone()),
            upstream: Some(sale.upstream),
            plan_version: sale.plan_version,
        }
    }
}

/// Who calls whom, where and when.
#[derive(Clone, Debug)]
pub struct Parties {
    pub account_id: AccountId,
    pub trunk_id: TrunkId,
    pub call_id: String,
    pub leg: Leg,
    pub zone: String,
    pub calling: String,
    pub called: String,
    pub started_at: Time,
}

impl CallTerms {
    pub fn new(parties: Parties, price: Price) -> CallTerms {
        let Parties { account_id, trunk_id, call_id, leg, zone, calling, called, started_at } = parties;
        CallTerms {
            account_id,
            trunk_id,
            call_id,
            leg,
            zone,
            calling,
            called,
            country: price.country,
            destination_name: price.destination_name,
            prefix: price.prefix,
            currency: CURRENCY,
            rate_per_minute: price.rate.nanos_per_minute(),
            connect_fee: price.rate.connect_fee_nanos(),
            increment_seconds: price.rate.increment_seconds().into(),
            minimum_seconds: price.rate.minimum_seconds().into(),
            rate_upstream_id: price.upstream,
            rate_plan_version_id: price.plan_version,
            started_at,
        }
    }

    /// The sell rate.
    pub fn rate(&self) -> Result<Rate, DbError> {
        let seconds = |seconds| u16::try_from(seconds).map_err(DbError::other);
        let (increment, minimum) = (seconds(self.increment_seconds)?, seconds(self.minimum_seconds)?);
        Rate::new(self.rate_per_minute, self.connect_fee, increment, minimum).map_err(DbError::other)
    }

    pub fn money(&self, nanos: i64) -> Money {
        Money::from_nanos(nanos, self.currency)
    }
}
