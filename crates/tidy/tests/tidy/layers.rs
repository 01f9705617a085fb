//! Which crate may depend on which, and which module on which.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;
use crate::{CRATES, File, Finding, demand, repository, sample};

/// Crates whose modules stand in an order: none leads back to itself. The modules of the others are parts of one thing.
const ORDERED: &[&str] = &["platform", "identity", "voice", "billing", "numbers", "backoffice", "server"];
/// Crates of features, where every module tells what it is.
const FEATURES: &[&str] = &["identity", "voice", "billing", "numbers", "backoffice"];

/// Cargo refuses circles between crates; this also keeps them in the documented order.
fn against_the_order(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (floor, name) in CRATES.iter().enumerate() {
        let manifest =
            if *name == "server" { "server/Cargo.toml".to_owned() } else { format!("crates/{name}/Cargo.toml") };
        let Some(file) = files.iter().find(|file| file.path == manifest) else { continue };
        for (number, line) in file.text.lines().enumerate() {
            let used = line.split(['.', ' ']).next().unwrap_or_default();
            if CRATES.iter().position(|other| *other == used).is_some_and(|other| other > floor) {
                findings.push(file.finding(number + 1, format!("{name} uses {used}")));
            }
        }
    }
    findings
}

/// Top-level modules of its own crate that a file mentions, with the line.
fn mentions(file: &File, module: &str, path: &str) -> Vec<(usize, String)> {
    let source = Source::read(&file.text);
    let is_root = path == format!("{module}.rs") || path == format!("{module}/mod.rs");
    let prefixes: &[&str] = if is_root { &["crate::", "super::"] } else { &["crate::"] };
    let mut found = Vec::new();
    for prefix in prefixes {
        for (at, root) in source.code.match_indices(prefix) {
            if source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == ':') {
                continue;
            }
            let line = source.line_at(at);
            found.extend(first_names(&source.code[at + root.len()..]).into_iter().map(|name| (line, name)));
        }
    }
    found
}

/// The first part of a path, or of each path in a group: `a::b` and `{a, b::{c, d}}`.
fn first_names(rest: &str) -> Vec<String> {
    let name = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let Some(group) = rest.strip_prefix('{') else { return vec![name(rest)] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(name(&group[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(name(&group[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

fn circles(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ORDERED {
        let own: Vec<_> = files.iter().filter_map(|file| Some((file, file.in_crate(name)?))).collect();
        let modules: BTreeSet<&str> = own.iter().map(|(_, path)| module_of(path)).filter(|m| *m != "lib").collect();
        let mut edges = Vec::new();
        for (file, path) in &own {
            let module = module_of(path);
            for (line, used) in mentions(file, module, path) {
                if let Some(used) = modules.get(used.as_str()).filter(|used| **used != module && module != "lib") {
                    edges.push((*file, line, module, *used));
                }
            }
        }
        let mut uses: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, _, module, used) in &edges {
            uses.entry(module).or_default().insert(used);
        }
        let back = edges.iter().filter(|(_, _, module, used)| reaches(&uses, used, module));
        findings.extend(back.map(|(file, line, module, used)| {
            file.finding(*line, format!("{module} uses {used}, which leads back to {module}"))
        }));
    }
    findings
}

fn reaches(uses: &BTreeMap<&str, BTreeSet<&str>>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            open.extend(uses.get(module).into_iter().flatten());
        }
    }
    false
}

/// The first part of a path inside `src`, without its extension.
fn module_of(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap_or(path)
}

fn features_without_a_story(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in FEATURES {
        let own: BTreeSet<&str> =
            files.iter().filter_map(|file| file.in_crate(name)).map(module_of).filter(|m| *m != "lib").collect();
        for module in own {
            let path = format!("crates/{name}/src/{module}");
            let starts = |path: String| files.iter().any(|file| file.path == path && file.text.starts_with("//!"));
            if !starts(format!("{path}/mod.rs")) && !starts(format!("{path}.rs")) {
                findings.push(Finding { path, line: 0, what: "has no mod.rs that starts with //!".to_owned() });
            }
        }
    }
    findings
}

#[test]
fn crates_depend_only_on_those_below() {
    let advice = format!(
        "The order, from the bottom up: {}. Move the shared part down, or pass it in from above.",
        CRATES.join(" < ")
    );
    demand(&against_the_order(&repository()), &advice);
    let upward = sample("crates/db/Cargo.toml", "[dependencies]\nvalues.workspace = true\napi.workspace = true\n");
    assert_eq!(against_the_order(&[upward]).iter().map(|found| found.line).collect::<Vec<_>>(), [3]);
}

#[test]
fn modules_of_a_crate_do_not_import_each_other_in_a_circle() {
    demand(
        &circles(&repository()),
        "Let one of them hand the other what it needs, or move the shared part below both.",
    );
    let uses = |from: &str, text: &str| sample(&format!("crates/billing/src/{from}/mod.rs"), text);
    let line = [uses("a", "use crate::b::Name;\n"), uses("b", "use crate::{c::X, values};\n"), uses("c", "")];
    assert_eq!(circles(&line), []);
    let round = [uses("a", "use crate::b::Name;\n"), uses("b", "use super::c;\n"), uses("c", "use crate::{a, d};\n")];
    assert_eq!(circles(&round).len(), 3);
}

#[test]
fn every_feature_begins_with_its_story() {
    let advice = "Begin the feature's mod.rs with //! and say in a few lines what it does.";
    demand(&features_without_a_story(&repository()), advice);
    let tree = [
        sample("crates/numbers/src/lib.rs", "pub mod trunks;\n"),
        sample("crates/numbers/src/trunks/store.rs", "//! SQL.\n"),
        sample("crates/voice/src/cdrs/mod.rs", "use std::fmt;\n"),
        sample("crates/numbers/src/orders/mod.rs", "//! Number orders.\n"),
        sample("crates/backoffice/src/notices.rs", "//! Notices.\n"),
    ];
    let found: Vec<_> = features_without_a_story(&tree).into_iter().map(|found| found.path).collect();
    assert_eq!(found, ["crates/voice/src/cdrs", "crates/numbers/src/trunks"]);
}
