//! Takes settings out of a map one by one, validates them and collects errors.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::sources::{Names, Source};
use super::table;

/// Removes each setting from the map as it is read, so what is left in the end is unknown.
pub(super) struct SettingsReader {
    names: Names,
    /// Of all names, also of those that were read.
    sources: BTreeMap<String, Source>,
    errors: Vec<String>,
    /// About values that are ignored.
    warnings: Vec<String>,
}

impl SettingsReader {
    pub(super) fn new(names: Names, errors: Vec<String>) -> SettingsReader {
        let sources = names.iter().map(|(name, given)| (name.clone(), given.source.clone())).collect();
        SettingsReader { names, sources, errors, warnings: Vec::new() }
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        debug_assert!(table::all().any(|setting| setting.name == name), "{name} is missing in the table of settings");
        self.names.remove(name).map(|given| given.value).filter(|text| !text.is_empty())
    }

    pub(super) fn wrong(&mut self, name: &str, expected: &str) {
        // Without the value: it may be a secret.
        self.errors.push(format!("{}{name} must be {expected}", self.prefix(name)));
    }

    /// Says that a value is ignored: one that was not meant for this program alone must not keep it from starting.
    pub(super) fn ignore(&mut self, name: &str, why: &str) {
        self.warnings.push(format!("{}{name} is ignored: {why}", self.prefix(name)));
    }

    fn prefix(&self, name: &str) -> String {
        self.sources.get(name).map(Source::prefix).unwrap_or_default()
    }

    /// An address and port to listen on. `localhost` is 127.0.0.1.
    pub(super) fn address(&mut self, name: &str, default: SocketAddr) -> SocketAddr {
        let Some(text) = self.text(name) else { return default };
        let local = || Some(([127, 0, 0, 1], text.strip_prefix("localhost:")?.parse().ok()?).into());
        text.parse().ok().or_else(local).unwrap_or_else(|| {
            self.wrong(name, "an address and port, such as 127.0.0.1:8080");
            default
        })
    }

    pub(super) fn parsed<T: std::str::FromStr>(&mut self, name: &str, expected: &str, default: T) -> T {
        let Some(text) = self.text(name) else { return default };
        text.parse().unwrap_or_else(|_| {
            self.wrong(name, expected);
            default
        })
    }

    pub(super) fn checked(&mut self, name: &str, expected: &str, is_valid: fn(&str) -> bool) -> Option<String> {
        let text = self.text(name)?;
        if !is_valid(&text) {
            self.wrong(name, expected);
        }
        Some(text)
    }

    pub(super) fn within(&mut self, name: &str, range: std::ops::RangeInclusive<usize>, default: usize) -> usize {
        let expected = format!("a number from {} to {}", range.start(), range.end());
        let number = self.parsed(name, &expected, default);
        if !range.contains(&number) {
            self.wrong(name, &expected);
        }
        number
    }

    pub(super) fn switch(&mut self, name: &str, default: bool) -> bool {
        match self.text(name).as_deref() {
            None => default,
            Some("on" | "true" | "1") => true,
            Some("off" | "false" | "0") => false,
            Some(_) => {
                self.wrong(name, "on or off");
                default
            }
        }
    }

    pub(super) fn list<T>(&mut self, name: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
        let Some(text) = self.text(name) else { return Vec::new() };
        let parsed: Option<Vec<T>> = text.split(',').map(|item| parse(item.trim())).collect();
        parsed.unwrap_or_else(|| {
            self.wrong(name, &format!("{expected}, separated by commas"));
            Vec::new()
        })
    }

    /// The unknown names, the errors and the warnings.
    pub(super) fn finish(self) -> (Names, Vec<String>, Vec<String>) {
        (self.names, self.errors, self.warnings)
    }
}
