//! The settings in force, and where each comes from (`trunkline config show`).

use std::path::Path;

use super::sources::{self, Names};
use super::table::{self, Fallback, GROUPS, Setting};
use super::{ConfigError, written::plain};

const HIDDEN: &str = "(hidden)";

/// A table of all settings: name, value and source. Values need not be valid.
pub fn effective(file: Option<&Path>) -> Result<String, ConfigError> {
    let mut names = sources::load(file)?;
    let errors = sources::read_secret_files(&mut names);
    if errors.is_empty() { Ok(text(&names)) } else { Err(ConfigError(errors)) }
}

fn text(names: &Names) -> String {
    let width = table::all().map(|setting| setting.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for group in GROUPS {
        text.push_str(&format!("# {}\n", group.title));
        for setting in group.settings {
            let given = names.get(setting.name).filter(|given| !given.value.is_empty());
            let (value, source) = match given {
                Some(given) => (shown(setting, &given.value), given.source.to_string()),
                None => (default(setting), "default".to_owned()),
            };
            text.push_str(&format!("{:width$}  {value}  [{source}]\n", setting.name));
        }
    }
    text
}

fn default(setting: &Setting) -> String {
    match setting.default {
        Fallback::None => "-".to_owned(),
        Fallback::Value(value) => value.to_owned(),
        Fallback::Described(words) => format!("({})", plain(words)),
    }
}

/// A value without what is secret in it: of a URL the user, the password and the query.
fn shown(setting: &Setting, value: &str) -> String {
    let is_default = matches!(setting.default, Fallback::Value(default) if default == value);
    if !setting.is_secret || is_default {
        return value.to_owned();
    }
    let Some((scheme, rest)) = value.split_once("://") else { return HIDDEN.to_owned() };
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}"),
        None => format!("{scheme}://{rest}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::sources::{Given, Source};

    #[test]
    fn secrets_are_hidden_and_sources_are_named() {
        let given = |value: &str| Given { value: value.to_owned(), source: Source::Environment };
        let names = [
            ("TRUNKLINE_DATABASE_URL", "postgres://trunk:hunter2@db.internal/voice?sslpassword=hunter2"),
            ("TRUNKLINE_JWT_SECRET", "hunter2"),
            ("TRUNKLINE_MAIL", "file"),
            ("TRUNKLINE_LISTEN", "0.0.0.0:80"),
        ];
        let shown = text(&names.into_iter().map(|(name, value)| (name.to_owned(), given(value))).collect());
        assert!(!shown.contains("hunter2"), "{shown}");
        let value = |name: &str| {
            let line = shown.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
            line[name.len()..].trim().to_owned()
        };
        assert_eq!(value("TRUNKLINE_DATABASE_URL"), "postgres://(hidden)@db.internal/voice  [environment]");
        assert_eq!(value("TRUNKLINE_JWT_SECRET"), "(hidden)  [environment]");
        assert_eq!(value("TRUNKLINE_MAIL"), "file  [environment]");
        assert_eq!(value("TRUNKLINE_LISTEN"), "0.0.0.0:80  [environment]");
        assert_eq!(value("TRUNKLINE_OPS_LISTEN"), "127.0.0.1:9090  [default]");
        assert_eq!(value("TRUNKLINE_SWITCH_TLS_CA"), "(the system's authorities)  [default]");
    }
}
