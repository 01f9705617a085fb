//! What is written from the table of settings: the example file, the page in the documentation, and the help.

use super::table::{Fallback, GROUPS, Setting};

const WIDTH: usize = 100;

const EXAMPLE_HEAD: &str = "\
# Settings of Trunkline. Every line that is commented out shows the default; environment variables of the same names
# override this file. `trunkline config check` verifies it, `trunkline config show` prints what is in force.
# A secret can be in a file of its own: NAME_FILE has its path.
";

const PAGE_HEAD: &str = "\
# Settings

Settings come from environment variables, or under the same names from a TOML file (`trunkline --config FILE`,
`TRUNKLINE_LISTEN = \"0.0.0.0:8080\"`). The environment takes precedence. An unknown name is an error in the file and a
warning in the environment.

- `trunkline config check` reports every fault, with the line of the file.
- `trunkline config show` prints what is in force and where each value comes from; secrets are hidden.
- `trunkline config example` prints a file with every setting, as
  [trunkline.example.toml](../trunkline.example.toml) has it.

Each secret can be in a file: `TRUNKLINE_JWT_SECRET_FILE=/run/secrets/jwt` in place of `TRUNKLINE_JWT_SECRET`. Those
settings are marked with †. An empty file is an error. Settings of one prefix belong together: `TRUNKLINE_S3_…`,
`TRUNKLINE_REVOLUT_…`, `TRUNKLINE_DID_SUPPLIER_…` and `TRUNKLINE_OTLP_…` are refused without the setting that turns them on.
Of OpenTelemetry's own variables, those listed here are understood and the others ignored; a wrong value is ignored with a
warning.
";

/// A settings file in which everything is commented out.
pub fn example_file() -> String {
    let mut text = EXAMPLE_HEAD.to_owned();
    for group in GROUPS {
        text.push_str(&format!("\n\n## {}\n", group.title));
        for setting in group.settings {
            text.push('\n');
            wrap(&about(setting), "# ", &mut text);
            let value = match setting.default {
                Fallback::Value(value) => value,
                Fallback::None | Fallback::Described(_) => "",
            };
            text.push_str(&format!("# {} = {}\n", setting.name, toml::Value::from(value)));
        }
    }
    text
}

/// The page `docs/settings.md`.
pub fn page() -> String {
    let mut text = PAGE_HEAD.to_owned();
    for group in GROUPS {
        text.push_str(&format!("\n## {}\n\n| Setting | Default | Meaning |\n|---|---|---|\n", group.title));
        for setting in group.settings {
            let mark = if setting.is_secret { " †" } else { "" };
            let default = match setting.default {
                Fallback::None => "none".to_owned(),
                Fallback::Value(value) => format!("`{value}`"),
                Fallback::Described(words) => words.to_owned(),
            };
            text.push_str(&format!("| `{}`{mark} | {default} | {} |\n", setting.name, setting.about));
        }
    }
    text
}

/// The list of settings in the help.
pub fn help() -> String {
    let mut text = "Settings (environment variables, or a TOML file with --config):\n".to_owned();
    for group in GROUPS {
        text.push_str(&format!("\n  {}\n", group.title));
        for setting in group.settings {
            text.push_str(&format!("    {} [{}]\n", setting.name, setting.default_text()));
            wrap(&plain(setting.about), "        ", &mut text);
        }
    }
    text
}

fn about(setting: &Setting) -> String {
    let about = plain(setting.about);
    match setting.default {
        Fallback::Described(words) => format!("{about}. By default: {}.", plain(words)),
        Fallback::None | Fallback::Value(_) => format!("{about}."),
    }
}

/// Markdown as plain text: without backticks, and with the words of a link instead of the link.
pub(super) fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        let target = link.split_once("](").and_then(|(words, after)| Some((words, after.split_once(')')?.1)));
        let (words, after) = target.unwrap_or((link, ""));
        text.push_str(words);
        rest = after;
    }
    text.push_str(rest);
    text.replace('`', "")
}

/// Appends the text in lines of at most [`WIDTH`] characters, each with the prefix.
fn wrap(text: &str, prefix: &str, to: &mut String) {
    let mut line = String::new();
    for word in text.split(' ') {
        let length = prefix.chars().count() + line.chars().count() + 1 + word.chars().count();
        if !line.is_empty() && length > WIDTH {
            to.push_str(&format!("{prefix}{line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    to.push_str(&format!("{prefix}{line}\n"));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::config::{Settings, table};

    #[test]
    fn the_example_file_is_valid_with_every_line_and_without() {
        let example = example_file();
        assert!(example.lines().all(|line| line.chars().count() <= 160));
        assert!(example.parse::<toml::Table>().unwrap().is_empty());
        let lines = example.lines().filter_map(|line| line.strip_prefix("# "));
        let settings = lines.filter(|line| line.split_once(" = ").is_some_and(|(name, _)| table::has(name)));
        let every: String = settings.map(|line| format!("{line}\n")).collect();
        let every: toml::Table = every.parse().unwrap();
        let names: BTreeMap<String, String> =
            every.into_iter().map(|(name, value)| (name, value.as_str().unwrap().to_owned())).collect();
        assert_eq!(names.len(), table::all().count());
        // Refused without the setting that turns them on.
        let is_optional = |name: &str| ["S3_", "REVOLUT_", "OTLP_"].iter().any(|part| name.contains(part));
        let names = names.into_iter().filter(|(name, _)| !is_optional(name)).collect();
        Settings::from_names(names, BTreeMap::new()).unwrap();
    }

    #[test]
    fn no_setting_is_listed_twice() {
        let names: BTreeSet<&str> = table::all().map(|setting| setting.name).collect();
        assert_eq!(names.len(), table::all().count());
    }

    #[test]
    fn markdown_becomes_plain_text() {
        assert_eq!(plain("`a`; see [the page](operations.md#x), or [b](c)"), "a; see the page, or b");
        assert_eq!(plain("nothing"), "nothing");
    }
}
