//! `pg_dump` and `pg_restore`, which know everything that a PostgreSQL database may hold.
//!
//! They get their connection by environment variables, and print their own errors.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};

use super::stop::Stop;
use crate::app::StartError;

/// The variables of a connection.
pub type Environment = Vec<(&'static str, String)>;

/// Dumps what the snapshot of this name sees; `read` takes the dump.
pub fn dump(
    environment: &Environment,
    snapshot: &str,
    stop: &Stop,
    read: impl FnOnce(&mut dyn Read) -> io::Result<()>,
) -> Result<(), StartError> {
    let mut command = program("pg_dump", environment);
    command.args(["--format=custom", &format!("--snapshot={snapshot}")]);
    let mut child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
    let mut output = child.stdout.take().ok_or("pg_dump has no output")?;
    stop.watch_program(child);
    // The dump of a program that was killed ends early.
    let outcome = read(&mut output).and_then(|()| stop.check());
    // It would wait for ever if somebody stopped reading.
    drop(output);
    end(stop.take_program().ok_or("pg_dump is gone")?, "pg_dump", outcome)
}

/// Restores a dump, all of it or nothing, into an empty database.
pub fn restore(environment: &Environment, dump: &mut dyn Read) -> Result<(), StartError> {
    let database = environment.iter().find(|(name, _)| *name == "PGDATABASE").map_or("", |(_, name)| name.as_str());
    let mut command = program("pg_restore", environment);
    command.args(["--exit-on-error", "--single-transaction", &format!("--dbname={database}")]);
    let mut child = spawn(command.stdin(Stdio::piped()).stdout(Stdio::null()))?;
    let mut input = child.stdin.take().ok_or("pg_restore has no input")?;
    let outcome = match io::copy(dump, &mut input) {
        // It ended early, and says why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        copied => copied.map(drop),
    };
    drop(input);
    end(child, "pg_restore", outcome)
}

/// Without anything else of our environment, such as the passphrase.
fn program(name: &str, environment: &Environment) -> Command {
    let mut command = Command::new(name);
    command.env_clear().envs(environment.iter().cloned());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command.args(["--no-owner", "--no-privileges", "--no-password"]);
    command
}

fn spawn(command: &mut Command) -> Result<Child, StartError> {
    command.spawn().map_err(|error| {
        let name = command.get_program().to_string_lossy().into_owned();
        format!("cannot run {name}: {error}; install the client programs of PostgreSQL").into()
    })
}

/// The outcome of feeding or reading a program comes first: it is why the program failed.
fn end(mut child: Child, name: &str, outcome: io::Result<()>) -> Result<(), StartError> {
    let status = child.wait()?;
    outcome?;
    if status.success() { Ok(()) } else { Err(format!("{name} failed: {status}").into()) }
}
