//! The journeys of `portal/e2e` in Chromium, each against services of its own.
//!
//! All run on SQLite; those whose title has `@postgres` run on PostgreSQL too.

use std::process::Command;

use super::built;
use crate::clients::{output, path_with_node, root};

/// Playwright with the program under test. It keeps what it saw of a failed journey in `portal/test-results`.
fn playwright() -> Command {
    let mut command = Command::new("npx");
    command.current_dir(root().join("portal")).args(["--no-install", "playwright", "test"]);
    command.args(["--config", "e2e/playwright.config.ts", "--reporter=line"]);
    command.env("PATH", path_with_node()).env("TRUNKLINE_BIN", env!("CARGO_BIN_EXE_trunkline"));
    command
}

#[test]
fn every_journey_succeeds_in_a_browser() {
    if built().is_some() {
        output(playwright().env_remove("TRUNKLINE_TEST_POSTGRES").env_remove("TRUNKLINE_E2E_DATABASE_URL"));
    }
}

#[test]
fn journeys_that_depend_on_the_database_succeed_on_postgres() {
    if built().is_some() {
        assert!(std::env::var_os("TRUNKLINE_TEST_POSTGRES").is_some(), "no PostgreSQL to test on: run make test");
        output(playwright().args(["--grep", "@postgres"]));
    }
}
