//! The XML of each sample, kept as files: a change of a document is seen in review.
//!
//! `UPDATE_GOLDEN=1 cargo test -p einvoice` writes them anew.

use einvoice::{cii, ubl};

use crate::{crate_folder, samples};

fn compare(name: &str, text: &str) {
    let path = crate_folder().join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{name} differs from what is kept; run with UPDATE_GOLDEN=1 and look at the difference");
}

#[test]
fn the_xml_of_each_kind_of_invoice_is_as_kept() {
    for (name, invoice) in samples::all().into_iter().filter(|(name, _)| !["long", "large"].contains(name)) {
        compare(&format!("{name}.cii.xml"), &cii(&invoice));
    }
    for (name, invoice) in [("domestic", samples::domestic()), ("credit-note", samples::credit_note())] {
        compare(&format!("{name}.ubl.xml"), &ubl(&invoice));
    }
}

#[test]
fn names_cannot_add_elements() {
    let elements = |text: String| text.matches("<ram:").count();
    let mut plain = samples::hostile();
    plain.buyer.name = "x".to_owned();
    assert_eq!(elements(cii(&samples::hostile())), elements(cii(&plain)));
    assert!(!cii(&samples::hostile()).contains(|c: char| c.is_control() && c != '\n'));
}
