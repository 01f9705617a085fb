//! What may be built into the service: licences, sources, and no second version of a crate without a reason.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod advisories;
mod features;
mod sbom;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

const PLATFORM: &str = "x86_64-unknown-linux-gnu";
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that let the service be shipped under its own.
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that are built in more than one version, and who keeps the older one alive.
const DUPLICATES: &[(&str, &str)] = &[
    ("base64", "0.22 for jsonwebtoken, postgres-protocol and krilla"),
    ("bitflags", "1 for defmt, which jiff's and croner's optional formatting brings along"),
    ("const-oid", "0.9 for x509-cert, which tokio-postgres-rustls reads certificates with"),
    ("crypto-common", "0.1 for digest 0.10"),
    ("digest", "0.10 for crc-fast, under s3s, which the tests keep files with"),
    ("fallible-iterator", "0.2 for tokio-postgres"),
    ("getrandom", "0.2 for ring and 0.3 for ahash"),
    ("num-bigint", "0.4 for jsonschema, which the tests check the OpenAPI document with"),
    ("phf", "0.13 for tokio-postgres"),
    ("phf_shared", "0.13 for phf 0.13"),
    ("rand_core", "0.6 for signature, under x509-cert"),
    ("spin", "0.10 for crc-fast, under s3s"),
    ("strum", "0.27 for croner and iso_currency"),
    ("strum_macros", "0.27 for strum 0.27"),
    ("syn", "2 for derive macros that have not moved to 3 yet; used at build time only"),
    ("untrusted", "0.7 for aws-lc-rs"),
];

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// Absent for a crate that lies in a folder.
    source: Option<String>,
    in_workspace: bool,
}

fn packages() -> Vec<Package> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", PLATFORM])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    let members = metadata["workspace_members"].as_array().expect("a list of members");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let listed = metadata["packages"].as_array().expect("a list of packages").iter();
    listed
        .map(|package| Package {
            name: text(&package["name"]).expect("a name"),
            version: text(&package["version"]).expect("a version"),
            licence: text(&package["license"]),
            source: text(&package["source"]),
            in_workspace: members.contains(&package["id"]),
        })
        .collect()
}

/// Whether an SPDX expression can be satisfied by allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    either(&mut words) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words) -> bool {
    let mut allowed = both(words);
    while words.next_if_eq(&"OR").is_some() {
        allowed |= both(words);
    }
    allowed
}

fn both(words: &mut Words) -> bool {
    let mut allowed = single(words);
    while words.next_if_eq(&"AND").is_some() {
        allowed &= single(words);
    }
    allowed
}

fn single(words: &mut Words) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let allowed = either(words);
        return words.next_if_eq(&")").is_some() && allowed;
    }
    let allowed = words.next().is_some_and(|licence| LICENCES.contains(&licence));
    // An exception only ever permits more than the licence it is added to.
    if words.next_if_eq(&"WITH").is_some() {
        words.next();
    }
    allowed
}

fn forbidden_licences(packages: &[Package]) -> Vec<String> {
    let forbidden = |package: &&Package| !package.licence.as_deref().is_some_and(is_allowed);
    let describe = |package: &Package| format!("{} {}: {:?}", package.name, package.version, package.licence);
    packages.iter().filter(forbidden).map(describe).collect()
}

fn foreign_sources(packages: &[Package]) -> Vec<String> {
    let foreign = |package: &&Package| !package.in_workspace && package.source.as_deref() != Some(REGISTRY);
    packages.iter().filter(foreign).map(|package| format!("{}: {:?}", package.name, package.source)).collect()
}

/// Crates with several versions that are not listed, and listed ones that no longer have several.
fn unlisted_duplicates(packages: &[Package], listed: &[(&str, &str)]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let listed: BTreeSet<&str> = listed.iter().map(|(name, _)| *name).collect();
    let new = versions.iter().filter(|(name, _)| !listed.contains(*name));
    let gone = listed.iter().filter(|name| !versions.contains_key(**name));
    new.map(|(name, versions)| format!("{name} is built in versions {versions:?}"))
        .chain(gone.map(|name| format!("{name} is listed, but has a single version now")))
        .collect()
}

fn demand(findings: &[String], advice: &str) {
    assert!(findings.is_empty(), "\n  {}\n{advice}\n", findings.join("\n  "));
}

fn sample(name: &str, version: &str, licence: &str, source: Option<&str>) -> Package {
    let (name, version, licence) = (name.to_owned(), version.to_owned(), Some(licence.to_owned()));
    Package { name, version, licence, source: source.map(str::to_owned), in_workspace: false }
}

#[test]
fn every_dependency_has_a_licence_we_may_ship() {
    let advice = "Choose another crate, or add the licence to LICENCES if the service may be shipped with it.";
    demand(&forbidden_licences(&packages()), advice);
}

#[test]
fn a_licence_expression_is_allowed_only_if_allowed_licences_satisfy_it() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "Apache-2.0 / MIT",
        "GPL-3.0-only OR MIT",
        "(GPL-3.0-only OR MIT) AND ISC",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0-only",
        "GPL-3.0-only AND Zlib OR MIT",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for forbidden in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR ISC) AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR AGPL-3.0-only)",
        "GPL-2.0-only WITH Classpath-exception-2.0",
        "MIT ISC",
        "(MIT",
    ] {
        assert!(!is_allowed(forbidden), "{forbidden}");
    }
    let unlicensed = Package { licence: None, ..sample("a", "1.0.0", "", Some(REGISTRY)) };
    assert_eq!(forbidden_licences(&[unlicensed, sample("b", "1.0.0", "MIT", None)]).len(), 1);
}

#[test]
fn every_dependency_comes_from_the_registry() {
    let advice = "Depend on a published version: what a git branch or a folder holds can change under us.";
    demand(&foreign_sources(&packages()), advice);
    let git = sample("a", "1.0.0", "MIT", Some("git+https://example.com/a"));
    assert_eq!(
        foreign_sources(&[git, sample("b", "1.0.0", "MIT", None), sample("c", "1.0.0", "MIT", Some(REGISTRY))]).len(),
        2
    );
}

#[test]
fn no_crate_is_built_in_two_versions_without_a_reason() {
    let advice =
        "Bring the versions together (cargo tree --duplicates shows who asks for which), or keep DUPLICATES true.";
    demand(&unlisted_duplicates(&packages(), DUPLICATES), advice);
}

#[test]
fn an_unlisted_duplicate_and_a_listed_single_are_both_found() {
    let tree =
        [sample("a", "1.0.0", "MIT", None), sample("a", "2.0.0", "MIT", None), sample("b", "1.0.0", "MIT", None)];
    assert_eq!(unlisted_duplicates(&tree, &[("a", "why")]), Vec::<String>::new());
    assert_eq!(unlisted_duplicates(&tree, &[]).len(), 1);
    assert_eq!(unlisted_duplicates(&tree, &[("a", "why"), ("b", "why")]).len(), 1);
}
