//! Reads settings from the environment, from a TOML file, and secrets from files of their own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use super::{ConfigError, table};

/// More than any secret has.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Settings by name.
pub(super) type Names = BTreeMap<String, Given>;

/// The value of a setting, and where it comes from.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) value: String,
    pub(super) source: Source,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Environment,
    File(Place),
}

/// A line of a settings file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    path: PathBuf,
    line: usize,
}

impl Source {
    pub(super) fn is_file(&self) -> bool {
        matches!(self, Source::File(_))
    }

    /// What precedes an error about the setting.
    pub(super) fn prefix(&self) -> String {
        match self {
            Source::File(place) if place.line > 0 => format!("{self}: "),
            _ => String::new(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Environment => f.write_str("environment"),
            Source::File(Place { path, line }) => write!(f, "{}:{line}", path.display()),
        }
    }
}

/// The settings of this process. The environment wins over the file.
pub(super) fn load(file: Option<&Path>) -> Result<Names, ConfigError> {
    let mut names = match file {
        Some(path) => from_toml(path)?,
        None => Names::new(),
    };
    names.extend(environment()?);
    Ok(names)
}

/// The `TRUNKLINE_…` variables, and settings with other names. Other variables are ignored, also when they are not UTF-8.
fn environment() -> Result<Names, ConfigError> {
    let names = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let ours = names.filter(|(name, _)| name.starts_with("TRUNKLINE_") || table::has(name));
    let read = |(name, value): (String, OsString)| match value.into_string() {
        Ok(value) => Ok((name, Given { value, source: Source::Environment })),
        Err(_) => Err(ConfigError(vec![format!("{name} must be UTF-8")])),
    };
    ours.map(read).collect()
}

fn from_toml(path: &Path) -> Result<Names, ConfigError> {
    let fault = |error: String| ConfigError(vec![format!("{}: {error}", path.display())]);
    let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
    let line = |offset: usize| text.get(..offset).unwrap_or_default().matches('\n').count() + 1;
    // Only the line's number: the line may contain a secret.
    let describe = |error: toml::de::Error| {
        ConfigError(vec![format!(
            "{}:{}: {}",
            path.display(),
            line(error.span().map_or(0, |span| span.start)),
            error.message()
        )])
    };
    let table: toml::Table = text.parse().map_err(describe)?;
    let places = toml::de::DeTable::parse(&text).map_err(describe)?;
    let lines: BTreeMap<&str, usize> =
        places.get_ref().iter().map(|(name, _)| (name.get_ref().as_ref(), line(name.span().start))).collect();
    let given = |(name, value): (String, toml::Value)| {
        let place = Place { path: path.to_owned(), line: lines.get(name.as_str()).copied().unwrap_or_default() };
        let value = match value {
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        (name, Given { value, source: Source::File(place) })
    };
    Ok(table.into_iter().map(given).collect())
}

/// Replaces each `NAME_FILE` of a secret by `NAME` with the content of that file. Returns the errors.
pub(super) fn read_secret_files(names: &mut Names) -> Vec<String> {
    let mut errors = Vec::new();
    for secret in table::all() {
        let Some(file_name) = secret.file_name() else { continue };
        let Some(file) = names.remove(&file_name).filter(|file| !file.value.is_empty()) else { continue };
        let (prefix, name) = (file.source.prefix(), secret.name);
        match names.get(name).filter(|given| !given.value.is_empty()) {
            Some(given) if given.source.is_file() == file.source.is_file() => {
                errors.push(format!("{prefix}{name} and {file_name} are both set"));
                continue;
            }
            // The environment wins.
            Some(given) if file.source.is_file() && !given.source.is_file() => continue,
            _ => {}
        }
        match read_secret(Path::new(&file.value)) {
            Ok(value) => drop(names.insert(name.to_owned(), Given { value, source: file.source })),
            Err(error) => errors.push(format!("{prefix}{file_name}: {}: {error}", file.value)),
        }
    }
    errors
}

/// The content of a file without the line break at its end. An empty one is refused: whoever names a file wants what
/// should be in it, and not the default.
fn read_secret(path: &Path) -> Result<String, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > MAX_SECRET_BYTES {
        return Err(format!("a secret has at most {MAX_SECRET_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    if text.trim().is_empty() {
        return Err("the file is empty".to_owned());
    }
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(text.strip_suffix('\r').unwrap_or(text).to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Settings;

    const SECRET: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    fn file(content: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    fn faults(content: &str) -> Vec<String> {
        let file = file(content);
        let errors = Settings::from_given(from_toml(file.path()).unwrap()).unwrap_err().0;
        let path = file.path().display().to_string();
        errors.into_iter().map(|error| error.replace(&path, "FILE")).collect()
    }

    #[test]
    fn every_fault_of_a_file_has_its_line() {
        let content = "# One\nTRUNKLINE_LISTEN = \"nowhere\"\nTRUNKLINE_LOG = \"loud\"\n\nTRUNKLINE_LISTNE = 1\n";
        assert_eq!(
            faults(content),
            [
                "FILE:2: TRUNKLINE_LISTEN must be an address and port, such as 127.0.0.1:8080",
                "FILE:3: TRUNKLINE_LOG must be human or json",
                "FILE:5: TRUNKLINE_LISTNE is not a setting",
            ]
        );
    }

    #[test]
    fn a_file_that_is_no_toml_is_refused_by_its_line() {
        let file = file("TRUNKLINE_LOG = \"json\"\nTRUNKLINE_JWT_SECRET = hunter2\n");
        let error = from_toml(file.path()).unwrap_err().0.remove(0);
        assert!(error.starts_with(&format!("{}:2: ", file.path().display())), "{error}");
        assert!(!error.contains("hunter2"));
    }

    #[test]
    fn a_secret_can_be_in_a_file_of_its_own() {
        let secret = file(&format!("{SECRET}\n"));
        let given = |value: &str| Given { value: value.to_owned(), source: Source::Environment };
        let path = secret.path().to_str().unwrap();
        let names = Names::from([("TRUNKLINE_JWT_SECRET_FILE".to_owned(), given(path))]);
        let settings = Settings::from_given(names.clone()).unwrap();
        assert_eq!(settings.secrets.jwt.as_deref(), Some(SECRET));
        assert!(settings.warnings.is_empty());

        let mut both = names;
        both.insert("TRUNKLINE_JWT_SECRET".to_owned(), given(SECRET));
        let error = Settings::from_given(both.clone()).unwrap_err();
        assert_eq!(error.0, ["TRUNKLINE_JWT_SECRET and TRUNKLINE_JWT_SECRET_FILE are both set"]);
        both.insert(
            "TRUNKLINE_JWT_SECRET_FILE".to_owned(),
            Given { value: "/nowhere".to_owned(), source: Source::File(Place::default()) },
        );
        Settings::from_given(both.clone()).unwrap();
        both.remove("TRUNKLINE_JWT_SECRET");
        let error = Settings::from_given(both).unwrap_err().0.remove(0);
        assert!(error.starts_with("TRUNKLINE_JWT_SECRET_FILE: /nowhere: No such file"), "{error}");
    }
}
