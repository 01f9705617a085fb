//! The rules of a plan, as the API takes and shows them and as they are stored.

use rating::{PlanRule, PricedBy, RulePrice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{NewVersion, VersionRow};
use values::{Country, Digits, ExactMoney, PlanMarkup, Text, text_enum};

text_enum! {
    /// What the markups of a rate plan are added to: `list` is the sell rate of customers without a plan, `cost` what the
    /// cheapest active upstream charges.
    pub enum PlanBase {
        List = "list",
        Cost = "cost",
    }
}

text_enum! {
    /// What decides a customer's rate: `list` is the sell rate of customers without a rate plan; `prefix`,
    /// `destination_name` and `country` are rules of the customer's plan, and `markup` is what it says of all other calls.
    pub enum PriceRule {
        List = "list",
        Prefix = "prefix",
        DestinationName = "destination_name",
        Country = "country",
        Markup = "markup",
    }
}

impl From<PricedBy> for PriceRule {
    fn from(by: PricedBy) -> Self {
        match by {
            PricedBy::List => PriceRule::List,
            PricedBy::Prefix(_) => PriceRule::Prefix,
            PricedBy::Destination(_) => PriceRule::DestinationName,
            PricedBy::Country(_) => PriceRule::Country,
            PricedBy::Markup => PriceRule::Markup,
        }
    }
}

/// The calls that a rule applies to; exactly one of the fields is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleMatch {
    /// Calls to numbers that begin with these digits, country code first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<Digits>,
    /// Calls to the destination with this name, spelled as in the rate deck.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_name: Option<Text<1, 200>>,
    /// Calls to this country (ISO 3166-1 alpha-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<Country>,
}

impl RuleMatch {
    /// Whether exactly one field is given.
    pub fn is_single(&self) -> bool {
        let given = [self.prefix.is_some(), self.destination_name.is_some(), self.country.is_some()];
        given.into_iter().filter(|is_given| *is_given).count() == 1
    }
}

/// Rule of a rate plan: a markup or a fixed rate for some calls. Fields that are left out follow from the base of the
/// plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// The calls that the rule applies to.
    #[serde(rename = "match")]
    pub matches: RuleMatch,
    /// Markup on the base in percent; give this or `rate_per_minute`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markup_pct: Option<PlanMarkup>,
    /// Fixed price per minute in EUR; give this or `markup_pct`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_minute: Option<ExactMoney>,
    /// Fee per answered call in EUR; if left out, that of the base with the markup of the rule, or of the plan if the rule
    /// has a fixed rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_fee: Option<ExactMoney>,
    /// Billing increment in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 3600))]
    pub increment_seconds: Option<u16>,
    /// Minimum number of seconds that an answered call is billed for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub minimum_seconds: Option<u16>,
}

impl RateRule {
    /// The rule to compute with. What the checks of a request refuse does not get here.
    fn compile(&self) -> Option<PlanRule> {
        let RuleMatch { prefix, destination_name, country } = &self.matches;
        let matches = match (prefix, destination_name, country) {
            (Some(digits), None, None) => rating::RuleMatch::Prefix(digits.as_str().parse().ok()?),
            (None, Some(name), None) => rating::RuleMatch::Destination(name.as_str().into()),
            (None, None, Some(country)) => rating::RuleMatch::Country(rating::Country::new(country.code())?),
            _ => return None,
        };
        let price = match (self.markup_pct, self.rate_per_minute) {
            (Some(markup), None) => RulePrice::Markup(ppm(markup)),
            (None, Some(ExactMoney(rate))) => RulePrice::PerMinute(rate.nanos()),
            _ => return None,
        };
        Some(PlanRule {
            matches,
            price,
            connect_fee_nanos: self.connect_fee.map(|ExactMoney(fee)| fee.nanos()),
            increment_seconds: self.increment_seconds,
            minimum_seconds: self.minimum_seconds,
        })
    }
}

/// A markup has at most ten million parts per million.
fn ppm(markup: PlanMarkup) -> i32 {
    i32::try_from(markup.ppm()).unwrap_or_default()
}

impl VersionRow {
    /// The version to compute with.
    pub fn compile(&self) -> Result<rating::Plan, Unusable> {
        compile(self.base, self.markup, self.allow_below_cost, &self.rules.0)
    }
}

impl NewVersion {
    /// The same before it is recorded.
    pub fn compile(&self) -> Result<rating::Plan, Unusable> {
        compile(self.base, self.markup, self.allow_below_cost, &self.rules.0)
    }
}

/// Why a version cannot be computed with; the checks of requests refuse such versions.
type Unusable = Box<dyn std::error::Error + Send + Sync>;

fn compile(
    base: PlanBase,
    markup: PlanMarkup,
    allow_below_cost: bool,
    rules: &[RateRule],
) -> Result<rating::Plan, Unusable> {
    let base = match base {
        PlanBase::List => rating::PlanBase::List,
        PlanBase::Cost => rating::PlanBase::Cost,
    };
    let rules: Option<Vec<PlanRule>> = rules.iter().map(RateRule::compile).collect();
    let rules = rules.ok_or("a rule has not exactly one match and one price")?;
    Ok(rating::Plan::new(base, ppm(markup), allow_below_cost, rules)?)
}
