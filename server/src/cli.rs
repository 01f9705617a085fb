//! What the commands do.
#![expect(clippy::print_stderr, reason = "a command line speaks to a person")]

mod jobs;

pub use jobs::{Revived, dead_jobs, rerun_jobs};

use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Map;
use tracing_subscriber::EnvFilter;

use crate::demo::{self, Filled, Live, Options, Turn};
use crate::{routes, serve, work};
use api::openapi;
use api::problem::Code;
use db::{Db, DbError, DbOptions};
use identity::imports::ImportStatus;
use identity::{bootstrap, sessions, users};
use platform::app::{App, StartError, open_database};
use platform::audit::{self, Actor, Outcome};
use platform::clock::Clock;
use platform::config::{LogFormat, Settings};
use platform::crypto::keys::Keys;
use platform::crypto::passwords::PasswordError;
use platform::crypto::secrets::Secrets;
use platform::edge::{self, Edge};
use platform::entropy;
use platform::ledger::{self, Verified};
use platform::letters;
use platform::outside;
use voice::decks::{self, DeckImport, ImportMode};
use voice::{cdrs, fx};

/// The last word of a command that failed.
pub fn complain(error: &(dyn std::error::Error + 'static)) {
    eprintln!("trunkline: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        eprintln!("  because: {cause}");
        source = cause.source();
    }
}

/// Speaks to whoever started the command; one that no longer listens misses it.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn start_log(settings: &Settings) -> Result<(), StartError> {
    let filter = EnvFilter::try_new(&settings.log_filter).map_err(|error| format!("TRUNKLINE_LOG_FILTER: {error}"))?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match settings.log {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Human => log.with_ansi(std::io::stderr().is_terminal()).with_target(false).init(),
    }
    for name in &settings.unknown {
        tracing::warn!(name, "this is in the environment, but it is not a setting");
    }
    Ok(())
}

/// Runs the service until it is told to stop.
pub async fn serve(settings: Settings) -> Result<(), StartError> {
    start_log(&settings)?;
    // Every connection is a file: take as many as the system gives.
    if let Err(error) = rlimit::increase_nofile_limit(u64::MAX) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
    let running = serve::start(settings).await?;
    let app = &running.app;
    say("Trunkline is up.");
    say(&format!("  API        {}/v1", app.public_url));
    say(&format!("  Reference  {}/docs", app.public_url));
    say(&format!("  Operations http://{}/healthz", running.ops));
    if !bootstrap::exists(&mut *app.db.read().await?).await? {
        say(&format!("  No admin yet. Make one with: POST {}/v1/admin/bootstrap", app.public_url));
        say(&format!("  and the header X-Bootstrap-Token: {}", app.bootstrap_token));
    }
    stop_signal().await?;
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
}

async fn stop_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

pub async fn migrate(settings: Settings) -> Result<(), StartError> {
    open_database(&settings).await?.migrate().await?;
    say("The database is up to date.");
    Ok(())
}

pub async fn bootstrap(settings: Settings, legal_name: &str, name: &str, email: &str) -> Result<(), StartError> {
    let mut password = String::new();
    std::io::stdin().take(1024).read_to_string(&mut password)?;
    let wrong = |field: &'static str| move |error: values::Invalid| format!("{field} {error}");
    let request = bootstrap::AdminBootstrapRequest {
        legal_name: legal_name.parse().map_err(wrong("--legal-name"))?,
        contact_name: name.parse().map_err(wrong("--name"))?,
        contact_email: email.parse().map_err(wrong("--email"))?,
        password: password.trim_end_matches(['\r', '\n']).parse().map_err(wrong("the password"))?,
    };
    let app = App::open(settings).await?;
    let hash = app.passwords.hash(request.password.expose()).await.map_err(|error| match error {
        PasswordError::Busy => "too many hashes wait".to_owned(),
        PasswordError::Broken(cause) => cause,
    })?;
    let db = app.db.clone();
    let made = db
        .tx((app, request, hash), |conn, (app, request, hash)| {
            Box::pin(async move {
                let now = app.clock.now();
                let made = bootstrap::create(conn, app, request, hash.clone(), now).await?;
                if let Some(of) = made {
                    record(conn, app, "admin.bootstrap", Some(of)).await?;
                }
                Ok::<_, DbError>(made)
            })
        })
        .await
        .map_err(|error| match error {
            DbError::Unique(_) => StartError::from("this address belongs to a user already; choose another"),
            error => error.into(),
        })?;
    match made {
        Some((account, user)) => say(&format!("The first admin exists: {user} of {account}.")),
        None => return Err("an admin exists already".into()),
    }
    Ok(())
}

