//! What an authorization decision reads.
//!
//! A number is found by its own index, also by a plan that PostgreSQL made when the table was empty: COALESCE keeps the
//! indexes of numbers that are not released from serving the other condition.

use db::{Conn, DbError, Value, params, row, row_values, sql};
use identity::balance::CURRENCY;
use values::{AccountId, E164, SipUri, TrunkId};

use crate::fraud_caps;

row! {
    /// Versions of the caches that a decision uses.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Versions {
        pub addresses: i64,
        pub gateways: i64,
        pub tariff: i64,
        pub plans: i64,
    }
}

impl Versions {
    /// Whether these are not behind the others.
    pub fn covers(&self, other: &Versions) -> bool {
        self.addresses >= other.addresses
            && self.gateways >= other.gateways
            && self.tariff >= other.tariff
            && self.plans >= other.plans
    }
}

pub async fn versions(conn: &mut Conn) -> Result<Versions, DbError> {
    conn.one(
        sql!(
            "SELECT (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
                    (SELECT version FROM versions WHERE name = 'rate_plans')"
        ),
        params![],
    )
    .await
}

/// Calls with the same key have the same context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContextKey<'a> {
    pub trunk: TrunkId,
    /// The trunk's zone if absent.
    pub zone: Option<&'a str>,
    /// The customer's number that is called.
    pub number: Option<&'a str>,
    /// The day on which the call begins, in days since 1970-01-01.
    pub day: i64,
}

row! {
    /// Trunk, account and limits of a call, and how much of the limits is in use.
    #[derive(Clone, Debug)]
    pub struct CallContext {
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
        pub channel_cap: i64,
        pub cps_limit: Option<i64>,
        pub is_account_active: bool,
        max_spend_per_day: Option<i64>,
        pub max_rate_per_minute: Option<i64>,
        pub zone_quota: Option<i64>,
        /// Where inbound calls of the trunk go.
        pub inbound_uri: Option<SipUri>,
        /// The host outside the allow-list that the team allowed for them.
        pub allowed_inbound_host: Option<String>,
        /// Country and trunk of the called number, if it is a customer's.
        pub number_country: Option<String>,
        pub number_trunk: Option<TrunkId>,
        addresses: i64,
        gateways: i64,
        tariff: i64,
        plans: i64,
        /// Charges and reservations of the day's calls, in nanos.
        pub spent: i64,
        /// Live calls of the trunk, and those that began in the second of the last one.
        pub trunk_calls: i64,
        pub second: i64,
        pub in_second: i64,
        /// Live calls of the account in the zone.
        pub zone_calls: i64,
        /// Available money, in nanos.
        pub available: i64,
    }
}

impl CallContext {
    pub fn versions(&self) -> Versions {
        Versions { addresses: self.addresses, gateways: self.gateways, tariff: self.tariff, plans: self.plans }
    }

    /// What the calls of a day may cost, in nanos.
    pub fn spend_limit(&self) -> i64 {
        self.max_spend_per_day.unwrap_or(fraud_caps::DEFAULT.max_spend_per_day.nanos())
    }
}

/// The contexts of calls; none where the trunk is gone.
pub async fn contexts(conn: &mut Conn, keys: &[ContextKey<'_>]) -> Result<Vec<Option<CallContext>>, DbError> {
    let currency = CURRENCY;
    let lists: Vec<Vec<Value<'_>>> = keys
        .iter()
        .map(|key| row_values![key.trunk, key.zone, key.number, key.day, currency].into_iter().collect())
        .collect();
    conn.opt_each(
        sql!(
            "SELECT t.id, t.account_id, COALESCE($2, t.zone), t.channel_cap, t.cps_limit,
                    o.onboarding_status = 'approved' AND o.suspended_from IS NULL,
                    f.max_spend_per_day, f.max_rate_per_minute, q.channels, t.inbound_uri, t.allowed_inbound_host,
                    n.country, n.trunk_id,
                    (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
                    (SELECT version FROM versions WHERE name = 'rate_plans'),
                    COALESCE(d.charged + d.reserved, 0),
                    COALESCE(c.live, 0), COALESCE(c.second, 0), COALESCE(c.in_second, 0),
                    COALESCE(z.live, 0),
                    COALESCE(b.balance - b.held - b.minimum, 0)
             FROM trunks t JOIN onboardings o ON o.account_id = t.account_id
             LEFT JOIN fraud_caps f ON f.account_id = t.account_id
             LEFT JOIN zone_quotas q ON q.account_id = t.account_id AND q.zone = COALESCE($2, t.zone)
             LEFT JOIN numbers n ON n.e164 = $3 AND COALESCE(n.released_at, 0) = 0
             LEFT JOIN daily_spend d ON d.account_id = t.account_id AND d.day = $4
             LEFT JOIN trunk_load c ON c.trunk_id = t.id
             LEFT JOIN zone_load z ON z.account_id = t.account_id AND z.zone = COALESCE($2, t.zone)
             LEFT JOIN ledger_balances b ON b.account_id = t.account_id AND b.currency = $5
             WHERE t.id = $1"
        ),
        &lists,
    )
    .await
}

row! {
    /// Where calls to a number go, as its trunk has it.
    #[derive(Clone, Debug)]
    pub struct InboundTarget {
        pub trunk_id: TrunkId,
        pub inbound_uri: Option<SipUri>,
        pub allowed_inbound_host: Option<String>,
    }
}

/// Where calls to a customer's number go; none if no customer has it.
pub async fn inbound_target(conn: &mut Conn, number: &E164) -> Result<Option<InboundTarget>, DbError> {
    conn.opt(
        sql!(
            "SELECT t.id, t.inbound_uri, t.allowed_inbound_host FROM numbers n JOIN trunks t ON t.id = n.trunk_id
             WHERE n.e164 = $1 AND COALESCE(n.released_at, 0) = 0"
        ),
        params![*number],
    )
    .await
}
