//! `/admin/routing-policies`: how the routes of calls are ordered, as the team sets it.
//!
//! The policies are one document, replaced whole. What they do is in [`rating::quality`]; decisions use them through
//! [`platform::routing::policies`].

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx, Tx};
use api::input::Body;
use api::problem::Problem;
use platform::routing::policies::{
    self, DEFAULT_MIN_ATTEMPTS, DestinationPolicy, RoutingPolicies, RoutingPolicy, RoutingRules,
};
use values::{Digits, Text};

/// A thousand exceptions, each with a long name.
const MAX_BYTES: usize = 1024 * 1024;
/// Exceptions that the audit log names.
const MAX_AUDITED: usize = 20;

/// How the routes of calls are to be ordered. Limits that are left out demand nothing.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingRulesInput {
    /// What decides between healthy routes.
    routing_policy: RoutingPolicy,
    /// Answer-seizure ratio in percent below which a route is demoted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    min_asr_pct: Option<i64>,
    /// Average call duration in seconds below which a route is demoted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    min_acd_seconds: Option<i64>,
    /// Average post-dial delay in milliseconds above which a route is demoted.
    #[serde(default)]
    #[schemars(range(min = 1, max = 60_000))]
    max_pdd_ms: Option<i64>,
    /// Attempts in the window before the quality of a route counts; 20 if left out.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    min_attempts: Option<i64>,
}

impl From<RoutingRulesInput> for RoutingRules {
    fn from(rules: RoutingRulesInput) -> RoutingRules {
        let RoutingRulesInput { routing_policy, min_asr_pct, min_acd_seconds, max_pdd_ms, min_attempts } = rules;
        let min_attempts = min_attempts.unwrap_or(DEFAULT_MIN_ATTEMPTS);
        RoutingRules { routing_policy, min_asr_pct, min_acd_seconds, max_pdd_ms, min_attempts }
    }
}

/// Routing policy for some calls; give exactly one of `prefix` and `destination_name`.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DestinationPolicyInput {
    /// Calls to numbers that begin with these digits, country code first.
    #[serde(default)]
    prefix: Option<Digits>,
    /// Calls to the destination with this name, spelled as in the sell rate.
    #[serde(default)]
    destination_name: Option<Text<1, 200>>,
    /// How the routes of these calls are ordered.
    rules: RoutingRulesInput,
}

/// Routing policies to set.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutingPoliciesUpdate {
    /// Rules of all calls that no exception is for.
    default: RoutingRulesInput,
    /// Exceptions; none if left out.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    destinations: Vec<DestinationPolicyInput>,
}

impl Checks for RoutingPoliciesUpdate {
    fn check(given: &Given<'_>) {
        let (mut prefixes, mut names) = (BTreeSet::new(), BTreeSet::new());
        given.each("destinations", |one| {
            one.check_with("prefix", "destination_name", |prefix: Option<Digits>, name: Option<Text<1, 200>>| {
                match (prefix, name) {
                    (Some(_), Some(_)) => must(false, "must not be given together with destination_name"),
                    (None, None) => must(false, "must be given, or destination_name"),
                    (Some(prefix), None) => {
                        must(prefixes.insert(prefix.as_str().to_owned()), "must not be named twice")
                    }
                    (None, Some(_)) => Ok(()),
                }
            });
            one.check("destination_name", |name: Text<1, 200>| {
                must(names.insert(name.into_string()), "must not be named twice")
            });
        });
    }
}

impl From<&RoutingPoliciesUpdate> for RoutingPolicies {
    fn from(update: &RoutingPoliciesUpdate) -> RoutingPolicies {
        let destinations = update.destinations.iter().cloned();
        RoutingPolicies {
            default: update.default.into(),
            destinations: destinations
                .map(|one| DestinationPolicy {
                    prefix: one.prefix,
                    destination_name: one.destination_name,
                    rules: one.rules.into(),
                })
                .collect(),
        }
    }
}

pub async fn show(mut ctx: ReadCtx) -> Result<Json<RoutingPolicies>, Problem> {
    Ok(Json(policies::stored(&mut ctx).await?))
}

pub async fn update(
    ctx: RequestCtx,
    Body(Checked(update)): Body<Checked<RoutingPoliciesUpdate>, MAX_BYTES>,
) -> Result<Committed<Json<RoutingPolicies>>, Problem> {
    let saved = ctx.commit(RoutingPolicies::from(&update), |tx, wanted| Box::pin(replace(tx, wanted))).await?;
    // Other nodes see it within a second, this one at once.
    ctx.app.routing_policies.current(&ctx.app.db).await?;
    Ok(saved)
}

async fn replace(tx: &mut Tx<'_>, wanted: &RoutingPolicies) -> Result<Json<RoutingPolicies>, Problem> {
    policies::lock(tx).await?;
    let before = policies::stored(tx).await?;
    tx.expect_version(&before)?;
    policies::save(tx, wanted).await?;
    let ctx = tx.ctx;
    ctx.audit_note("default", json!({"from": before.default, "to": wanted.default}));
    ctx.audit_note("removed", difference(&before, wanted));
    ctx.audit_note("added", difference(wanted, &before));
    Ok(Json(wanted.clone()))
}

/// The exceptions that only the first has: their number and the first of them.
fn difference(one: &RoutingPolicies, other: &RoutingPolicies) -> Value {
    let missing = one.destinations.iter().filter(|policy| !other.destinations.contains(policy));
    let first: Vec<_> = missing.clone().take(MAX_AUDITED).collect();
    json!({"number": missing.count(), "first": first})
}
