//! What many operations have in common. The page names it once, in a chapter, and links to it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::operation::{Operation, Trait};
use super::schema::{Document, text};

/// Fewer operations than this have nothing in common that is worth a chapter.
const MANY: usize = 20;

pub struct Repeated<'a> {
    pub codes: ByTrait<'a>,
    /// The headers of successes.
    pub headers: ByTrait<'a>,
    /// Query parameters and request headers, by place and name.
    pub parameters: BTreeMap<(&'a str, &'a str), &'a Value>,
}

/// What operations with a trait have in common, without what they have by the traits before it.
pub struct ByTrait<'a>(BTreeMap<Trait<'a>, BTreeSet<&'a str>>);

impl<'a> Repeated<'a> {
    pub fn of(document: Document<'a>, operations: &[Operation<'a>]) -> Self {
        let by_trait = |names: fn(&Operation<'a>, Document<'a>) -> BTreeSet<&'a str>| {
            ByTrait::of(operations.iter().map(|it| (it.traits(document), names(it, document))).collect())
        };
        Self {
            codes: by_trait(Operation::problem_codes),
            headers: by_trait(Operation::success_headers),
            parameters: parameters(document, operations),
        }
    }

    /// Whether the chapter about common parameters describes it.
    pub fn has_parameter(&self, parameter: &Value) -> bool {
        let part = |key| text(parameter, key).unwrap_or_default();
        let described = self.parameters.get(&(part("in"), part("name")));
        described.is_some_and(|described| described.get("schema") == parameter.get("schema"))
    }
}

impl<'a> ByTrait<'a> {
    fn of(operations: Vec<(BTreeSet<Trait<'a>>, BTreeSet<&'a str>)>) -> Self {
        let traits: BTreeSet<Trait> = operations.iter().flat_map(|(traits, _)| traits).copied().collect();
        let mut groups = ByTrait(BTreeMap::new());
        for of in traits {
            let members = || operations.iter().filter(|(traits, _)| traits.contains(&of));
            let mut found = common(members().map(|(_, names)| names.clone()));
            found.retain(|name| members().any(|(traits, names)| names.contains(name) && !groups.has(traits, name)));
            if !found.is_empty() {
                groups.0.insert(of, found);
            }
        }
        groups
    }

    /// Whether operations with these traits have it by one of them.
    pub fn has(&self, traits: &BTreeSet<Trait<'a>>, name: &str) -> bool {
        traits.iter().filter_map(|of| self.0.get(of)).any(|names| names.contains(name))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn groups(&self) -> impl Iterator<Item = (&Trait<'a>, &BTreeSet<&'a str>)> {
        self.0.iter()
    }
}

/// What at least nine of ten operations have, if there are many.
fn common<'a>(operations: impl Iterator<Item = BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut counts, mut all) = (BTreeMap::<&str, usize>::new(), 0);
    for names in operations {
        all += 1;
        names.into_iter().for_each(|name| *counts.entry(name).or_default() += 1);
    }
    let is_common = |count: usize| all >= MANY && count * 10 >= all * 9;
    counts.into_iter().filter(|(_, count)| is_common(*count)).map(|(name, _)| name).collect()
}

/// Parameters with one schema that many operations accept, each as an operation describes it that requires it, if one
/// does.
fn parameters<'a>(document: Document<'a>, operations: &[Operation<'a>]) -> BTreeMap<(&'a str, &'a str), &'a Value> {
    let mut all: BTreeMap<(&str, &str, String), (usize, &Value)> = BTreeMap::new();
    for parameter in operations.iter().flat_map(|operation| operation.parameters(document)) {
        let part = |key| text(parameter, key).unwrap_or_default();
        let schema = parameter.get("schema").map(Value::to_string).unwrap_or_default();
        let (count, described) = all.entry((part("in"), part("name"), schema)).or_insert((0, parameter));
        *count += 1;
        if parameter.get("required") == Some(&Value::Bool(true)) {
            *described = parameter;
        }
    }
    let many = all.into_iter().filter(|((place, ..), (count, _))| *place != "path" && *count >= MANY);
    many.map(|((place, name, _), (_, parameter))| ((place, name), parameter)).collect()
}
