//! Rotation of the master secret: seals everything with the new one, and retires the old one.
//!
//! A node that starts with the old secret as `TRUNKLINE_MASTER_SECRET_PREVIOUS` begins the rotation and enqueues the job.
//! Other nodes may still seal with the old secret, so only `trunkline secrets rotate`, run when all of them have the new
//! one, makes a last pass and ends the rotation. What is sealed and
//! neither in [`SEALED`] nor a file would be lost.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::webhook_endpoints;
use api::idempotency;
use db::{Conn, Db, DbError};
use identity::{sessions, two_factor};
use platform::app::{App, StartError, rotation};
use platform::audit::{self, Entry};
use platform::crypto::keys::Keys;
use platform::crypto::resealed::Resealed;
use platform::jobs::{JobContext, JobError};
use platform::mail;

/// Seals the data of one feature.
type Reseal = for<'d> fn(&'d Db, &'d Keys) -> BoxFuture<'d, Result<Resealed, DbError>>;

/// Everything in the database that is sealed with keys of the master secret and outlives a request.
const SEALED: [(&str, Reseal); 5] = [
    ("TOTP seeds", |db, keys| Box::pin(two_factor::reseal(db, keys))),
    ("stored responses", |db, keys| Box::pin(idempotency::reseal(db, keys))),
    ("webhook secrets", |db, keys| Box::pin(webhook_endpoints::reseal(db, keys))),
    ("queued mail", |db, keys| Box::pin(mail::reseal(db, keys, mail::SEND))),
    ("queued password links", |db, keys| Box::pin(mail::reseal(db, keys, sessions::FORGOT_PASSWORD))),
];

/// The job that seals everything with the current master secret.
pub async fn reseal_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    reseal_all(&context.app, |what, Resealed { checked, resealed, unreadable }| {
        tracing::info!(what, checked, resealed, unreadable, "sealed with the new master secret");
    })
    .await?;
    Ok(())
}

async fn reseal_all(app: &App, mut progress: impl FnMut(&'static str, Resealed)) -> Result<(), DbError> {
    for (what, reseal) in SEALED {
        let resealed = reseal(&app.db, &app.keys).await?;
        progress(what, resealed);
    }
    progress("files", app.files.reseal().await.map_err(DbError::other)?);
    Ok(())
}

/// Seals what is left with the current master secret and ends the rotation.
pub async fn rotate(app: &App, mut progress: impl FnMut(&'static str, Resealed)) -> Result<(), StartError> {
    if !rotation::is_rotating(&mut *app.db.read().await?).await? {
        return Err(
            "the master secret is not being rotated: set the new one as TRUNKLINE_MASTER_SECRET and the old one \
             as TRUNKLINE_MASTER_SECRET_PREVIOUS"
                .into(),
        );
    }
    let mut unreadable = 0;
    reseal_all(app, |what, resealed| {
        unreadable += resealed.unreadable;
        progress(what, resealed);
    })
    .await?;
    if unreadable > 0 {
        tracing::warn!(unreadable, "sealed data that neither master secret opens was left as it is");
    }
    if app.db.tx(app.clone(), |conn, app| Box::pin(finish(conn, app))).await? {
        return Ok(());
    }
    Err("this is not the new master secret: set the new one as TRUNKLINE_MASTER_SECRET".into())
}

async fn finish(conn: &mut Conn, app: &App) -> Result<bool, DbError> {
    if !rotation::finish(conn, &app.keys).await? {
        return Ok(false);
    }
    audit::append(conn, &app.keys, &Entry::by_system("secrets.rotate", None, [("by", "console")])).await?;
    Ok(true)
}
