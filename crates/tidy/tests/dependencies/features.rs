//! Features: the program alone is built from the same crates as the tests, so that neither build repeats the other's.

use std::collections::BTreeSet;
use std::process::Command;

use crate::{PLATFORM, demand};

/// Every crate of the workspace's tree with its features, as `name version [features]`.
fn crates(edges: &str) -> BTreeSet<String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--workspace", "--target", PLATFORM, "--edges", edges])
        .args(["--prefix", "none", "--format", "{p} [{f}]"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let listing = String::from_utf8(output.stdout).expect("cargo tree is UTF-8");
    listing.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn dev_dependencies_add_no_feature_to_a_crate_of_the_program() {
    let program = crates("normal,build");
    assert!(program.iter().any(|line| line.starts_with("tokio v")), "the crates of the program are listed");
    let changed: Vec<String> = program.difference(&crates("normal,build,dev")).cloned().collect();
    let advice = "The tests build these crates with more features, and so the service twice. `cargo tree -e features \
                  -i NAME` shows who asks: drop the feature there, or add it to the list in bench/Cargo.toml.";
    demand(&changed, advice);
}
