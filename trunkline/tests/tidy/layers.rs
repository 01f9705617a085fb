//! Who may import whom.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::Source;
use crate::{File, Finding, demand, repository, sample};

/// The modules of `server/src` from the bottom up: each may use its own line and those above it here.
const LAYERS: &[&[&str]] = &[
    &["values", "clock", "entropy", "keys", "tokens", "passwords", "metrics"],
    &["db"],
    &[
        "ledger",
        "tariff",
        "addresses",
        "gateways",
        "edge",
        "snapshot",
        "audit",
        "jobs",
        "limits",
        "outside",
        "traces",
        "request_stats",
        "config",
        "secrets",
    ],
    &["app"],
    &["http"],
    &["features"],
    &["routes", "work", "pages", "ops"],
    &["serve"],
    &["demo"],
    &["cli"],
    &["lib"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// The first part of a path inside `server/src`, without its extension.
fn module_of(path: &str) -> &str {
    path.split(['/', '.']).next().unwrap_or(path)
}

/// The feature a file inside `server/src` belongs to.
fn feature_of(path: &str) -> Option<&str> {
    path.strip_prefix("features/").map(module_of).filter(|feature| *feature != "mod")
}

/// A path in the code that starts at `crate`, without that word.
struct Mention {
    line: usize,
    path: Vec<String>,
}

fn mentions(source: &Source) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (at, root) in source.code.match_indices("crate::") {
        // `$crate::` in a macro counts; `some_crate::` does not.
        if !source.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            let (line, mut paths) = (source.line_at(at), Vec::new());
            expand(&source.code[at + root.len()..], &[], &mut paths);
            mentions.extend(paths.into_iter().map(|path| Mention { line, path }));
        }
    }
    mentions
}

/// Reads one path and the groups in it (`a::{b, c::d}`), and answers what follows it.
fn expand<'a>(rest: &'a str, prefix: &[String], paths: &mut Vec<Vec<String>>) -> &'a str {
    let rest = rest.trim_start();
    if let Some(mut group) = rest.strip_prefix('{') {
        loop {
            group = expand(group, prefix, paths).trim_start();
            let Some(next) = group.strip_prefix(',') else { return group.strip_prefix('}').unwrap_or(group) };
            group = next;
        }
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let path = if name.is_empty() { prefix.to_vec() } else { [prefix, &[name.to_owned()]].concat() };
    if let Some(deeper) = after.strip_prefix("::")
        && deeper.trim_start().starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{')
    {
        return expand(deeper, &path, paths);
    }
    if !name.is_empty() {
        paths.push(path);
    }
    // What remains of a glob or a renaming belongs to no path.
    let tail = after.find([',', '}', ';', '(']).unwrap_or(after.len());
    &after[tail..]
}

fn against_the_order(files: &[File]) -> Vec<Finding> {
    let modules: BTreeSet<&str> = files.iter().filter_map(File::in_crate).map(module_of).collect();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let Some(module) = file.in_crate().map(module_of) else { continue };
        let Some(own) = layer(module) else {
            findings.push(file.finding(0, format!("{module} has no place in the order")));
            continue;
        };
        for mention in mentions(&Source::read(&file.text)) {
            let used = mention.path[0].as_str();
            // A name that is no module is a macro, which lives at the root.
            if modules.contains(used) && layer(used).is_some_and(|used| used > own) {
                findings.push(file.finding(mention.line, format!("{module} uses {used}")));
            }
        }
    }
    findings
}

/// What one feature mentions of another: the file, the line, the other feature, and the names inside it.
fn feature_mentions(files: &[File]) -> Vec<(&File, usize, &str, Vec<String>)> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let Some(feature) = file.in_crate().and_then(feature_of) else { continue };
        for Mention { line, path } in mentions(&Source::read(&file.text)) {
            if path.len() > 1 && path[0] == "features" && path[1] != feature {
                found.push((file, line, feature, path[1..].to_vec()));
            }
        }
    }
    found
}

fn into_another_features_rooms(files: &[File]) -> Vec<Finding> {
    let rooms: BTreeSet<&str> = files.iter().filter_map(File::in_crate).collect();
    let is_room = |feature: &str, name: &str| {
        let room = format!("features/{feature}/{name}");
        rooms.contains(format!("{room}.rs").as_str()) || rooms.contains(format!("{room}/mod.rs").as_str())
    };
    feature_mentions(files)
        .into_iter()
        .filter(|(_, _, _, path)| path.len() > 1 && is_room(&path[0], &path[1]))
        .map(|(file, line, feature, path)| file.finding(line, format!("{feature} reaches into {}", path.join("::"))))
        .collect()
}

