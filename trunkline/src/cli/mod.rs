//! The commands behind the command line, and what they share: output, the log, access to the database.
//!
//! `serve` runs the service; `first_admin` is what it prints while there is no admin. `import` (`remote`: into a service
//! elsewhere) and `verify` work on CDRs, rates, the ledger and the audit chain, `cdr_archive` on archived CDRs, `jobs` on
//! dead jobs, `switch` on the files of an edge, `demo` on an empty database, `doctor` on everything, `backup` and `migrate`
//! on the database as a whole, `personal_data` on what is stored about a customer. `listen` reads events of a running
//! service. `manual` describes the commands themselves; `notify` speaks to systemd.
#![expect(clippy::print_stderr, reason = "a command line writes to the terminal")]

mod admin;
mod backup;
mod cdr_archive;
mod demo;
mod doctor;
mod first_admin;
mod import;
mod jobs;
mod listen;
mod manual;
mod migrate;
mod notify;
mod personal_data;
mod remote;
mod secrets;
mod switch;
mod verify;

pub use admin::{bootstrap, create_magic_link};
pub use backup::{make_backup, restore_backup};
pub use cdr_archive::CdrArchive;
pub use demo::demo;
pub use doctor::{doctor, ready};
pub use import::{RatesImport, import_cdrs, import_fx, import_rates};
pub use jobs::{JobSelection, list_dead_jobs, rerun_jobs};
pub use listen::{EventSource, listen, tail_events};
pub use manual::{print_completions, write_manual};
pub use migrate::{check_migrations, migrate, plan_migrations};
pub use personal_data::{erase_customer, export_customer};
pub use remote::Remote;
pub use secrets::rotate_master_secret;
pub use switch::{render_switch, sync_switch};
pub use verify::{verify_audit, verify_cdrs, verify_ledger};

use std::io::{IsTerminal, Write};
use std::path::Path;

use serde_json::{Map, Value};
use tracing_subscriber::EnvFilter;

use api::openapi;
use db::{Clock, Db, DbError, DbOptions, MIGRATIONS};
use identity::bootstrap as admin_bootstrap;
use platform::app::{StartError, open_database};
use platform::audit::{self, Actor, Outcome};
use platform::config::{LogFormat, Settings};
use platform::crypto::keys::Keys;
use platform::mail;
use platform::traces::LOG_TARGET;
use server::{routes, serve as service};
use tokio::signal::unix::{Signal, SignalKind, signal};
use values::{AccountId, UserId};

