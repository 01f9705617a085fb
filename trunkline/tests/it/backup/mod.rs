//! Backups: made while the service writes, restored on another machine, refused if they are not whole.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod refused;
mod under_load;

use std::path::Path;
use std::process::{Command, Output};

use crate::world::process::program_at;

const PASSPHRASE: &str = "seven wooden boats at dawn";

/// A command of the program, which finds `pg_dump` and `pg_restore` where the test server has them.
fn command(url: &str, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = program_at(url, folder, &[("TRUNKLINE_BACKUP_PASSPHRASE", PASSPHRASE)], arguments);
    let programs = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
    command.env("PATH", format!("{programs}:/usr/sbin:/usr/bin:/sbin:/bin")).envs(settings.iter().copied());
    command
}

fn run(url: &str, folder: &Path, arguments: &[&str]) -> Output {
    command(url, folder, &[], arguments).output().unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{printed}{errors}");
    printed.into_owned()
}

#[track_caller]
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The path as an argument.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
