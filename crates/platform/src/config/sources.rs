//! Reads settings from the environment and from a TOML file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use super::ConfigError;

/// The `TRUNKLINE_…` variables. Other variables are ignored, also when they are not UTF-8.
pub(super) fn environment() -> Result<BTreeMap<String, String>, ConfigError> {
    let names = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let ours = names.filter(|(name, _)| name.starts_with("TRUNKLINE_"));
    let read = |(name, value): (String, OsString)| match value.into_string() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(ConfigError(vec![format!("{name} must be UTF-8")])),
    };
    ours.map(read).collect()
}

pub(super) fn from_toml(path: &Path) -> Result<BTreeMap<String, String>, ConfigError> {
    let fault = |error: String| ConfigError(vec![format!("{}: {error}", path.display())]);
    let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    // Only the line's number: the line may contain a secret.
    let line = |error: &toml::de::Error| error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let describe =
        |error: toml::de::Error| format!("line {}: {}", line(&error).matches('\n').count() + 1, error.message());
    let table: toml::Table = text.parse().map_err(|error| fault(describe(error)))?;
    let text_of = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(table.into_iter().map(|(name, value)| (name, text_of(value))).collect())
}
