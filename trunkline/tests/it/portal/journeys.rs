//! Journeys of `portal/e2e` in Chromium, each against services of its own: those whose title has `@core`. `make journeys`
//! runs all of them.

use std::process::Command;

use super::built;
use crate::clients::{output, path_with_node, root};

/// Playwright keeps what it saw of a failed journey in `portal/test-results`.
fn journeys(args: &[&str]) -> Option<Command> {
    built()?;
    let mut command = Command::new("npx");
    command.current_dir(root().join("portal")).args(["--no-install", "playwright", "test"]);
    command.args(["--config", "e2e/playwright.config.ts", "--reporter=line", "--project=desktop"]).args(args);
    command.env("PATH", path_with_node()).env("TRUNKLINE_BIN", env!("CARGO_BIN_EXE_trunkline"));
    command.env_remove("TRUNKLINE_E2E_DATABASE_URL");
    Some(command)
}

#[test]
fn the_core_journeys_succeed_in_a_browser() {
    if let Some(mut command) = journeys(&["--grep=@core", "--grep-invert=@postgres"]) {
        output(command.env_remove("TRUNKLINE_TEST_POSTGRES"));
    }
}

#[test]
fn a_handful_of_core_journeys_succeed_on_postgresql() {
    let server = std::env::var("TRUNKLINE_TEST_POSTGRES").expect("no PostgreSQL to test on: run make test");
    if let Some(mut command) = journeys(&["--grep=(?=.*@core)(?=.*@postgres)", "--output=test-results/postgres"]) {
        output(command.env("TRUNKLINE_E2E_DATABASE_URL", format!("{server}?sslmode=disable")));
    }
}