pub async fn link(settings: Settings, email: &str) -> Result<(), StartError> {
    let email: values::Email = email.parse()?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let link = db
        .tx((app, email), |conn, (app, email)| {
            Box::pin(async move {
                let now = app.clock.now();
                let Some(user) = users::find_by_email(conn, email).await? else { return Ok(None) };
                let link = sessions::issue_magic_link(conn, app, user.id, now).await?;
                record(conn, app, "session.link_issued", Some((user.account_id, user.id))).await?;
                Ok::<_, DbError>(Some(link))
            })
        })
        .await?;
    say(&link.ok_or("no user has this email")?.url);
    Ok(())
}

/// What an operator does at the console is audited like everything else.
async fn record(
    conn: &mut db::Conn,
    app: &App,
    action: &'static str,
    of: Option<(values::AccountId, values::UserId)>,
) -> Result<(), DbError> {
    let mut meta = Map::new();
    meta.insert("by".into(), "console".into());
    let entry = audit::Entry {
        action,
        account_id: of.map(|(account, _)| account),
        user_id: of.map(|(_, user)| user),
        actor: Some(Actor::System),
        ip: None,
        user_agent: None,
        outcome: Outcome::Success,
        reason: None,
        meta,
    };
    audit::append(conn, &app.keys, app.entropy, app.clock.now(), &entry).await
}

/// Takes in exchange rates from a file of the European Central Bank's.
pub async fn import_fx(settings: Settings, file: &Path) -> Result<(), StartError> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let sheets = outside::fx::read(&text)?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let days = db.tx((app, sheets), |conn, (app, sheets)| {
        Box::pin(async move {
            let days = fx::import(conn, sheets, app.clock.now()).await?;
            record(conn, app, "fx_rates.import", None).await?;
            Ok::<_, DbError>(days)
        })
    });
    match days.await? {
        1 => say("Imported the exchange rates of a day."),
        days => say(&format!("Imported the exchange rates of {days} days.")),
    }
    Ok(())
}

/// How often an import that another node runs is looked at.
const IMPORT_POLL: Duration = Duration::from_millis(300);