/// Prints the error of a failed command and its causes.
pub fn print_error(error: &(dyn std::error::Error + 'static)) {
    eprintln!("trunkline: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
}

/// Prints a line; a closed pipe is no error.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints text that ends with a line break.
pub fn print_text(text: &str) {
    print_line(text.trim_end());
}

/// Prints that the settings are valid, and what is wrong with those that are ignored.
pub fn print_checked(settings: &Settings) {
    print_line("The settings are valid.");
    for warning in &settings.warnings {
        eprintln!("trunkline: {warning}");
    }
}

fn start_log(settings: &Settings) -> Result<(), StartError> {
    let filter = EnvFilter::try_new(&settings.log_filter).map_err(|error| format!("TRUNKLINE_LOG_FILTER: {error}"))?;
    // Whatever is logged has the id of its trace.
    let filter = filter.add_directive(format!("{LOG_TARGET}=error").parse()?);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log {
        LogFormat::Json => log.json().flatten_event(true).with_span_list(false).init(),
        LogFormat::Human => log.with_ansi(std::io::stderr().is_terminal()).with_target(false).init(),
    }
    for warning in &settings.warnings {
        tracing::warn!(warning, "a setting is ignored");
    }
    Ok(())
}

/// Runs the service until SIGTERM or SIGINT.
pub async fn serve(settings: Settings) -> Result<(), StartError> {
    start_log(&settings)?;
    // Every connection is a file descriptor.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    let running = service::start(settings, portal::BUILT).await?;
    let app = &running.app;
    print_line("Trunkline is running.");
    if app.settings.lab.is_lab {
        tracing::warn!(declared = app.settings.lab.is_declared, "this is a lab: rules are relaxed, no real customers");
        print_line("  This is a lab. See docs/security.md before you serve real customers.");
    }
    match running.screens.has("/") {
        true => print_line(&format!("  Portal     {}/", app.public_url)),
        false => print_line("  Portal     not in this binary: build it with make run or make release"),
    }
    print_line(&format!("  API        {}/v1", app.public_url));
    print_line(&format!("  Reference  {}/docs", app.public_url));
    print_line(&format!("  Operations {}/healthz", app.settings.ops_url()));
    if !admin_bootstrap::exists(&mut *app.db.read().await?).await? {
        for line in first_admin::invitation(app, &running.screens, std::io::stdout().is_terminal()) {
            print_line(&format!("  {line}"));
        }
    }
    notify::tell_systemd(notify::READY);
    let signal = stop_signal().await?;
    tracing::info!("stopping");
    notify::tell_systemd(notify::STOPPING);
    match signal {
        StopSignal::Terminate => running.stop().await,
        // Somebody waits for the prompt.
        StopSignal::Interrupt => running.close().await,
    }
    Ok(())
}

enum StopSignal {
    Terminate,
    Interrupt,
}

/// The signals that stop a command. From when they are watched, none ends the process by itself.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn watch() -> std::io::Result<StopSignals> {
        Ok(StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }
}

async fn stop_signal() -> std::io::Result<StopSignal> {
    Ok(StopSignals::watch()?.next().await)
}

/// Writes a sample of every mail to a folder.
pub fn preview_mail(settings: &Settings, folder: &Path) -> Result<(), StartError> {
    for path in mail::preview(settings, folder)? {
        print_line(&path.display().to_string());
    }
    Ok(())
}

pub fn print_openapi() -> Result<(), StartError> {
    print_line(&serde_json::to_string_pretty(&openapi::describe(&routes::table()))?);
    Ok(())
}

/// Opens a database that must exist already and be migrated.
async fn existing_database(settings: &Settings) -> Result<Db, StartError> {
    let db = database_as_it_is(settings).await?;
    db.check_version().await?;
    Ok(db)
}

/// Opens a database that must exist already. Migrations may be pending; it must not be newer than this binary.
async fn database_as_it_is(settings: &Settings) -> Result<Db, StartError> {
    let options: DbOptions = settings.database_url().parse()?;
    if !options.may_exist() {
        return Err(format!("there is no database at {options:?}").into());
    }
    let db = open_database(settings, &Clock::system()).await?;
    if db.pending_migrations().await?.len() == MIGRATIONS.len() {
        return Err(format!("the database at {options:?} is empty: trunkline migrate creates its tables").into());
    }
    Ok(db)
}

/// Whom a command was about.
#[derive(Clone, Copy)]
enum Subject {
    Nobody,
    Account(AccountId),
    User(AccountId, UserId),
}

/// Writes the audit row of a command.
async fn audit_command(
    conn: &mut db::Conn,
    keys: &Keys,
    action: &'static str,
    subject: Subject,
) -> Result<(), DbError> {
    audit_command_with(conn, keys, action, subject, Map::new()).await
}

/// The same with notes.
async fn audit_command_with(
    conn: &mut db::Conn,
    keys: &Keys,
    action: &'static str,
    subject: Subject,
    meta: Map<String, Value>,
) -> Result<(), DbError> {
    audit::append(conn, keys, &command_entry(action, subject, meta)).await
}

/// Writes the audit row of a command that failed after the first one.
async fn audit_failed_command(
    conn: &mut db::Conn,
    keys: &Keys,
    action: &'static str,
    reason: &str,
) -> Result<(), DbError> {
    let mut entry = command_entry(action, Subject::Nobody, Map::new());
    (entry.outcome, entry.reason) = (Outcome::Failure, Some(reason.to_owned()));
    audit::append(conn, keys, &entry).await
}

fn command_entry(action: &'static str, subject: Subject, mut meta: Map<String, Value>) -> audit::Entry {
    meta.insert("by".into(), "console".into());
    let (account_id, user_id) = match subject {
        Subject::Nobody => (None, None),
        Subject::Account(account) => (Some(account), None),
        Subject::User(account, user) => (Some(account), Some(user)),
    };
    audit::Entry {
        action,
        account_id,
        user_id,
        actor: Some(Actor::System),
        ip: None,
        user_agent: None,
        outcome: Outcome::Success,
        reason: None,
        meta,
    }
}
