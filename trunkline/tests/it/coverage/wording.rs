//! The OpenAPI description is written for people: every name, title and parameter says what it is.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;

use serde_json::Value;

use super::document::description;

const LONGEST_SUMMARY: usize = 60;

/// How a summary may begin.
const VERBS: [&str; 56] = [
    "Apply",
    "Approve",
    "Cancel",
    "Change",
    "Close",
    "Compare",
    "Confirm",
    "Create",
    "Credit",
    "Deactivate",
    "Decline",
    "Delete",
    "Disable",
    "Dispute",
    "Download",
    "Drop",
    "Enroll",
    "Export",
    "Get",
    "Hang up",
    "Impersonate",
    "Import",
    "Invite",
    "List",
    "Look up",
    "Mark",
    "Preview",
    "Reactivate",
    "Receive",
    "Reconcile",
    "Redeem",
    "Refresh",
    "Refund",
    "Regenerate",
    "Reject",
    "Release",
    "Replay",
    "Reply",
    "Request",
    "Rerate",
    "Reset",
    "Resolve",
    "Retry",
    "Review",
    "Rotate",
    "Search",
    "Set",
    "Sign",
    "Simulate",
    "Start",
    "Submit",
    "Test",
    "Update",
    "Upload",
    "Verify",
    "Void",
];

fn list<'d>(node: &'d Value, key: &str) -> &'d [Value] {
    node[key].as_array().map_or(&[], Vec::as_slice)
}

/// Every operation with its method and path.
fn operations(description: &Value) -> Vec<(String, &Value)> {
    let paths = description["paths"].as_object().unwrap();
    let of_path = |(path, methods): (&String, &'_ Value)| -> Vec<String> {
        methods.as_object().unwrap().keys().map(|method| format!("{} {path}", method.to_uppercase())).collect()
    };
    let names = paths.iter().flat_map(of_path);
    names.zip(paths.values().flat_map(|methods| methods.as_object().unwrap().values())).collect()
}

/// What is wrong with a text of one or more sentences.
fn fault(text: &Value) -> Option<&'static str> {
    let Some(text) = text.as_str().filter(|text| !text.trim().is_empty()) else { return Some("has no description") };
    let begins_well = |c: char| c.is_uppercase() || c.is_ascii_digit() || c == '`';
    match (text.starts_with(begins_well), text.ends_with('.')) {
        (true, true) => None,
        (false, _) => Some("has a description that begins in lower case"),
        (_, false) => Some("has a description without a full stop"),
    }
}

#[test]
fn every_summary_begins_with_a_verb_and_fits_on_a_line() {
    for (name, operation) in operations(&description()) {
        let summary = operation["summary"].as_str().unwrap();
        let begins_with = |verb: &&str| summary.strip_prefix(*verb).is_some_and(|rest| rest.starts_with(' '));
        assert!(VERBS.iter().any(begins_with), "{name} is no instruction: {summary}");
        assert!(summary.chars().count() <= LONGEST_SUMMARY, "the summary of {name} is too long: {summary}");
        assert!(!summary.ends_with('.'), "the summary of {name} ends with a full stop");
    }
}

#[test]
fn every_operation_says_what_it_does_in_at_most_three_sentences() {
    let (description, mut summaries) = (description(), BTreeSet::new());
    for (name, operation) in operations(&description) {
        assert_eq!(fault(&operation["description"]), None, "{name}");
        let sentences = format!("{} ", operation["description"].as_str().unwrap()).matches(". ").count();
        assert!((1..=3).contains(&sentences), "{name} is told of in {sentences} sentences");
        assert!(summaries.insert(operation["summary"].as_str().unwrap()), "another operation is called like {name}");
    }
}

#[test]
fn every_operation_id_is_a_camel_case_name_of_its_own() {
    let (description, mut ids) = (description(), BTreeSet::new());
    for (name, operation) in operations(&description) {
        let id = operation["operationId"].as_str().unwrap();
        let is_camel_case = id.starts_with(|c: char| c.is_ascii_lowercase())
            && id.chars().all(|c| c.is_ascii_alphanumeric())
            && id.contains(|c: char| c.is_ascii_uppercase());
        assert!(is_camel_case, "{name} is called {id}");
        assert!(ids.insert(id), "{id} names two operations");
    }
}

#[test]
fn every_parameter_tag_header_response_and_scheme_has_a_description() {
    let description = description();
    for tag in list(&description, "tags") {
        assert_eq!(fault(&tag["description"]), None, "tag {}", tag["name"]);
    }
    for (name, operation) in operations(&description) {
        for parameter in list(operation, "parameters") {
            assert_eq!(fault(&parameter["description"]), None, "{} of {name}", parameter["name"]);
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert_eq!(fault(&response["description"]), None, "{status} of {name}");
        }
    }
    assert_eq!(fault(&description["info"]["description"]), None);
    for kind in ["headers", "securitySchemes"] {
        for (name, component) in description["components"][kind].as_object().unwrap() {
            assert_eq!(fault(&component["description"]), None, "{name}");
        }
    }
}
