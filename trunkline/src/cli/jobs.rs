//! Dead jobs: list them, and rerun them.

use uuid::Uuid;

use super::{Subject, audit_command, existing_database, print_line};
use db::DbError;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::jobs::{self, DeadJob};
use values::Rfc3339;

const PAGE_SIZE: u16 = 500;

/// Prints all dead jobs, newest first, without their payloads, which may be secret.
pub async fn list_dead_jobs(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    let (mut count, mut after) = (0, None);
    loop {
        let page = jobs::list_dead(&mut *db.read().await?, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        (count, after) = (count + page.len(), Some((last.dead_at, last.id)));
        page.iter().for_each(print_dead_job);
    }
    match count {
        0 => print_line("No dead jobs."),
        1 => print_line("1 dead job. Retry it with trunkline jobs rerun."),
        count => print_line(&format!("{count} dead jobs. Retry them with trunkline jobs rerun.")),
    }
    Ok(())
}

fn print_dead_job(job: &DeadJob) {
    let DeadJob { id, kind, attempts, last_error, dead_at, .. } = job;
    let reason = last_error.as_deref().unwrap_or("its node died");
    print_line(&format!("{id}  {}  {kind}, after {attempts} attempts: {reason}", Rfc3339(*dead_at)));
}

/// Which dead jobs to rerun.
pub enum JobSelection {
    Ids(Vec<Uuid>),
    Kind(String),
}

/// Gives dead jobs all their attempts again. If an id is unknown, no job is changed.
pub async fn rerun_jobs(settings: Settings, selection: JobSelection) -> Result<(), StartError> {
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let rerun = db.tx((app, selection), |conn, (app, selection)| {
        Box::pin(async move {
            let count = match selection {
                JobSelection::Kind(kind) => jobs::rerun_kind(conn, kind).await?,
                JobSelection::Ids(ids) => {
                    for id in ids {
                        if !jobs::rerun(conn, *id).await? {
                            return Err(RerunError::UnknownJob(*id));
                        }
                    }
                    ids.len() as u64
                }
            };
            if count > 0 {
                audit_command(conn, &app.keys, "jobs.rerun", Subject::Nobody).await?;
            }
            Ok(count)
        })
    });
    match rerun.await {
        Ok(0) => return Err("no dead job has this kind; trunkline jobs dead lists them all".into()),
        Ok(1) => print_line("1 job will be retried."),
        Ok(count) => print_line(&format!("{count} jobs will be retried.")),
        Err(RerunError::UnknownJob(id)) => return Err(format!("there is no dead job {id}; nothing was changed").into()),
        Err(RerunError::Db(error)) => return Err(error.into()),
    }
    Ok(())
}

enum RerunError {
    UnknownJob(Uuid),
    Db(DbError),
}

impl From<DbError> for RerunError {
    fn from(error: DbError) -> RerunError {
        RerunError::Db(error)
    }
}
