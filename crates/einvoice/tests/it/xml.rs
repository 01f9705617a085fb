//! Compares the XML of each sample with golden files, so that a change shows in review.
//!
//! `UPDATE_GOLDEN=1 cargo test -p einvoice` rewrites them.

use einvoice::{cii, ubl};

use crate::{crate_folder, samples};

fn compare(name: &str, text: &str) {
    let path = crate_folder().join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(golden == text, "{name} differs from its golden file; run with UPDATE_GOLDEN=1 and review the diff");
}

#[test]
fn the_xml_matches_the_golden_files() {
    for (name, invoice) in samples::all().into_iter().filter(|(name, _)| !["long", "large"].contains(name)) {
        compare(&format!("{name}.cii.xml"), &cii(&invoice));
    }
    for (name, invoice) in [("domestic", samples::domestic()), ("credit-note", samples::credit_note())] {
        compare(&format!("{name}.ubl.xml"), &ubl(&invoice));
    }
}

#[test]
fn text_cannot_inject_elements() {
    let elements = |text: String| text.matches("<ram:").count();
    let mut plain = samples::hostile();
    plain.buyer.name = "x".to_owned();
    assert_eq!(elements(cii(&samples::hostile())), elements(cii(&plain)));
    assert!(!cii(&samples::hostile()).contains(|c: char| c.is_control() && c != '\n'));
}
