//! Letters: mail that follows from a change.
//!
//! A letter is a job, enqueued with the change and sent after it committed. It waits sealed, since it may carry a link
//! that opens an account. Its id is the job's, so a letter sent twice is recognisably one letter.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::db::{Conn, DbError};
use crate::jobs::{JobContext, JobError, Kind, NewJob, enqueue};
use crate::keys::Purpose;
use crate::outside::mail::Letter;
use crate::values::{Email, Time};

/// Mail servers may be away for a day; backing off, twenty tries span more than that.
pub const SEND: Kind = Kind::new("letter.send").attempts(20);

/// What a letter says.
#[derive(Serialize, Deserialize)]
pub struct Draft {
    pub to: Email,
    pub subject: String,
    pub text: String,
}

/// Puts a letter in the queue, in the transaction of what it tells of.
pub async fn send(conn: &mut Conn, app: &App, draft: &Draft, now: Time) -> Result<(), DbError> {
    let plain = serde_json::to_vec(draft).map_err(DbError::other)?;
    let sealed = BASE64.encode(&app.keys.seal(Purpose::Letter, &plain));
    enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: SEND, payload: json!({"sealed": sealed}), run_at: now })
        .await
}

fn unseal(app: &App, payload: &Value) -> Option<Draft> {
    let sealed = BASE64.decode(payload["sealed"].as_str()?.as_bytes()).ok()?;
    serde_json::from_slice(&app.keys.open(Purpose::Letter, &sealed)?).ok()
}

pub async fn send_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let draft =
        unseal(&context.app, &payload).ok_or_else(|| JobError::Hopeless("the letter cannot be opened".into()))?;
    let Draft { to, subject, text } = draft;
    let letter = Letter { id: context.job.id, to: to.to_string(), subject, text };
    context.app.mailer.deliver(&letter, context.clock.now()).await.map_err(|error| {
        if error.is_permanent() { JobError::Hopeless(error.to_string()) } else { JobError::Failed(error.to_string()) }
    })
}
