//! What customers and the team see of calls that are over.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod exports;
mod lists;
mod proof;
mod sums;

use std::fmt::Write;

use reqwest::Method;
use serde_json::{Value, json};
use values::{Rfc3339, Time};

use crate::switch::Scene;
use crate::world::World;

/// Takes calls in, as another switch would tell of them.
pub async fn take_in(world: &World, lines: &[Value]) {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    let ops = world.operations();
    let answer = ops.send(ops.request(Method::POST, "/switch/cdrs").body(text)).await.ok();
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(lines.len()), &json!([])), "{answer}");
}

/// An answered call to the Netherlands of so many seconds, unless something else is said.
fn line(scene: &Scene, call_id: &str, began: i64, seconds: i64, changes: Value) -> Value {
    let mut line = json!({
        "call_id": call_id, "leg": "termination", "trunk_id": scene.trunk, "calling": "+31201111111",
        "called": "+31201234567", "started_at": began, "answered_at": began, "ended_at": began + seconds * 1000,
        "status": "answered",
    });
    for (name, value) in changes.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

/// A call that came to nothing.
fn vain(scene: &Scene, call_id: &str, began: i64, changes: Value) -> Value {
    let mut line = line(scene, call_id, began, 0, json!({"answered_at": null, "status": "busy"}));
    for (name, value) in changes.as_object().unwrap() {
        line[name] = value.clone();
    }
    line
}

fn moment(millis: i64) -> String {
    Rfc3339(Time::from_millis(millis)).to_string()
}

/// The Call-IDs on a page.
fn call_ids(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|one| one["call_id"].as_str().unwrap()).collect()
}
