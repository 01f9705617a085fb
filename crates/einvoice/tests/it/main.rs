//! Tests the documents from outside: with EN 16931 validators, PDF readers, and positions of text on the page.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod pdf;
mod rules;
mod samples;
mod validators;
mod xml;

use std::path::{Path, PathBuf};
use std::process::Command;

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Creates an empty folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Runs a program that must succeed, and returns its stdout. `advice` says how to install it.
fn run(command: &mut Command, advice: &str) -> String {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}\n{advice}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {}\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}
