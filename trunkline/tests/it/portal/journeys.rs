//! Journeys of `portal/e2e` in Chromium, each against services of its own: those whose title has `@core`. `make journeys`
//! runs all of them.

use std::process::Command;

use super::built;
use crate::clients::{output, path_with_node, root};

/// Playwright keeps what it saw of a failed journey in `portal/test-results`.
#[test]
fn the_core_journeys_succeed_in_a_browser() {
    if built().is_none() {
        return;
    }
    let mut command = Command::new("npx");
    command.current_dir(root().join("portal")).args(["--no-install", "playwright", "test"]);
    command.args(["--config", "e2e/playwright.config.ts", "--reporter=line", "--project=desktop", "--grep=@core"]);
    command.env("PATH", path_with_node()).env("TRUNKLINE_BIN", env!("CARGO_BIN_EXE_trunkline"));
    output(command.env_remove("TRUNKLINE_TEST_POSTGRES").env_remove("TRUNKLINE_E2E_DATABASE_URL"));
}
