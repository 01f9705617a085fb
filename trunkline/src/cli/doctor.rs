//! `trunkline doctor`: checks what the service depends on, one line each. It changes nothing but the file that it writes
//! to the file store, which is deleted as an orphan. `trunkline ready` is one of its checks, for health checks.

use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{existing_database, print_line};
use backoffice::service;
use db::Db;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::disk;
use platform::edge::http_client;
use platform::http_error;
use platform::jobs;
use platform::outside::payments::Provider;
use server::demo;

/// For each request to another service.
const TIMEOUT: Duration = Duration::from_secs(10);
const SAMPLE: &[u8] = b"trunkline doctor\n";
/// An order that no provider has.
const NO_ORDER: &str = "00000000-0000-4000-8000-000000000000";

/// What a check found.
enum Finding {
    Good(String),
    /// Works, but deserves a look.
    Doubtful(String),
    Bad(String),
}

use Finding::{Bad, Doubtful, Good};

impl Finding {
    fn of(result: Result<String, impl std::fmt::Display>) -> Finding {
        result.map_or_else(|error| Bad(error.to_string()), Good)
    }
}

#[derive(Default)]
struct Checkup {
    failures: usize,
}

impl Checkup {
    fn note(&mut self, what: &str, finding: Finding) {
        let (verdict, text) = match finding {
            Good(text) => ("ok", text),
            Doubtful(text) => ("warn", text),
            Bad(text) => {
                self.failures += 1;
                ("FAIL", text)
            }
        };
        print_line(&format!("{verdict:4}  {what:10}  {text}"));
    }
}

/// Prints all findings; fails if one is bad.
pub async fn doctor(settings: Settings) -> Result<(), StartError> {
    let mut checkup = Checkup::default();
    checkup.note("settings", lab(&settings));
    checkup.note("clock", clock());
    checkup.note("disk", disk::find_full_of(&settings).map_or_else(|| Good("has room".into()), Bad));
    match existing_database(&settings).await {
        Err(error) => checkup.note("database", Bad(error.to_string())),
        Ok(db) => examine(&mut checkup, settings, db).await,
    }
    match checkup.failures {
        0 => Ok(()),
        1 => Err("1 check failed".into()),
        failures => Err(format!("{failures} checks failed").into()),
    }
}

/// Succeeds if the service on this machine is ready.
pub async fn ready(settings: &Settings) -> Result<(), StartError> {
    match service(settings).await {
        Good(text) => {
            print_line(&text);
            Ok(())
        }
        Doubtful(text) | Bad(text) => Err(text.into()),
    }
}

/// What needs the database.
async fn examine(checkup: &mut Checkup, settings: Settings, db: Db) {
    checkup.note("database", Finding::of(database(&db).await));
    if let Some(found) = replica(&db).await {
        checkup.note("replica", found);
    }
    checkup.note("service", service(&settings).await);
    checkup.note("jobs", jobs(&db).await.unwrap_or_else(|error| Bad(error.to_string())));
    checkup.note("edges", edges(&db).await.unwrap_or_else(|error| Bad(error.to_string())));
    drop(db);
    let app = match App::open(settings).await {
        Ok(app) => app,
        Err(error) => return checkup.note("start", Bad(error.to_string())),
    };
    checkup.note("files", Finding::of(files(&app).await.map(|()| "written and read back".to_owned())));
    checkup.note("mail", mail(&app).await);
    checkup.note("payments", payments(&app).await);
}

/// The standby of lists and reports, if there is one.
async fn replica(db: &Db) -> Option<Finding> {
    // Measures it.
    db.for_reports().await;
    let status = db.replica_status()?;
    Some(match status.lag {
        Some(lag) if status.is_current => Good(format!("{:.1} s behind", lag.as_secs_f64())),
        Some(lag) => Doubtful(format!("{:.0} s behind, so the primary answers lists and reports", lag.as_secs_f64())),
        None => Doubtful("away or no standby, so the primary answers lists and reports".to_owned()),
    })
}