fn circles(files: &[File]) -> Vec<Finding> {
    let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mentioned = feature_mentions(files);
    for (_, _, feature, path) in &mentioned {
        uses.entry(feature).or_default().insert(path[0].clone());
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(feature) = open.pop() {
            if feature == to {
                return true;
            }
            if seen.insert(feature.clone()) {
                open.extend(uses.get(feature.as_str()).into_iter().flatten().cloned());
            }
        }
        false
    };
    mentioned
        .iter()
        .filter(|(_, _, feature, path)| reaches(&path[0], feature))
        .map(|(file, line, feature, path)| file.finding(*line, format!("{feature} uses {}, which leads back", path[0])))
        .collect()
}

fn features_without_a_story(files: &[File]) -> Vec<Finding> {
    let features = files.iter().filter_map(File::in_crate).filter_map(feature_of).collect::<BTreeSet<_>>();
    let tells = |path: &str| files.iter().any(|file| file.path == path && file.text.starts_with("//!"));
    let mut findings = Vec::new();
    for feature in features {
        let path = format!("server/src/features/{feature}");
        if !tells(&format!("{path}/mod.rs")) && !tells(&format!("{path}.rs")) {
            findings.push(Finding { path, line: 0, what: "has no mod.rs that starts with //!".to_owned() });
        }
    }
    findings
}

#[test]
fn modules_import_only_from_below() {
    let order: Vec<_> = LAYERS.iter().map(|modules| modules.join(", ")).collect();
    let advice = format!(
        "The order, from the bottom up: {}.\nMove the shared part down, or pass it in from above. A new module of \
         server/src gets its place in LAYERS in {}.",
        order.join(" < "),
        file!()
    );
    demand(&against_the_order(&repository()), &advice);
}

#[test]
fn an_import_from_above_is_found() {
    let lib = sample("server/src/lib.rs", "pub mod db;\n");
    let above = "use crate::{values::{Money, Time}, http::Problem};\nfn f() { crate::features::trunks::g() }\n";
    let tree = [
        lib,
        sample("server/src/db/mod.rs", above),
        sample("server/src/http/mod.rs", "use crate::app::App;\nuse crate::audit;\n// crate::routes::all\n"),
        sample("server/src/features/trunks/mod.rs", "use crate::http::Problem;\n"),
        sample("server/src/audit/mod.rs", "use crate::sql;\n"),
        sample("server/src/attic.rs", ""),
    ];
    let found: Vec<_> = against_the_order(&tree).into_iter().map(|f| (f.line, f.what)).collect();
    let expected = [(1, "db uses http"), (2, "db uses features"), (0, "attic has no place in the order")];
    assert_eq!(found, expected.map(|(line, what)| (line, what.to_owned())));
}

#[test]
fn a_feature_uses_another_only_by_what_its_mod_rs_offers() {
    let advice = "Offer the name in the other feature's mod.rs (pub use) and import it from there.";
    demand(&into_another_features_rooms(&repository()), advice);
    let tree = [
        sample("server/src/features/trunks/store.rs", "use crate::features::trunks::types::Trunk;\n"),
        sample("server/src/features/trunks/types.rs", ""),
        sample(
            "server/src/features/cdrs/mod.rs",
            "use crate::features::trunks::{Trunk, find};\nuse crate::features::{\n    trunks::store::get,\n};\n",
        ),
    ];
    let found = into_another_features_rooms(&tree);
    assert_eq!(found.iter().map(|f| f.what.as_str()).collect::<Vec<_>>(), ["cdrs reaches into trunks::store::get"]);
}

#[test]
fn features_do_not_use_each_other_in_a_circle() {
    demand(
        &circles(&repository()),
        "Let one of them hand the other what it needs, or move the shared rule below both.",
    );
    let uses = |from: &str, to: &str| {
        sample(&format!("server/src/features/{from}/mod.rs"), &format!("use crate::features::{to}::Name;\n"))
    };
    assert_eq!(circles(&[uses("a", "b"), uses("b", "c"), uses("d", "a")]), []);
    assert_eq!(circles(&[uses("a", "b"), uses("b", "c"), uses("c", "a"), uses("d", "a")]).len(), 3);
}

#[test]
fn every_feature_begins_with_its_story() {
    let advice = "Begin the feature's mod.rs with //! and tell in a few lines what the noun is and does.";
    demand(&features_without_a_story(&repository()), advice);
    let tree = [
        sample("server/src/features/mod.rs", "pub mod trunks;\n"),
        sample("server/src/features/trunks/store.rs", "//! SQL.\n"),
        sample("server/src/features/cdrs/mod.rs", "use std::fmt;\n"),
        sample("server/src/features/numbers/mod.rs", "//! Numbers.\n"),
        sample("server/src/features/notices.rs", "//! Notices.\n"),
    ];
    let found: Vec<_> = features_without_a_story(&tree).into_iter().map(|found| found.path).collect();
    assert_eq!(found, ["server/src/features/cdrs", "server/src/features/trunks"]);
}
