//! What a decision about a call asks the database, in one statement.
//!
//! Whether the call goes on already is looked up by what its switch knows it by, which few calls have in common.
//! Their trunk and leg are compared in a way that no index serves: a planner that knows little yet would else choose
//! among all calls of the trunk.

use crate::calls::live::Identity;
use db::{Conn, DbError, params, row, sql};
use values::{AccountId, CallId, E164, SipUri, TrunkId};

row! {
    /// How often each thing has changed that nodes keep in memory.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Versions {
        pub addresses: i64,
        pub gateways: i64,
        pub tariff: i64,
    }
}

impl Versions {
    /// Whether nothing has changed since that these do not have.
    pub fn covers(&self, other: &Versions) -> bool {
        self.addresses >= other.addresses && self.gateways >= other.gateways && self.tariff >= other.tariff
    }
}

pub async fn versions(conn: &mut Conn) -> Result<Versions, DbError> {
    conn.one(
        sql!(
            "SELECT (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff')"
        ),
        params![],
    )
    .await
}

row! {
    /// What holds for a call on a trunk.
    #[derive(Clone, Debug)]
    pub struct Facts {
        pub trunk_id: TrunkId,
        pub account_id: AccountId,
        pub zone: String,
        pub channel_cap: i64,
        pub cps_limit: Option<i64>,
        pub is_account_active: bool,
        pub max_spend_per_day: Option<i64>,
        pub max_rate_per_minute: Option<i64>,
        pub channels: Option<i64>,
        /// Where calls to the trunk's numbers go.
        pub inbound_uri: Option<SipUri>,
        /// Where the number is that is called, if it is a customer's.
        pub number_country: Option<String>,
        addresses: i64,
        gateways: i64,
        tariff: i64,
        /// The hour in which the account's calls of the zone last changed.
        pub zone_hour: Option<i64>,
        /// The call of the same identity that goes the same way at this trunk.
        pub token: Option<CallId>,
    }
}

impl Facts {
    pub fn versions(&self) -> Versions {
        Versions { addresses: self.addresses, gateways: self.gateways, tariff: self.tariff }
    }
}

/// The facts for a call of this trunk, in its own zone unless another is named; nothing if the trunk is gone.
pub async fn facts(
    conn: &mut Conn,
    trunk: TrunkId,
    zone: Option<&str>,
    identity: &Identity,
) -> Result<Option<Facts>, DbError> {
    conn.opt(
        sql!(
            "SELECT t.id, t.account_id, COALESCE($2, t.zone), t.channel_cap, t.cps_limit,
                    o.onboarding_status = 'approved' AND o.suspended_from IS NULL,
                    f.max_spend_per_day, f.max_rate_per_minute, q.channels, t.inbound_uri, CAST(NULL AS TEXT),
                    (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
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

/// The facts for a call to this number, on the trunk that it is sent to; nothing if no customer has the number.
pub async fn facts_of_number(
    conn: &mut Conn,
    number: &E164,
    zone: Option<&str>,
    identity: &Identity,
) -> Result<Option<Facts>, DbError> {
    conn.opt(
        sql!(
            "SELECT t.id, t.account_id, COALESCE($2, t.zone), t.channel_cap, t.cps_limit,
                    o.onboarding_status = 'approved' AND o.suspended_from IS NULL,
                    f.max_spend_per_day, f.max_rate_per_minute, q.channels, t.inbound_uri, n.country,
                    (SELECT version FROM versions WHERE name = 'addresses'),
                    (SELECT version FROM versions WHERE name = 'gateways'),
                    (SELECT version FROM versions WHERE name = 'tariff'),
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