fn lab(settings: &Settings) -> Finding {
    match settings.lab.is_lab {
        true => Doubtful("valid; this is a lab, without real customers".to_owned()),
        false => Good("valid".to_owned()),
    }
}

/// Tokens and one-time codes need a clock that is right.
fn clock() -> Finding {
    let asked = Command::new("timedatectl").args(["show", "--property=NTPSynchronized", "--value"]).output();
    match asked.ok().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).as_deref() {
        Some("yes") => Good("synchronised".to_owned()),
        Some("no") => Doubtful("not synchronised: tokens and one-time codes need the right time".to_owned()),
        _ => Doubtful("whether it is synchronised is not known: timedatectl does not say".to_owned()),
    }
}

async fn database(db: &Db) -> Result<String, StartError> {
    let (engine, version) = db.read().await?.engine_version().await?;
    Ok(format!("{engine} {version}, migrated"))
}

/// Whether the service on this machine is ready.
async fn service(settings: &Settings) -> Finding {
    let url = format!("{}/readyz", settings.ops_url());
    let client = match http_client(&settings.switch_tls, TIMEOUT) {
        Ok(client) => client,
        Err(error) => return Bad(error.to_string()),
    };
    match client.get(&url).send().await {
        Ok(response) if response.status().is_success() => Good(format!("ready at {url}")),
        Ok(response) => Bad(format!("{url} responds {}", response.status())),
        Err(error) if error.is_connect() => Doubtful(format!("does not run at {url}")),
        Err(error) => Bad(format!("{url}: {}", http_error::reason(error))),
    }
}

async fn jobs(db: &Db) -> Result<Finding, StartError> {
    let queue = jobs::queue_stats(&mut *db.read().await?).await?;
    let late = queue.classes.iter().filter(|class| class.lag > TIMEOUT * 6);
    let late: Vec<String> = late.map(|class| format!("{} is {} s behind", class.class, class.lag.as_secs())).collect();
    Ok(match (queue.dead, late.is_empty()) {
        (0, true) => Good("none is dead or late".to_owned()),
        (0, false) => Bad(late.join(", ")),
        (dead, _) => Doubtful(format!("{dead} are dead: see trunkline jobs dead")),
    })
}

async fn edges(db: &Db) -> Result<Finding, StartError> {
    let mut edges = service::edges_of_today(&mut *db.read().await?).await?;
    // It is there while `demo --live` runs, and nobody misses it afterwards.
    edges.retain(|(edge, _)| edge != demo::EDGE);
    let silent: Vec<&str> = edges.iter().filter(|(_, is_alive)| !is_alive).map(|(edge, _)| edge.as_str()).collect();
    Ok(match (edges.len(), silent.is_empty()) {
        (0, _) => Doubtful("none has called in a day".to_owned()),
        (count, true) => Good(format!("{count} alive")),
        (_, false) => Bad(format!("silent: {}", silent.join(", "))),
    })
}

async fn files(app: &App) -> Result<(), StartError> {
    let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(SAMPLE))]);
    let stored = app.files.put(body, SAMPLE.len() as u64).await?;
    let (_, mut content) = app.files.open_read(&stored.hash).await?.ok_or("what was written is not there")?;
    let mut read = Vec::new();
    while let Some(piece) = content.next().await {
        read.extend_from_slice(&piece?);
    }
    if read == SAMPLE { Ok(()) } else { Err("what was written reads differently".into()) }
}

async fn mail(app: &App) -> Finding {
    match app.mail.mailer.check().await {
        Err(error) => Bad(error.to_string()),
        Ok(()) if app.settings.mail == "file" => Doubtful("is written to the outbox folder, not sent".to_owned()),
        Ok(()) => Good("the server accepts our sign-in".to_owned()),
    }
}

async fn payments(app: &App) -> Finding {
    match app.payments.order(NO_ORDER).await {
        Err(error) => Bad(error.to_string()),
        Ok(_) if app.payments.provider() == Provider::Sandbox => Doubtful("sandbox: no money moves".to_owned()),
        Ok(_) => Good("the provider accepts our key".to_owned()),
    }
}