/// Takes in a rate deck as any node would: whichever is free runs the import, this one included.
pub async fn import_rates(
    settings: Settings,
    upstream: &str,
    file: &Path,
    merge: bool,
    dry_run: bool,
) -> Result<(), StartError> {
    let upstream = upstream.parse().map_err(|error| format!("--upstream {error}"))?;
    let opened = tokio::fs::File::open(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
    let app = App::open(settings).await?;
    let mode = if merge { ImportMode::Merge } else { ImportMode::Replace };
    let prepared = decks::prepare(&app, upstream, opened, mode, dry_run).await;
    let import = prepared.map_err(|problem| match problem.code() {
        Code::NotFound => "there is no such upstream".to_owned(),
        _ => format!("{problem:?}"),
    })?;
    let id = import.id;
    let queued = app.db.tx((app.clone(), import), |conn, (app, import)| {
        Box::pin(async move {
            decks::queue(conn, app, import, import.created_at).await?;
            record(conn, app, "deck.import", None).await
        })
    });
    queued.await?;
    let runner = work::runner(&app)?;
    let import = loop {
        runner.settle().await?;
        let found = decks::report(&mut *app.db.read().await?, upstream, id).await?;
        let import = found.ok_or("the import is gone")?;
        if matches!(import.status, ImportStatus::Completed | ImportStatus::Failed) {
            break import;
        }
        tokio::time::sleep(IMPORT_POLL).await;
    };
    tell_import(&import)
}

fn tell_import(import: &DeckImport) -> Result<(), StartError> {
    for fault in import.errors.iter().flatten() {
        let column = fault.column.as_deref().map(|column| format!("{column} ")).unwrap_or_default();
        say(&format!("line {}: {column}{}", fault.line, fault.reason));
    }
    if import.status == ImportStatus::Failed {
        let reason = import.reason.clone().unwrap_or_else(|| format!("the file has {} faults", import.error_count));
        return Err(format!("{reason}; nothing has changed").into());
    }
    let DeckImport { rows_done, added, removed, increased, decreased, .. } = import;
    let verb = if import.dry_run { "Would import" } else { "Imported" };
    say(&format!(
        "{verb} {rows_done} rows: {added} added, {removed} removed, {increased} increased, {decreased} decreased."
    ));
    Ok(())
}

/// A database to look at, which is not made for that.
async fn existing_database(settings: &Settings) -> Result<Db, StartError> {
    let options: DbOptions = settings.database_url().parse()?;
    if !options.may_exist() {
        return Err(format!("there is no database at {options:?}").into());
    }
    let db = open_database(settings).await?;
    db.check_version().await?;
    Ok(db)
}

pub async fn verify_audit(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    let secrets = Secrets::load(&settings.secrets, &settings.data_dir, entropy::Entropy)?;
    let keys = Keys::from_master(secrets.master.as_bytes());
    match db.report(keys, |conn, keys| Box::pin(audit::verify(conn, keys))).await? {
        Ok(verified) => say(&format!("The audit chain holds: {} rows.", verified.rows)),
        Err(fault) => return Err(format!("the audit chain is broken: {fault}").into()),
    }
    Ok(())
}

/// Writes a sample of every mail into a folder.
pub fn preview_mail(settings: &Settings, folder: &Path) -> Result<(), StartError> {
    for path in letters::preview(settings, folder)? {
        say(&path.display().to_string());
    }
    Ok(())
}

pub async fn verify_ledger(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    match db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await? {
        Ok(Verified { customers, transactions, postings, open_holds }) => say(&format!(
            "The ledger holds: {transactions} transactions with {postings} postings of {customers} customers, \
             {open_holds} open holds."
        )),
        Err(fault) => return Err(format!("the ledger is wrong: {fault}").into()),
    }
    Ok(())
}

/// Takes in finished calls of another switch, a part of the file at a time.
pub async fn import_cdrs(settings: Settings, file: &Path) -> Result<(), StartError> {
    let name = file.display().to_string();
    let opened = std::fs::File::open(file).map_err(|error| format!("{name}: {error}"))?;
    let app = App::open(settings).await?;
    let mut lines = std::io::BufReader::new(opened);
    let (mut first, mut accepted, mut duplicates, mut rejected) = (1, 0, 0, 0);
    loop {
        let (part, count) = some_lines(&mut lines).map_err(|error| format!("{name}: {error}"))?;
        if count == 0 {
            break;
        }
        let answer = cdrs::import(&app, &part, first).await.map_err(|problem| {
            let cause = problem.cause().map(ToString::to_string);
            cause.or(problem.detail().map(str::to_owned)).unwrap_or_else(|| problem.code().title().to_owned())
        })?;
        for fault in &answer.rejected {
            say(&format!("line {}: {}", fault.line, fault.reason));
        }
        (accepted, duplicates) = (accepted + answer.accepted, duplicates + answer.duplicates);
        (first, rejected) = (first + count, rejected + answer.rejected.len());
    }
    let db = app.db.clone();
    db.tx(app, |conn, app| Box::pin(record(conn, app, "cdrs.import", None))).await?;
    say(&format!("Imported {accepted} calls; {duplicates} were known already, {rejected} lines were refused."));
    Ok(())
}

/// The next lines of a file, and how many they are.
fn some_lines(file: &mut impl std::io::BufRead) -> std::io::Result<(Vec<u8>, usize)> {
    let (mut part, mut count) = (Vec::new(), 0);
    while count < cdrs::MAX_IMPORT_LINES && file.read_until(b'\n', &mut part)? > 0 {
        count += 1;
    }
    Ok((part, count))
}

pub async fn verify_cdrs(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    match db.snapshot((), |conn, ()| Box::pin(cdrs::verify(conn))).await? {
        Ok(cdrs::Verified { cdrs: records, live_calls }) => {
            say(&format!("The records hold: {records} calls, and {live_calls} that go on."));
        }
        Err(fault) => return Err(format!("the records are wrong: {fault}").into()),
    }
    Ok(())
}

/// The switch that these settings and places tell of. Its machine need not have secrets of its own.
fn edge_of(settings: &Settings, service: Option<String>, folder: PathBuf) -> Result<Edge, StartError> {
    let service = service.unwrap_or_else(|| format!("http://{}", settings.ops_listen));
    Ok(Edge::new(&service, switch_secret(settings)?, folder)?)
}

/// What a switch shows to be let in: the secret of the settings, or the one in the data folder.
fn switch_secret(settings: &Settings) -> Result<String, StartError> {
    let kept = settings.data_dir.join("secrets/switch");
    let secret = match &settings.secrets.switch {
        Some(secret) => secret.clone(),
        None => std::fs::read_to_string(&kept)
            .map_err(|error| format!("there is no TRUNKLINE_SWITCH_SECRET, and {}: {error}", kept.display()))?,
    };
    Ok(secret.trim().to_owned())
}

/// Writes a switch's files once.
pub async fn render_switch(settings: Settings, service: Option<String>, folder: PathBuf) -> Result<(), StartError> {
    match edge_of(&settings, service, folder)?.render().await?.as_slice() {
        [] => say("Nothing has changed."),
        written => say(&format!("Wrote {}.", written.join(" and "))),
    }
    Ok(())
}

/// Keeps a switch's files in step until it is told to stop.
pub async fn sync_switch(
    settings: Settings,
    service: Option<String>,
    folder: PathBuf,
    control: &str,
) -> Result<(), StartError> {
    start_log(&settings)?;
    let mut edge = edge_of(&settings, service, folder)?;
    let mut turns = tokio::time::interval(edge::POLL);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut stop = std::pin::pin!(stop_signal());
    loop {
        tokio::select! {
            stopped = &mut stop => return Ok(stopped?),
            _ = turns.tick() => {}
        }
        match edge.sync(control).await {
            Ok(written) if written.is_empty() => {}
            Ok(written) => tracing::info!(?written, "the switch's files have changed"),
            Err(error) => tracing::warn!(%error, "the switch's files stay as they are"),
        }
    }
}

/// How often calls that go on are looked at.
const BEAT: Duration = Duration::from_secs(1);

/// Fills an empty database, and then lets so many calls begin in a minute if wished.
pub async fn demo(settings: Settings, options: Options, calls_per_minute: Option<u32>) -> Result<(), StartError> {
    let seed = options.seed;
    if calls_per_minute.is_none() || demo::is_empty(&settings).await? {
        let (days, password) = (options.days, options.password.clone());
        let tell = |day: u32| match day {
            0 => say(&format!("Living through the last {days} days ...")),
            day if day.is_multiple_of(10) => say(&format!("  day {day} of {days}")),
            _ => {}
        };
        tell_filled(&demo::fill(settings.clone(), &options, tell).await?, &password);
    }
    match calls_per_minute {
        Some(calls) => keep_calling(settings, calls, seed).await,
        None => Ok(()),
    }
}

fn tell_filled(filled: &Filled, password: &str) {
    say(&format!("Done: {} calls. Everybody signs in with the password \"{password}\":", filled.calls));
    say(&format!("  {:<32} the carrier's admin", filled.admin));
    for (email, word) in &filled.customers {
        say(&format!("  {email:<32} {word}"));
    }
    let (email, link) = &filled.support;
    say(&format!("{email} of the support team has no password yet, but a link that works once:"));
    say(&format!("  {link}"));
}

/// Places calls through the running service until it is told to stop.
async fn keep_calling(settings: Settings, calls_per_minute: u32, seed: u64) -> Result<(), StartError> {
    let service = format!("http://{}", settings.ops_listen);
    let mut live = Live::new(&service, switch_secret(&settings)?, calls_per_minute, seed)?;
    say(&format!("Calling through {service} until interrupted; start the service if it does not run."));
    let mut turns = tokio::time::interval(BEAT);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut stop, clock) = (std::pin::pin!(stop_signal()), Clock::system());
    let mut was_away = false;
    loop {
        tokio::select! {
            stopped = &mut stop => return Ok(stopped?),
            _ = turns.tick() => {}
        }
        match live.turn(clock.now()).await {
            Ok(turn) if turn.begun + turn.refused + turn.ended > 0 => {
                let Turn { begun, refused, ended, going_on } = turn;
                say(&format!("{begun} begun, {refused} refused, {ended} ended, {going_on} going on"));
                was_away = false;
            }
            Ok(_) => was_away = false,
            Err(error) if !was_away => {
                say(&format!("The service does not answer ({error}); waiting for it."));
                was_away = true;
            }
            Err(_) => {}
        }
    }
}

pub fn print_openapi() -> Result<(), StartError> {
    say(&serde_json::to_string_pretty(&openapi::describe(&routes::table()))?);
    Ok(())
}
