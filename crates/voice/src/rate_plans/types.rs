//! Rate plans as the API shows and takes them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::price_notices::check_waiver;
use api::answer::Volatile;
use api::checks::{Checks, Given, must};
use identity::balance::check_amount;
use platform::routing::plans::{
    AssignmentRow, NewVersion, PlanBase, PlanRow, PlanSummary, RateRule, RuleMatch, VersionRow,
};
use platform::routing::tariff::DEFAULT_NOTICE_DAYS;
use values::{
    Change, Country, Digits, ExactMoney, List, Money, PlanMarkup, RatePlanId, RatePlanVersionId, Rfc3339, Text, Time,
};

/// Ten thousand rules, each with a long name.
pub const MAX_PLAN_BYTES: usize = 4 * 1024 * 1024;

/// Rate plan in a list: the prices of some customers, by a markup and rules over the tariff.
#[derive(Clone, Serialize, JsonSchema)]
pub struct RatePlanItem {
    /// Id of the rate plan.
    pub id: RatePlanId,
    /// Name of the rate plan.
    pub name: Text<1, 100>,
    /// What the markups are added to.
    pub base: PlanBase,
    /// Markup on the base in percent, where no rule applies.
    pub markup_pct: PlanMarkup,
    /// Whether calls are routed even to upstreams that cost more than the customer pays.
    pub allow_below_cost: bool,
    /// Days before an increase takes effect, unless the customer's own notice is longer.
    pub notice_days: i64,
    /// Number of rules.
    pub rule_count: i64,
    /// Number of the latest version, from 1.
    pub version: i64,
    /// When the latest version takes effect or did (RFC 3339, UTC); until then the version before it counts.
    pub effective_at: Rfc3339,
    /// Customers that have the plan, or are to have it.
    pub customers: i64,
    /// When the plan was created (RFC 3339, UTC).
    pub created_at: Rfc3339,
}

/// Rate plan with the rules of its latest version.
#[derive(Clone, Serialize, JsonSchema)]
pub struct RatePlan {
    #[serde(flatten)]
    pub plan: RatePlanItem,
    /// Rules of the latest version. The longest prefix decides, then the destination's name, then the country.
    pub rules: Vec<RateRule>,
}

impl Volatile for RatePlan {
    const FIELDS: &'static [&'static str] = &["customers"];
}

impl From<PlanSummary> for RatePlanItem {
    fn from(row: PlanSummary) -> Self {
        RatePlanItem {
            id: row.id,
            name: row.name,
            base: row.base,
            markup_pct: row.markup,
            allow_below_cost: row.allow_below_cost,
            notice_days: row.notice_days,
            rule_count: row.rule_count,
            version: row.number,
            effective_at: Rfc3339(row.effective_at),
            customers: row.customers,
            created_at: Rfc3339(row.created_at),
        }
    }
}

/// The calls that a rule applies to; give exactly one of the fields.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleMatchInput {
    /// Calls to numbers that begin with these digits, country code first.
    #[serde(default)]
    prefix: Option<Digits>,
    /// Calls to the destination with this name, spelled as in the rate deck.
    #[serde(default)]
    destination_name: Option<Text<1, 200>>,
    /// Calls to this country (ISO 3166-1 alpha-2).
    #[serde(default)]
    country: Option<Country>,
}

impl From<RuleMatchInput> for RuleMatch {
    fn from(RuleMatchInput { prefix, destination_name, country }: RuleMatchInput) -> Self {
        RuleMatch { prefix, destination_name, country }
    }
}

/// Rule of a rate plan: a markup or a fixed rate for some calls. Fields that are left out follow from the base of the
/// plan.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRuleInput {
    /// The calls that the rule applies to.
    #[serde(rename = "match")]
    matches: RuleMatchInput,
    /// Markup on the base in percent; give this or `rate_per_minute`.
    #[serde(default)]
    markup_pct: Option<PlanMarkup>,
    /// Fixed price per minute in EUR; give this or `markup_pct`.
    #[serde(default)]
    rate_per_minute: Option<Money>,
    /// Fee per answered call in EUR; if left out, that of the base with the markup of the rule, or of the plan if the rule
    /// has a fixed rate.
    #[serde(default)]
    connect_fee: Option<Money>,
    /// Billing increment in seconds.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3600))]
    increment_seconds: Option<u16>,
    /// Minimum number of seconds that an answered call is billed for.
    #[serde(default)]
    #[schemars(range(min = 0, max = 3600))]
    minimum_seconds: Option<u16>,
}

