//! What an authorization decision reads, in one statement.
//!
//! A live call with the same identity is looked up by edge, Call-ID and tag, which few calls share. Trunk and leg are
//! compared with IS NOT DISTINCT FROM, which no index serves: otherwise PostgreSQL, before it has statistics, may scan
//! all calls of the trunk.

use crate::calls::live::CallIdentity;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, CallId, E164, SipUri, TrunkId};

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

row! {
    /// Trunk, account and limits of a call.
    #[derive(Clone, Debug)]
    pub struct CallContext {
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
        pub channel_cap: i64,
        pub cps_limit: Option<i64>,
        pub is_account_active: bool,
        pub max_spend_per_day: Option<i64>,
        pub max_rate_per_minute: Option<i64>,
        pub channels: Option<i64>,
        /// Where inbound calls of the trunk go.
        pub inbound_uri: Option<SipUri>,
        /// The host outside the allow-list that the team allowed for them.
        pub allowed_inbound_host: Option<String>,
        /// Country of the called number, if it is a customer's.
        pub number_country: Option<String>,
        addresses: i64,
        gateways: i64,
        tariff: i64,
        plans: i64,
        /// Hour of the last change of the account's live calls in the zone.
        pub zone_hour: Option<i64>,
        /// The live call with the same identity, trunk and leg.
        pub token: Option<CallId>,
    }
}

impl CallContext {
    pub fn versions(&self) -> Versions {
        Versions { addresses: self.addresses, gateways: self.gateways, tariff: self.tariff, plans: self.plans }
    }
}

/// Context of a call from a trunk, in the trunk's zone unless another is given; none if the trunk is gone.
pub async fn context_of_trunk(
    conn: &mut Conn,
    trunk: TrunkId,
    zone: Option<&str>,
    identity: &CallIdentity,
) -> Result<Option<CallContext>, DbError> {
    conn.opt(
        sql!(
            "SELECT t.id, t.account_id, COALESCE($2, t.zone), t.channel_cap, t.cps_limit,
                    o.onboarding_status = 'approved' AND o.suspended_from IS NULL,
                    f.max_spend_per_day, f.max_rate_per_minute, q.channels, t.inbound_uri, t.allowed_inbound_host,
                    CAST(NULL AS TEXT),
                    (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
                    (SELECT version FROM versions WHERE name = 'rate_plans'),
                    z.hour, l.token
             FROM trunks t JOIN onboardings o ON o.account_id = t.account_id
             LEFT JOIN fraud_caps f ON f.account_id = t.account_id
             LEFT JOIN zone_quotas q ON q.account_id = t.account_id AND q.zone = COALESCE($2, t.zone)
             LEFT JOIN zone_load z ON z.account_id = t.account_id AND z.zone = COALESCE($2, t.zone)
             LEFT JOIN live_calls l ON l.edge_id = $3 AND l.call_id = $4 AND l.from_tag = $5
                 AND l.trunk_id IS NOT DISTINCT FROM t.id AND l.leg IS NOT DISTINCT FROM 'termination'
             WHERE t.id = $1"
        ),
        params![trunk, zone, identity.edge_id, identity.call_id, identity.from_tag],
    )
    .await
}

/// Context of a call to a customer's number, on the trunk of the number; none if no customer has it.
pub async fn context_of_number(
    conn: &mut Conn,
    number: &E164,
    zone: Option<&str>,
    identity: &CallIdentity,
) -> Result<Option<CallContext>, DbError> {
    conn.opt(
        sql!(
            "SELECT t.id, t.account_id, COALESCE($2, t.zone), t.channel_cap, t.cps_limit,
                    o.onboarding_status = 'approved' AND o.suspended_from IS NULL,
                    f.max_spend_per_day, f.max_rate_per_minute, q.channels, t.inbound_uri, t.allowed_inbound_host,
                    n.country,
                    (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
                    (SELECT version FROM versions WHERE name = 'rate_plans'),
                    z.hour, l.token
             FROM numbers n JOIN trunks t ON t.id = n.trunk_id JOIN onboardings o ON o.account_id = t.account_id
             LEFT JOIN fraud_caps f ON f.account_id = t.account_id
             LEFT JOIN zone_quotas q ON q.account_id = t.account_id AND q.zone = COALESCE($2, t.zone)
             LEFT JOIN zone_load z ON z.account_id = t.account_id AND z.zone = COALESCE($2, t.zone)
             LEFT JOIN live_calls l ON l.edge_id = $3 AND l.call_id = $4 AND l.from_tag = $5
                 AND l.trunk_id IS NOT DISTINCT FROM t.id AND l.leg IS NOT DISTINCT FROM 'origination'
             WHERE n.e164 = $1 AND n.released_at IS NULL"
        ),
        params![*number, zone, identity.edge_id, identity.call_id, identity.from_tag],
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
             WHERE n.e164 = $1 AND n.released_at IS NULL"
        ),
        params![*number],
    )
    .await
}
