//! Advisories: a locked crate may have one only if the reason to live with it is written down here.
//!
//! `advisories.txt` is what the RustSec database says of our crates; its header tells of which day. Nothing is
//! downloaded to check; `tools/refresh-advisories` downloads and writes the file anew.

use std::collections::BTreeSet;
use std::path::Path;

use semver::{Version, VersionReq};

use crate::demand;

/// Advisories we live with, and why.
const ACCEPTED: &[(&str, &str)] = &[];
/// A reason of fewer words explains nothing.
const MIN_REASON_WORDS: usize = 5;

struct Advisory {
    id: String,
    package: String,
    /// What RustSec calls it: a vulnerability, unsound, unmaintained or a notice.
    kind: String,
    safe: Vec<VersionReq>,
}

#[derive(Default)]
struct Database {
    known: BTreeSet<String>,
    advisories: Vec<Advisory>,
    yanked: Vec<(String, Version)>,
}

impl Database {
    fn parse(text: &str) -> Database {
        let mut database = Database::default();
        let unfolded = text.replace("\n    ", " ");
        for line in unfolded.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (word, rest) = line.split_once(' ').expect("a word and what it says");
            match word {
                "known" => database.known.extend(rest.split_whitespace().map(str::to_owned)),
                "advisory" => database.advisories.push(Advisory::parse(rest)),
                "yanked" => {
                    let (name, version) = rest.split_once(' ').expect("a name and a version");
                    database.yanked.push((name.to_owned(), version.parse().expect("a version")));
                }
                _ => panic!("unknown word in the database of advisories: {line}"),
            }
        }
        database
    }

    fn checked_in() -> Database {
        Database::parse(include_str!("advisories.txt"))
    }
}

impl Advisory {
    fn parse(line: &str) -> Advisory {
        let mut fields = line.splitn(4, ' ').map(str::to_owned);
        let mut field = || fields.next().expect("an id, a crate and a kind");
        let (id, package, kind) = (field(), field(), field());
        let safe = fields.next().unwrap_or_default();
        let safe = safe.split('|').filter(|range| !range.trim().is_empty());
        let safe = safe.map(|range| VersionReq::parse(range.trim()).expect("a range of versions")).collect();
        Advisory { id, package, kind, safe }
    }

    /// A prerelease that no safe range names is affected.
    fn affects(&self, name: &str, version: &Version) -> bool {
        self.package == name && !self.safe.iter().any(|range| range.matches(version))
    }
}

/// The crates of a Cargo.lock that come from a registry.
fn locked_crates(lock: &str) -> Vec<(String, Version)> {
    let field = |package: &str, key: &str| {
        let value = package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'));
        value.map(str::to_owned)
    };
    let packages = lock.split("[[package]]").skip(1).filter(|package| field(package, "source").is_some());
    packages
        .map(|package| {
            let version = field(package, "version").expect("a version").parse().expect("a semantic version");
            (field(package, "name").expect("a name"), version)
        })
        .collect()
}

fn findings(locked: &[(String, Version)], database: &Database, accepted: &[(&str, &str)]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut used = BTreeSet::new();
    for (name, version) in locked {
        if !database.known.contains(name) {
            findings.push(format!("{name} was never looked up: see https://rustsec.org/packages/{name}.html"));
        }
        if database.yanked.iter().any(|(gone, of)| (gone, of) == (name, version)) {
            findings.push(format!("{name} {version} was yanked"));
        }
        for advisory in database.advisories.iter().filter(|advisory| advisory.affects(name, version)) {
            let Advisory { id, kind, .. } = advisory;
            if accepted.iter().any(|(accepted, _)| accepted == id) {
                used.insert(id.as_str());
            } else {
                findings.push(format!("{name} {version}: {kind}, https://rustsec.org/advisories/{id}.html"));
            }
        }
    }
    for (id, reason) in accepted {
        if reason.split_whitespace().count() < MIN_REASON_WORDS {
            findings.push(format!("{id} is accepted without a reason"));
        }
        if !used.contains(id) {
            findings.push(format!("{id} is accepted, but affects no locked crate"));
        }
    }
    findings
}

fn sample_lock(name: &str, version: &str) -> String {
    let package = |name: &str, version: &str| format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
    let source = format!("source = \"{}\"\n", crate::REGISTRY);
    format!("version = 4\n\n{}\n{}{source}", package("ours", "0.0.0"), package(name, version))
}

#[test]
fn no_locked_crate_has_an_advisory_without_a_reason() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let locked = locked_crates(&std::fs::read_to_string(lock).expect("Cargo.lock can be read"));
    assert!(locked.iter().any(|(name, _)| name == "tokio"), "the crates of Cargo.lock are found");
    let advice = "Update the crate or do without it. If neither can be done, write the reason into ACCEPTED. \
                  tools/refresh-advisories looks all crates up; a new one can be added to `known` by hand.";
    demand(&findings(&locked, &Database::checked_in(), ACCEPTED), advice);
}

#[test]
fn a_vulnerable_version_in_a_lock_file_is_found() {
    let database = Database::checked_in();
    let found = |name: &str, version: &str| findings(&locked_crates(&sample_lock(name, version)), &database, &[]);
    for (name, version, id) in [
        ("tokio-postgres", "0.7.17", "RUSTSEC-2026-0178"),
        ("tokio", "1.43.0", "RUSTSEC-2025-0023"),
        ("rustls", "0.23.44", "RUSTSEC-2026-0285"),
        ("rustls-webpki", "0.104.0-alpha.5", "RUSTSEC-2026-0099"),
    ] {
        assert!(found(name, version).iter().any(|finding| finding.contains(id)), "{name} {version}");
    }
    for (name, version) in [("tokio-postgres", "0.7.18"), ("tokio", "1.43.1"), ("rustls", "0.23.12"), ("syn", "2.0.0")]
    {
        assert_eq!(found(name, version), Vec::<String>::new(), "{name} {version}");
    }
}

#[test]
fn an_accepted_advisory_needs_a_reason_and_a_crate() {
    let database = Database::parse("known a\nadvisory RUSTSEC-1 a unsound >=2.0.0\n    | <1.0.0");
    let found = |version: &str, accepted: &[(&str, &str)]| {
        findings(&locked_crates(&sample_lock("a", version)), &database, accepted).len()
    };
    let reason = "the function is never called here";
    assert_eq!(found("1.5.0", &[]), 1);
    assert_eq!(found("1.5.0", &[("RUSTSEC-1", reason)]), 0);
    assert_eq!(found("1.5.0", &[("RUSTSEC-1", "")]), 1);
    assert_eq!(found("1.5.0", &[("RUSTSEC-1", "later")]), 1);
    assert_eq!(found("2.0.0", &[("RUSTSEC-1", reason)]), 1);
    assert_eq!(found("0.9.0", &[]), 0);
}

#[test]
fn yanked_unmaintained_and_unknown_crates_are_found() {
    let database = Database::parse("# comment\n\nknown a\n    b\nadvisory RUSTSEC-1 a unmaintained\nyanked b 1.0.1");
    let found = |name: &str, version: &str| findings(&locked_crates(&sample_lock(name, version)), &database, &[]);
    assert_eq!(found("b", "1.0.1"), ["b 1.0.1 was yanked"]);
    assert_eq!(found("b", "1.0.2"), Vec::<String>::new());
    assert_eq!(found("a", "1.0.0"), ["a 1.0.0: unmaintained, https://rustsec.org/advisories/RUSTSEC-1.html"]);
    assert!(found("c", "1.0.0")[0].starts_with("c was never looked up"));
}