impl From<RateRuleInput> for RateRule {
    fn from(rule: RateRuleInput) -> Self {
        RateRule {
            matches: rule.matches.into(),
            markup_pct: rule.markup_pct,
            rate_per_minute: rule.rate_per_minute.map(ExactMoney::from),
            connect_fee: rule.connect_fee.map(ExactMoney::from),
            increment_seconds: rule.increment_seconds,
            minimum_seconds: rule.minimum_seconds,
        }
    }
}

fn rules_of(rules: &[RateRuleInput]) -> List<RateRule> {
    List(rules.iter().cloned().map(RateRule::from).collect())
}

/// A new rate plan.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePlanCreate {
    /// Name of the rate plan; no two plans share one.
    pub name: Text<1, 100>,
    /// What the markups are added to.
    pub base: PlanBase,
    /// Markup on the base in percent, where no rule applies.
    pub markup_pct: PlanMarkup,
    /// Whether calls are routed even to upstreams that cost more than the customer pays; false if left out.
    #[serde(default)]
    pub allow_below_cost: bool,
    /// Days before an increase takes effect; 7 if left out.
    #[serde(default)]
    #[schemars(range(min = 0, max = 365))]
    pub notice_days: Option<i64>,
    /// Rules for some calls; none if left out.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub rules: Vec<RateRuleInput>,
    /// When the plan can first be used (RFC 3339), not in the past; now if left out.
    #[serde(default)]
    pub effective_at: Option<Rfc3339>,
}

impl Checks for RatePlanCreate {
    fn check(given: &Given<'_>) {
        check_rules(given);
        check_effective_at(given);
    }
}

impl RatePlanCreate {
    pub fn plan(&self, id: RatePlanId, now: Time) -> PlanRow {
        let notice_days = self.notice_days.unwrap_or(DEFAULT_NOTICE_DAYS);
        PlanRow { id, name: self.name.clone(), notice_days, created_at: now, updated_at: now }
    }

    pub fn version(&self, rate_plan_id: RatePlanId, now: Time) -> NewVersion {
        NewVersion {
            rate_plan_id,
            base: self.base,
            markup: self.markup_pct,
            allow_below_cost: self.allow_below_cost,
            rules: rules_of(&self.rules),
            effective_at: self.effective_at.map_or(now, |Rfc3339(at)| at),
        }
    }
}

/// Changes to a rate plan; fields that are left out stay as they are.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePlanUpdate {
    /// Name of the rate plan; no two plans share one.
    #[serde(default)]
    name: Change<Text<1, 100>>,
    /// What the markups are added to.
    #[serde(default)]
    base: Change<PlanBase>,
    /// Markup on the base in percent, where no rule applies.
    #[serde(default)]
    markup_pct: Change<PlanMarkup>,
    /// Whether calls are routed even to upstreams that cost more than the customer pays.
    #[serde(default)]
    allow_below_cost: Change<bool>,
    /// Days before an increase takes effect.
    #[serde(default)]
    #[schemars(range(min = 0, max = 365))]
    notice_days: Change<i64>,
    /// Rules for some calls; replaces the whole list.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    rules: Change<Vec<RateRuleInput>>,
    /// When the new version takes effect (RFC 3339), not in the past; now if left out. It replaces every version that
    /// would take effect later.
    #[serde(default)]
    pub effective_at: Option<Rfc3339>,
    /// Let an increase take effect before its notice ends; needs a `reason`.
    #[serde(default)]
    pub waive_notice: bool,
    /// Why the notice is waived; for the audit log.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
}

impl Checks for RatePlanUpdate {
    fn check(given: &Given<'_>) {
        check_rules(given);
        check_effective_at(given);
        check_waiver(given);
    }
}

impl RatePlanUpdate {
    pub fn apply_to_plan(&self, plan: &mut PlanRow, now: Time) {
        self.name.clone().apply(&mut plan.name);
        self.notice_days.apply(&mut plan.notice_days);
        plan.updated_at = now;
    }

    /// The version that follows, if it says anything else or begins earlier.
    pub fn version_after(&self, latest: &VersionRow, now: Time) -> Option<NewVersion> {
        let mut new = NewVersion {
            rate_plan_id: latest.rate_plan_id,
            base: latest.base,
            markup: latest.markup,
            allow_below_cost: latest.allow_below_cost,
            rules: latest.rules.clone(),
            effective_at: self.effective_at.map_or(now, |Rfc3339(at)| at),
        };
        self.base.apply(&mut new.base);
        self.markup_pct.apply(&mut new.markup);
        self.allow_below_cost.apply(&mut new.allow_below_cost);
        if let Change::Set(rules) = &self.rules {
            new.rules = rules_of(rules);
        }
        let is_same = (new.base, new.markup, new.allow_below_cost)
            == (latest.base, latest.markup, latest.allow_below_cost)
            && new.rules == latest.rules;
        let is_earlier = self.effective_at.is_some() && new.effective_at < latest.effective_at;
        (!is_same || is_earlier).then_some(new)
    }
}

