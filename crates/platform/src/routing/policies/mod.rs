//! Routing policies: how the routes of a destination are ordered, and the floor below which one is demoted.
//!
//! One document has them all: a default and exceptions by prefix or by the name of a destination. Every node has it in a
//! [`Cached`](crate::routing::cache::Cached) that is reloaded within a second of a change, so a decision reads no row.

mod store;

pub use store::{load as stored, lock, save};

use std::collections::HashMap;
use std::sync::Arc;

use rating::Prefix;
use rating::quality::{Floor, Policy, Rules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::routing::cache::{self, Versioned};
use db::{Db, DbError};
use values::{Digits, Text, text_enum};

/// The row in `versions`.
const NAME: &str = "routing_policies";
/// Attempts in the window before a route is judged, unless the team says otherwise.
pub const DEFAULT_MIN_ATTEMPTS: i64 = 20;

text_enum! {
    /// How healthy routes are ordered: `cheapest` by cost; `balanced` by quality among routes that cost at most 10 % more
    /// than the cheapest of them; `quality` by quality, and by cost where it is the same.
    pub enum RoutingPolicy {
        Cheapest = "cheapest",
        Balanced = "balanced",
        Quality = "quality",
    }
}

/// How the routes of calls are ordered. Limits that are null demand nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingRules {
    /// What decides between healthy routes.
    pub routing_policy: RoutingPolicy,
    /// Answer-seizure ratio in percent below which a route is demoted.
    #[schemars(range(min = 1, max = 100))]
    pub min_asr_pct: Option<i64>,
    /// Average call duration in seconds below which a route is demoted.
    #[schemars(range(min = 1, max = 3600))]
    pub min_acd_seconds: Option<i64>,
    /// Average post-dial delay in milliseconds above which a route is demoted.
    #[schemars(range(min = 1, max = 60_000))]
    pub max_pdd_ms: Option<i64>,
    /// Attempts in the window before the quality of a route counts.
    #[schemars(range(min = 1, max = 10_000))]
    pub min_attempts: i64,
}

impl Default for RoutingRules {
    fn default() -> RoutingRules {
        RoutingRules {
            routing_policy: RoutingPolicy::Cheapest,
            min_asr_pct: None,
            min_acd_seconds: None,
            max_pdd_ms: None,
            min_attempts: DEFAULT_MIN_ATTEMPTS,
        }
    }
}

impl From<&RoutingRules> for Rules {
    fn from(rules: &RoutingRules) -> Rules {
        Rules {
            policy: match rules.routing_policy {
                RoutingPolicy::Cheapest => Policy::Cheapest,
                RoutingPolicy::Balanced => Policy::Balanced,
                RoutingPolicy::Quality => Policy::Quality,
            },
            floor: Floor {
                min_asr_percent: rules.min_asr_pct,
                min_acd_seconds: rules.min_acd_seconds,
                max_pdd_millis: rules.max_pdd_ms,
                min_attempts: rules.min_attempts,
            },
        }
    }
}

/// Routing policy of some calls; exactly one of `prefix` and `destination_name` is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DestinationPolicy {
    /// Calls to numbers that begin with these digits, country code first; null if `destination_name` is given.
    pub prefix: Option<Digits>,
    /// Calls to the destination with this name, spelled as in the sell rate; null if `prefix` is given.
    pub destination_name: Option<Text<1, 200>>,
    /// How the routes of these calls are ordered.
    pub rules: RoutingRules,
}

/// Routing policies of the installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoutingPolicies {
    /// Rules of all calls that no exception is for.
    pub default: RoutingRules,
    /// Exceptions. The longest prefix of the number decides, then the name of the destination.
    pub destinations: Vec<DestinationPolicy>,
}

/// The policies as decisions use them.
#[derive(Debug)]
pub struct Policies {
    version: i64,
    default: (Rules, RoutingRules),
    by_prefix: HashMap<Prefix, (Rules, RoutingRules)>,
    by_name: HashMap<Box<str>, (Rules, RoutingRules)>,
}

impl Versioned for Policies {
    const NAME: &'static str = NAME;

    fn version(&self) -> i64 {
        self.version
    }

    async fn load(db: &Db, _: Option<Arc<Self>>) -> Result<Self, DbError> {
        db.snapshot((), |conn, ()| {
            Box::pin(async move {
                let version = cache::version(conn, NAME).await?;
                Ok(Policies::new(version, &store::load(conn).await?))
            })
        })
        .await
    }
}

impl Policies {
    fn new(version: i64, policies: &RoutingPolicies) -> Policies {
        let compiled = |rules: &RoutingRules| (Rules::from(rules), *rules);
        let (mut by_prefix, mut by_name) = (HashMap::new(), HashMap::new());
        for DestinationPolicy { prefix, destination_name, rules } in &policies.destinations {
            if let Some(prefix) = prefix.as_ref().and_then(|digits| digits.as_str().parse().ok()) {
                by_prefix.insert(prefix, compiled(rules));
            }
            if let Some(name) = destination_name {
                by_name.insert(name.as_str().into(), compiled(rules));
            }
        }
        Policies { version, default: compiled(&policies.default), by_prefix, by_name }
    }

    /// The rules for calls to a number of this destination.
    pub fn of(&self, number: Prefix, destination: &str) -> &(Rules, RoutingRules) {
        let of_prefix = || {
            let mut prefixes = std::iter::once(number).chain(number.ancestors());
            prefixes.find_map(|prefix| self.by_prefix.get(&prefix))
        };
        let found = if self.by_prefix.is_empty() { None } else { of_prefix() };
        found.or_else(|| self.by_name.get(destination)).unwrap_or(&self.default)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn asr(percent: i64) -> RoutingRules {
        RoutingRules { min_asr_pct: Some(percent), ..RoutingRules::default() }
    }

    #[test]
    fn the_longest_prefix_decides_then_the_name_then_the_default() {
        let of_prefix = |digits: &str, percent| DestinationPolicy {
            prefix: Some(digits.parse().unwrap()),
            destination_name: None,
            rules: asr(percent),
        };
        let of_name = |name: &str, percent| DestinationPolicy {
            prefix: None,
            destination_name: Some(name.parse().unwrap()),
            rules: asr(percent),
        };
        let policies = RoutingPolicies {
            default: asr(1),
            destinations: vec![of_prefix("31", 2), of_prefix("316", 3), of_name("UK", 4), of_name("Netherlands", 5)],
        };
        let policies = Policies::new(1, &policies);
        let found = |number: &str, name| policies.of(number.parse().unwrap(), name).1.min_asr_pct;
        assert_eq!(found("31612345678", "Netherlands"), Some(3));
        assert_eq!(found("31201234567", "Netherlands"), Some(2));
        assert_eq!(found("44201234567", "UK"), Some(4));
        assert_eq!(found("49301234567", "Germany"), Some(1));
    }
}
