//! Takes settings out of a map one by one, validates them and collects errors.

use std::collections::BTreeMap;

/// Removes each setting from the map as it is read, so what is left in the end is unknown.
pub(super) struct SettingsReader {
    names: BTreeMap<String, String>,
    errors: Vec<String>,
}

impl SettingsReader {
    pub(super) fn new(names: BTreeMap<String, String>) -> SettingsReader {
        SettingsReader { names, errors: Vec::new() }
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.names.remove(name).filter(|text| !text.is_empty())
    }

    pub(super) fn wrong(&mut self, name: &str, expected: &str) {
        // Without the value: it may be a secret.
        self.errors.push(format!("{name} must be {expected}"));
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

    /// The unknown names, and the errors.
    pub(super) fn finish(self) -> (Vec<String>, Vec<String>) {
        (self.names.into_keys().collect(), self.errors)
    }
}
