//! The job that fills the database of a running service.
//!
//! It simulates in a folder of its own, with secrets of its own and without the rest of the installation; nobody sees that
//! database. Then it copies the rows. If the node dies before, nothing has happened, and the job begins again.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::simulation::{Service, Simulation};
use super::{DemoData, Options, Pending, Start, default_password, fixtures, import, isolated, simulate, store};
use backoffice::demo_data::{self, DemoDataCreate};
use db::DbError;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::crypto::secrets::ConfiguredSecrets;
use platform::jobs::{JobContext, JobError};

/// Below the data folder.
const FOLDER: &str = "demo-data";
const SEED: u64 = 1;
/// What is done when the simulation is over, and when the files are copied, in thousandths.
const SIMULATED: i64 = 900;
const FILES_COPIED: i64 = 930;
const MAX_MESSAGE_CHARS: usize = 500;

/// Why the work ended early.
#[derive(Debug)]
enum Interruption {
    /// The node stops. Another attempt follows.
    Stopping,
    /// Somebody signed up.
    CustomerCame,
}

impl std::fmt::Display for Interruption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Interruption::Stopping => "the node stops",
            Interruption::CustomerCame => import::CUSTOMER_CAME,
        })
    }
}

impl std::error::Error for Interruption {}

/// Fills the database of this service, which has no customers. `start` starts the one that is simulated.
pub async fn fill_running(context: JobContext<App>, payload: Value, start: Start) -> Result<(), JobError> {
    let wanted: DemoDataCreate =
        serde_json::from_value(payload).map_err(|error| JobError::Permanent(error.to_string()))?;
    let folder = context.app.settings.data_dir.join(FOLDER);
    let outcome = Box::pin(make(&context, wanted, start, &folder)).await;
    if let Err(error) = remove(&folder) {
        tracing::warn!(%error, folder = %folder.display(), "cannot delete the folder of the demo");
    }
    let Err(error) = outcome else { return Ok(()) };
    if let Some(error) = passing(&error) {
        return Err(error);
    }
    tracing::warn!(%error, "the demo data could not be made");
    let failure = (context.clone(), message(&error));
    let failed = context.db.tx(failure, |conn, (context, message)| {
        Box::pin(async move {
            demo_data::fail(conn, message).await?;
            context.finish_in(conn).await
        })
    });
    failed.await
}

/// The error of an attempt that another one may do better, or that another node makes.
fn passing(error: &StartError) -> Option<JobError> {
    let of_database = |error: &DbError| {
        let is_passing =
            matches!(error, DbError::Unavailable(_) | DbError::LockTimeout | DbError::Retry | DbError::DiskFull(_));
        is_passing.then(|| JobError::Failed(error.to_string()))
    };
    if let Some(Interruption::Stopping) = error.downcast_ref() {
        return Some(JobError::Failed(Interruption::Stopping.to_string()));
    }
    match error.downcast_ref() {
        Some(JobError::LeaseLost) => Some(JobError::LeaseLost),
        Some(JobError::Db(error)) => of_database(error),
        Some(_) => None,
        None => error.downcast_ref().and_then(of_database),
    }
}

/// Why it failed, for the team.
fn message(error: &StartError) -> String {
    let text = match error.downcast_ref() {
        Some(JobError::Db(DbError::Unique(name))) => {
            format!("The demo data collide with what is in the database ({name}).")
        }
        _ => error.to_string(),
    };
    text.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE_CHARS).collect()
}

async fn make(
    context: &JobContext<App>,
    wanted: DemoDataCreate,
    start: Start,
    folder: &Path,
) -> Result<(), StartError> {
    let app = &context.app;
    let taken = store::taken(&mut *app.db.read().await?).await?;
    let password = default_password(&app.settings);
    let options = Options { days: wanted.days(), calls: wanted.calls(), seed: SEED, password };
    remove(folder)?;
    let settings = apart(app.settings.clone(), folder)?;
    let report = report(app.clone(), options.days);
    let (sim, calls) = simulate(start, settings, &options, app.clock.clone(), taken, &*report).await?;
    let Simulation { service: Service { app: simulated, stop, .. }, .. } = sim;
    stop().await;
    let mut copy = import::read(&simulated).await?;
    import::reseal(&mut copy, &simulated.keys, &app.keys)?;
    import::copy_files(&copy, &simulated.files, &app.files).await?;
    tell(app, FILES_COPIED).await?;
    let message = DemoData::summary(calls, options.days, fixtures::COMPANIES.len());
    Ok(import::load(context, copy, options, message).await?)
}

/// Tells how far the simulation is. It ends if it is in vain, or the node stops.
fn report(app: App, days: u32) -> Arc<dyn Fn(u32) -> Pending<Result<(), StartError>> + Send + Sync> {
    Arc::new(move |day| {
        let (app, progress) = (app.clone(), SIMULATED * i64::from(day.min(days)) / i64::from(days.max(1)));
        Box::pin(async move { tell(&app, progress).await })
    })
}

async fn tell(app: &App, progress: i64) -> Result<(), StartError> {
    // The streams end when the node begins to stop.
    if *app.event_feed.closing().borrow() {
        return Err(Interruption::Stopping.into());
    }
    match app.db.tx(progress, |conn, progress| Box::pin(demo_data::report_progress(conn, *progress))).await? {
        true => Ok(()),
        false => Err(Interruption::CustomerCame.into()),
    }
}

/// Settings of a service that shares nothing with the installation: its own folder, database, files, secrets and ports.
fn apart(settings: Settings, folder: &Path) -> Result<Settings, StartError> {
    Ok(Settings {
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        ops_listen: (Ipv4Addr::LOCALHOST, 0).into(),
        data_dir: folder.to_owned(),
        manual_dir: None,
        database_url: None,
        read_replica: None,
        bucket: None,
        clamd: None,
        traces: None,
        secrets: ConfiguredSecrets::default(),
        ..isolated(settings)?
    })
}

/// Deletes the folder of an attempt, if there is one.
fn remove(folder: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
