//! The software bill of materials that `tools/sbom` prints.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

fn sbom() -> Value {
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/sbom");
    let output = Command::new(tool).output().expect("tools/sbom runs with Python 3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn texts<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|one| one[name].as_str().unwrap()).collect()
}

#[test]
fn the_bill_of_materials_names_every_linked_crate_with_its_hash_and_licence() {
    let sbom = sbom();
    assert_eq!((&sbom["bomFormat"], &sbom["specVersion"]), (&"CycloneDX".into(), &"1.6".into()));
    assert_eq!(sbom["metadata"]["component"]["name"], "trunkline");
    let components = sbom["components"].as_array().unwrap();
    let ours: BTreeSet<String> =
        super::packages().into_iter().filter(|one| one.in_workspace).map(|one| one.name).collect();
    for component in components.iter().filter(|one| !ours.contains(one["name"].as_str().unwrap())) {
        let hash = component["hashes"][0]["content"].as_str().unwrap_or_default();
        assert_eq!(hash.len(), 64, "{component}");
        assert!(component["licenses"][0]["expression"].is_string(), "{component}");
    }
    let mut references: BTreeSet<&str> = texts(&sbom["components"], "bom-ref").into_iter().collect();
    references.insert(sbom["metadata"]["component"]["bom-ref"].as_str().unwrap());
    assert_eq!(references, texts(&sbom["dependencies"], "ref").into_iter().collect());
    for name in ["rustls", "rusqlite", "tokio-postgres", "server"] {
        assert!(components.iter().any(|one| one["name"] == name), "{name}");
    }
    // What only the tests use is not shipped.
    assert!(!components.iter().any(|one| one["name"] == "proptest" || one["name"] == "s3s"));
}
