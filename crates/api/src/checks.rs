//! Rules of a request that its schema cannot say: a zone must exist, an end must be after its start.
//!
//! A type with rules implements [`Checks`], and its handler takes it as `Body<Checked<T>>`, `Query<Checked<T>>` or
//! `Listing<Checked<T>, …>`. The rules run whether or not the schema found faults, each as soon as the fields that it
//! reads are valid, so that one response names every field that fails. What needs the database is checked in the
//! transaction, with a [`Faults`] of its own.
//!
//! ```
//! use api::checks::{Checks, Given, must};
//! use values::{Rfc3339, Text};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Outage {
//!     zone: Text<1, 64>,
//!     from: Rfc3339,
//!     to: Option<Rfc3339>,
//! }
//!
//! impl Checks for Outage {
//!     fn check(given: &Given<'_>) {
//!         given.check("zone", |zone: Text<1, 64>| must(given.settings.zone(&zone).is_some(), "is not a zone"));
//!         given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
//!     }
//! }
//! ```

use std::borrow::Cow;
use std::cell::RefCell;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::faults::{Faults, below};
use platform::config::Settings;
use values::{Invalid, Time};

/// A type of requests with rules behind its schema.
pub trait Checks: DeserializeOwned + JsonSchema + Send + 'static {
    fn check(given: &Given<'_>);
}

/// A request that obeys the rules of its type.
#[derive(Default)]
pub struct Checked<T>(pub T);

/// The outcome of a rule: the reason to refuse, unless the condition holds.
pub fn must(holds: bool, reason: impl Into<Cow<'static, str>>) -> Result<(), Invalid> {
    if holds { Ok(()) } else { Err(Invalid(reason.into())) }
}

/// A request as its rules see it: the fields that are valid so far.
pub struct Given<'a> {
    pub settings: &'a Settings,
    /// When the request arrived.
    pub now: Time,
    value: &'a Value,
    /// The name of `value`; empty for the request itself.
    at: String,
    /// The schema of the request.
    schema: &'a Value,
    faults: &'a RefCell<Faults>,
}

impl<'a> Given<'a> {
    pub(super) fn new(
        request: &'a Value,
        schema: &'a Value,
        faults: &'a RefCell<Faults>,
        settings: &'a Settings,
        now: Time,
    ) -> Given<'a> {
        Given { settings, now, value: request, at: String::new(), schema, faults }
    }

    /// Applies a rule to a field; one inside another is named with dots. The rule is skipped if the field is absent or
    /// fails already. If it takes an `Option`, it also runs when the field is absent.
    pub fn check<T: DeserializeOwned>(&self, name: &str, rule: impl FnOnce(T) -> Result<(), Invalid>) {
        if let Some(value) = self.read(name) {
            self.note(name, rule(value));
        }
    }

    /// Applies a rule to a field that depends on another one.
    pub fn check_with<T: DeserializeOwned, O: DeserializeOwned>(
        &self,
        name: &str,
        other: &str,
        rule: impl FnOnce(T, O) -> Result<(), Invalid>,
    ) {
        if let (Some(value), Some(other)) = (self.read(name), self.read(other)) {
            self.note(name, rule(value, other));
        }
    }

    /// Applies rules to every item of a list.
    pub fn each(&self, name: &str, mut rules: impl FnMut(&Given<'_>)) {
        let list = below(&self.at, name);
        for (index, value) in self.find(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            rules(&Given { value, at: below(&list, &index.to_string()), ..*self });
        }
    }

    fn note(&self, name: &str, outcome: Result<(), Invalid>) {
        if let Err(Invalid(reason)) = outcome {
            self.faults.borrow_mut().add(below(&self.at, name), reason);
        }
    }

    /// A field that does not fail so far.
    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        debug_assert!(!self.at.is_empty() || self.is_known(name), "the request has no field {name}");
        let faults = self.faults.borrow();
        if faults.concern(&below(&self.at, name)) {
            return None;
        }
        let value = self.find(name).unwrap_or(&Value::Null);
        let read = T::deserialize(value).ok();
        let is_readable = read.is_some() || value.is_null() || !faults.is_empty();
        debug_assert!(is_readable, "the rule of {name} takes another type than the field has");
        read
    }

    fn is_known(&self, name: &str) -> bool {
        let field = name.split('.').next().unwrap_or_default();
        self.schema["properties"].get(field).is_some()
    }

    fn find(&self, name: &str) -> Option<&'a Value> {
        name.split('.').try_fold(self.value, |value, part| value.get(part))
    }
}