/// The rate plan that a customer is to have.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatePlanAssign {
    /// Id of the rate plan; null for the list price, and as before if left out.
    #[serde(default)]
    pub rate_plan_id: Change<Option<RatePlanId>>,
    /// When the customer gets the plan (RFC 3339), not in the past; now if left out. It replaces every assignment that
    /// would take effect later.
    #[serde(default)]
    pub effective_at: Option<Rfc3339>,
    /// Days before an increase takes effect for the customer, unless its plan has a longer notice; as before if left
    /// out, and 7 at first.
    #[serde(default)]
    #[schemars(range(min = 0, max = 365))]
    pub notice_days: Option<i64>,
    /// Let an increase take effect before its notice ends; needs a `reason`.
    #[serde(default)]
    pub waive_notice: bool,
    /// Why the notice is waived; for the audit log.
    #[serde(default)]
    pub reason: Option<Text<1, 500>>,
}

impl Checks for RatePlanAssign {
    fn check(given: &Given<'_>) {
        check_effective_at(given);
        check_waiver(given);
    }
}

/// The rate plan of a customer, and its history.
#[derive(Clone, Serialize, JsonSchema)]
pub struct CustomerRatePlan {
    /// Id of the customer.
    pub customer_id: Uuid,
    /// Id of the rate plan that is in force; null for the list price.
    pub rate_plan_id: Option<RatePlanId>,
    /// Name of the rate plan that is in force; null for the list price.
    pub rate_plan_name: Option<Text<1, 100>>,
    /// Id of the version of the plan that is in force; null for the list price.
    pub rate_plan_version_id: Option<RatePlanVersionId>,
    /// Days before an increase takes effect for the customer, unless its plan has a longer notice. Without a plan, decks
    /// take effect at once unless days were agreed.
    pub notice_days: i64,
    /// Assignments of rate plans to the customer, the latest first; at most 200.
    pub history: Vec<RatePlanAssignment>,
}

/// A rate plan that a customer has, had or is to have.
#[derive(Clone, Serialize, JsonSchema)]
pub struct RatePlanAssignment {
    /// Number of the assignment among those of the customer, from 1. Of those that have taken effect, the highest counts.
    pub number: i64,
    /// Id of the rate plan; null for the list price.
    pub rate_plan_id: Option<RatePlanId>,
    /// Name of the rate plan; null for the list price.
    pub rate_plan_name: Option<Text<1, 100>>,
    /// When the assignment takes effect or did (RFC 3339, UTC).
    pub effective_at: Rfc3339,
    /// When the assignment was made (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// Why its notice was waived; null if it was not.
    pub waive_reason: Option<String>,
}

impl RatePlanAssignment {
    pub fn new(rate_plan_name: Option<Text<1, 100>>, row: AssignmentRow) -> RatePlanAssignment {
        RatePlanAssignment {
            number: row.number,
            rate_plan_id: row.rate_plan_id,
            rate_plan_name,
            effective_at: Rfc3339(row.effective_at),
            created_at: Rfc3339(row.recorded_at),
            waive_reason: row.waive_reason,
        }
    }
}

fn check_rules(given: &Given<'_>) {
    let mut seen = BTreeSet::new();
    given.each("rules", |rule| {
        rule.check("match", |matches: RuleMatchInput| {
            let matches = RuleMatch::from(matches);
            must(matches.is_single(), "must have one of prefix, destination_name and country")?;
            let key = serde_json::to_string(&matches).unwrap_or_default();
            must(seen.insert(key), "is also that of an earlier rule")
        });
        rule.check_with("rate_per_minute", "markup_pct", |rate: Option<Money>, markup: Option<PlanMarkup>| {
            must(rate.is_some() != markup.is_some(), "must be given if markup_pct is not, and only then")
        });
        for amount in ["rate_per_minute", "connect_fee"] {
            check_amount(rule, amount, |amount| must(amount.nanos() >= 0, "must not be negative"));
        }
    });
}

fn check_effective_at(given: &Given<'_>) {
    given.check("effective_at", |Rfc3339(at): Rfc3339| must(at >= given.now, "must not be in the past"));
}
