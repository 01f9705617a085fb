//! Jobs that were given up: what they are, and another chance for them.

use uuid::Uuid;

use super::{existing_database, record, say};
use db::DbError;
use platform::app::{App, StartError};
use platform::config::Settings;
use platform::jobs::{self, DeadJob};
use values::Rfc3339;

/// Jobs read at once.
const PAGE: u16 = 500;

/// Prints the jobs that were given up, newest first. What a job is about may be secret and is not told.
pub async fn dead_jobs(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    let (mut count, mut after) = (0, None);
    loop {
        let page = jobs::list_dead(&mut *db.read().await?, after, PAGE).await?;
        let Some(last) = page.last() else { break };
        (count, after) = (count + page.len(), Some((last.dead_at, last.id)));
        page.iter().for_each(tell);
    }
    match count {
        0 => say("No job is dead."),
        1 => say("1 job is dead; trunkline jobs rerun gives it another chance."),
        count => say(&format!("{count} jobs are dead; trunkline jobs rerun gives them another chance.")),
    }
    Ok(())
}

fn tell(job: &DeadJob) {
    let DeadJob { id, kind, attempts, last_error, dead_at, .. } = job;
    let reason = last_error.as_deref().unwrap_or("its node died");
    say(&format!("{id}  {}  {kind}, after {attempts} attempts: {reason}", Rfc3339(*dead_at)));
}

/// Which jobs are to be tried again.
pub enum Revived {
    These(Vec<Uuid>),
    Kind(String),
}

/// Gives dead jobs all their attempts again: all that were named, or none.
pub async fn rerun_jobs(settings: Settings, wanted: Revived) -> Result<(), StartError> {
    existing_database(&settings).await?;
    let app = App::open(settings).await?;
    let db = app.db.clone();
    let revived = db.tx((app, wanted), |conn, (app, wanted)| {
        Box::pin(async move {
            let now = app.clock.now();
            let count = match wanted {
                Revived::Kind(kind) => jobs::rerun_kind(conn, kind, now).await?,
                Revived::These(ids) => {
                    for id in ids {
                        if !jobs::rerun(conn, *id, now).await? {
                            return Err(Refused::Unknown(*id));
                        }
                    }
                    ids.len() as u64
                }
            };
            if count > 0 {
                record(conn, app, "jobs.rerun", None).await?;
            }
            Ok(count)
        })
    });
    match revived.await {
        Ok(0) => return Err("no dead job is of this kind; trunkline jobs dead shows all".into()),
        Ok(1) => say("1 job is tried again."),
        Ok(count) => say(&format!("{count} jobs are tried again.")),
        Err(Refused::Unknown(id)) => return Err(format!("no dead job is {id}; nothing has changed").into()),
        Err(Refused::Failed(error)) => return Err(error.into()),
    }
    Ok(())
}

enum Refused {
    Unknown(Uuid),
    Failed(DbError),
}

impl From<DbError> for Refused {
    fn from(error: DbError) -> Refused {
        Refused::Failed(error)
    }
}