/// What requests are read into: a type with a schema, alone or `Checked`.
pub trait Request: Sized + Send + 'static {
    type Schema: DeserializeOwned + JsonSchema + 'static;
    const IS_CHECKED: bool;

    fn new(read: Self::Schema) -> Self;
    fn check(given: &Given<'_>);
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Request for T {
    type Schema = T;
    const IS_CHECKED: bool = false;

    fn new(read: T) -> T {
        read
    }

    fn check(_: &Given<'_>) {}
}

impl<T: Checks> Request for Checked<T> {
    type Schema = T;
    const IS_CHECKED: bool = true;

    fn new(read: T) -> Checked<T> {
        Checked(read)
    }

    fn check(given: &Given<'_>) {
        T::check(given);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;
    use values::{Rfc3339, Text};

    use super::*;
    use crate::schema::read_request;

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outage {
        title: Text<1, 100>,
        zone: Text<1, 64>,
        from: Rfc3339,
        to: Option<Rfc3339>,
        #[serde(default)]
        trunks: Vec<Trunk>,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Trunk {
        name: Text<1, 10>,
        channels: u8,
    }

    impl Checks for Outage {
        fn check(given: &Given<'_>) {
            given.check("zone", |zone: Text<1, 64>| must(given.settings.zone(&zone).is_some(), "is not a zone"));
            given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
            given.check_with("to", "zone", |to: Option<Rfc3339>, zone: Text<1, 64>| {
                must(to.is_some() || zone.as_str() != "eu-west", "is required for eu-west")
            });
            let mut seen = BTreeSet::new();
            given.each("trunks", |trunk| {
                trunk.check("name", |name: Text<1, 10>| must(seen.insert(name), "must not be named twice"));
            });
        }
    }

    fn faults(request: Value) -> Vec<(String, String)> {
        let settings = Settings::from_names(BTreeMap::new(), BTreeMap::new()).unwrap();
        let read = read_request::<Checked<Outage>>(request, Faults::default(), &settings, Time::EPOCH);
        let problem = read.err();
        let params = problem.iter().flat_map(|problem| problem.invalid_params());
        params.map(|param| (param.name.clone(), param.reason.clone())).collect()
    }

    fn names(request: Value) -> Vec<String> {
        faults(request).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_request_that_obeys_its_rules_is_read() {
        let (from, to) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let trunks = json!([{"name": "a", "channels": 1}, {"name": "b", "channels": 1}]);
        let whole = json!({"title": "Works", "zone": "eu-west", "from": from, "to": to, "trunks": trunks});
        assert_eq!(faults(whole), []);
        assert_eq!(faults(json!({"title": "Works", "zone": "us-east", "from": from})), []);
    }

    #[test]
    fn schema_and_rules_are_named_together() {
        let trunks = json!([{"name": "a", "channels": -1}, {"name": "", "channels": 1}, {"name": "a", "channels": 1}]);
        let request = json!({
            "title": "", "zone": "atlantis", "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z",
            "trunks": trunks, "note": 1,
        });
        let every = ["note", "title", "to", "trunks.0.channels", "trunks.1.name", "trunks.2.name", "zone"];
        assert_eq!(names(request), every);
    }

    #[test]
    fn a_rule_waits_until_what_it_reads_is_valid() {
        let (from, to) = ("yesterday", "2026-01-01T00:00:00Z");
        assert_eq!(names(json!({"title": "Works", "zone": "us-east", "from": from, "to": to})), ["from"]);
        assert_eq!(names(json!({"title": "Works", "zone": "", "from": to})), ["zone"]);
        assert_eq!(names(json!([])), ["body"]);
    }

    #[test]
    fn a_rule_that_takes_an_option_sees_that_a_field_is_absent() {
        let request = json!({"title": "Works", "zone": "eu-west", "from": "2026-01-01T00:00:00Z"});
        assert_eq!(faults(request), [("to".to_owned(), "is required for eu-west".to_owned())]);
    }
}
