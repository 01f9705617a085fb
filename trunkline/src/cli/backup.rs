//! Backups: making one while the service runs, reading one, and restoring one into an empty installation.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::verify::{verify_audit, verify_cdrs, verify_ledger};
use super::{StopSignals, Subject, audit_command, audit_failed_command, database_as_it_is, print_error, print_line};
use db::{Clock, Db, MIGRATIONS};
use platform::app::{StartError, open_database};
use platform::audit;
use platform::backup::{self, Manifest, Restored, Stop, Target};
use platform::config::Settings;
use platform::crypto::secrets::{PREVIOUS_MASTER, is_passphrase};

const CREATE: &str = "backup.create";

/// How long a backup that was told to stop may take to. SQLite's copy does not look.
const STOP_WAIT: Duration = Duration::from_secs(10);

/// Writes a backup to a new file, unless SIGTERM or SIGINT stops it.
pub async fn make_backup(settings: Settings, file: &Path) -> Result<(), StartError> {
    let db = database_as_it_is(&settings).await?;
    let passphrase = passphrase(&settings, Purpose::Seal)?;
    let (stop, signals) = (Stop::default(), StopSignals::watch()?);
    let watch = tokio::spawn(end_on_signal(signals, stop.clone(), file.to_owned()));
    let manifest = write_backup(&settings, &db, file, &passphrase, &stop).await?;
    watch.abort();
    print_line(&format!("{}: {}", file.display(), describe(&manifest)));
    Ok(())
}

/// Stops a backup, or the process if the backup does not stop.
async fn end_on_signal(mut signals: StopSignals, stop: Stop, file: PathBuf) {
    signals.next().await;
    stop.request();
    tokio::time::sleep(STOP_WAIT).await;
    backup::discard(&file);
    print_error(StartError::from("the backup was interrupted").as_ref());
    std::process::exit(1);
}

/// The audit row of a backup is in it too, so it is written before; if the backup fails, another row says so.
async fn write_backup(
    settings: &Settings,
    db: &Db,
    file: &Path,
    passphrase: &str,
    stop: &Stop,
) -> Result<Manifest, StartError> {
    let secrets = backup::secrets_of(settings, db).await?;
    let (keys, target) = (secrets.keys(), Target::begin(settings, file)?);
    db.tx(keys.clone(), |conn, keys| Box::pin(audit_command(conn, keys, CREATE, Subject::Nobody))).await?;
    let written = backup::create(settings, db, secrets, target, passphrase, stop).await;
    if let Err(error) = &written {
        let failure = (keys, error.to_string());
        let recorded =
            db.tx(failure, |conn, (keys, reason)| Box::pin(audit_failed_command(conn, keys, CREATE, reason))).await;
        recorded.map_err(|unrecorded| format!("{error}; nor could the audit row of this be written: {unrecorded}"))?;
    }
    written
}

/// Reads a backup to its end; with `only_check` that is all, otherwise it is restored and verified.
pub async fn restore_backup(mut settings: Settings, file: &Path, only_check: bool) -> Result<(), StartError> {
    let passphrase = passphrase(&settings, Purpose::Open)?;
    if only_check {
        let manifest = backup::check(file, &passphrase).await?;
        print_line(&format!("{} is whole: {}", file.display(), describe(&manifest)));
        return Ok(());
    }
    let Restored { manifest, secrets } = backup::restore(&settings, file, &passphrase).await?;
    print_line(&format!("Restored {}: {}", file.display(), describe(&manifest)));
    if secrets.master_previous.is_some() && settings.secrets.master_previous.is_none() {
        let path = settings.data_dir.join("secrets").join(PREVIOUS_MASTER);
        print_line(&format!(
            "The master secret was being rotated: set TRUNKLINE_MASTER_SECRET_PREVIOUS_FILE to {} until the rotation \
             has ended.",
            path.display()
        ));
        settings.secrets.master_previous.clone_from(&secrets.master_previous);
    }
    let db = open_database(&settings, &Clock::system()).await?;
    let (audit_rows, _) = audit::head(&mut *db.read().await?).await?;
    if audit_rows != manifest.audit_rows {
        let text = format!("the restored database has {audit_rows} audit rows, the backup {}", manifest.audit_rows);
        return Err(text.into());
    }
    if manifest.migrations < MIGRATIONS.len() {
        db.migrate().await?;
        print_line("The database was migrated to this version.");
    }
    db.analyze().await?;
    verify_ledger(settings.clone()).await?;
    verify_cdrs(settings.clone()).await?;
    verify_audit(settings, false).await?;
    db.tx(secrets.keys(), |conn, keys| Box::pin(audit_command(conn, keys, "backup.restore", Subject::Nobody))).await?;
    Ok(())
}

fn describe(manifest: &Manifest) -> String {
    let Manifest { version, engine, audit_rows, files, .. } = manifest;
    let files = match &manifest.bucket {
        Some(bucket) => format!("files are in the bucket {bucket}"),
        None if *files == 1 => "1 file".to_owned(),
        None => format!("{files} files"),
    };
    let (made_at, engine) = (manifest.made_at(), engine.name());
    format!("{engine} of {made_at}, version {version}, {audit_rows} audit rows, {files}")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Seal,
    Open,
}

/// The passphrase of the settings, or the one that somebody types.
fn passphrase(settings: &Settings, purpose: Purpose) -> Result<String, StartError> {
    if let Some(passphrase) = &settings.secrets.backup_passphrase {
        return Ok(passphrase.clone());
    }
    if !std::io::stdin().is_terminal() {
        return Err("set TRUNKLINE_BACKUP_PASSPHRASE, or TRUNKLINE_BACKUP_PASSPHRASE_FILE to a file with it".into());
    }
    let passphrase = ask("Passphrase of the backup: ")?;
    if purpose == Purpose::Seal {
        if !is_passphrase(&passphrase) {
            return Err("the passphrase must have at least 12 characters".into());
        }
        if ask("The same again: ")? != passphrase {
            return Err("the two passphrases differ".into());
        }
    }
    Ok(passphrase)
}

/// Reads a line from the terminal without showing it.
fn ask(question: &str) -> Result<String, StartError> {
    let terminal = std::io::stdin();
    write!(std::io::stderr(), "{question}")?;
    let shown = tcgetattr(&terminal).map_err(std::io::Error::from)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &hidden).map_err(std::io::Error::from)?;
    let mut line = String::new();
    let read = terminal.lock().read_line(&mut line);
    tcsetattr(&terminal, OptionalActions::Flush, &shown).map_err(std::io::Error::from)?;
    writeln!(std::io::stderr())?;
    read?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
