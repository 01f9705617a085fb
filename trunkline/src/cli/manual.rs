//! What packages have of the command line itself: manual pages, and scripts that complete commands in a shell.

use std::path::Path;

use clap::Command;
use clap_complete::Shell;

use super::print_text;
use platform::app::StartError;

/// Prints the script that completes commands in this shell.
pub fn print_completions(shell: Shell, mut command: Command) {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    print_text(&String::from_utf8_lossy(&script));
}

/// Writes a manual page for each command.
pub fn write_manual(command: Command, folder: &Path) -> Result<(), StartError> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|error| format!("{}: {error}", folder.display()).into())
}
