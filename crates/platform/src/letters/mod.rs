//! Letters: mail that follows from a change.
//!
//! A feature builds one of the `mails` and [`send`]s it. The words are templates in `server/mail/`, a text and an HTML
//! body for each mail; they are compiled in, so a template that asks for what its mail does not carry does not build.
//! Text that people wrote is escaped wherever HTML is made.
//!
//! A letter is a job, enqueued with the change and sent after it committed. It waits sealed, since it may carry a link
//! that opens an account. Its id is the job's, so a letter sent twice is recognisably one letter.

mod addressee;
mod fold;
mod list;
mod mails;
mod moment;
mod preview;
#[cfg(test)]
mod tests;

pub use addressee::Addressee;
pub use mails::*;
pub use moment::Moment;
pub use preview::preview;

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::App;
use crate::config::Settings;
use crate::crypto::keys::Purpose;
use crate::jobs::{JobContext, JobError, Kind, NewJob, enqueue};
use crate::outside::mail::{Letter, sender_name};
use db::{Conn, DbError};
use values::{Email, Time};

/// Mail servers may be away for a day; backing off, as many tries span more than that.
pub const SEND: Kind = Kind::new("letter.send").attempts(60);

/// What every letter says about its sender.
pub struct Letterhead {
    /// What the reader knows the service by.
    pub product: String,
    /// Where every link leads.
    pub public_url: String,
}

impl Letterhead {
    pub fn new(settings: &Settings) -> Letterhead {
        let product = sender_name(&settings.mail_from).unwrap_or_else(|| "Trunkline".to_owned());
        Letterhead { product, public_url: settings.public_url() }
    }
}

/// A mail in words: what `mails!` makes of each entry in the list.
pub trait Mail {
    fn subject(&self, head: &Letterhead) -> String;
    fn html(&self, head: &Letterhead, to: &Addressee, subject: &str) -> askama::Result<String>;
    fn text(&self, head: &Letterhead, to: &Addressee, subject: &str) -> askama::Result<String>;
}

/// What a letter says.
#[derive(Serialize, Deserialize)]
struct Draft {
    to: Email,
    subject: String,
    text: String,
    html: String,
}

impl Draft {
    fn new(mail: &impl Mail, head: &Letterhead, to: &Addressee) -> askama::Result<Draft> {
        let subject = mail.subject(head);
        let text = fold::fold(&mail.text(head, to, &subject)?);
        let html = mail.html(head, to, &subject)?;
        Ok(Draft { to: to.email.clone(), subject, text, html })
    }
}

/// Puts a letter in the queue, in the transaction of what it tells of.
pub async fn send(conn: &mut Conn, app: &App, to: &Addressee, mail: &impl Mail, now: Time) -> Result<(), DbError> {
    let draft = Draft::new(mail, &Letterhead::new(&app.settings), to).map_err(DbError::other)?;
    let plain = serde_json::to_vec(&draft).map_err(DbError::other)?;
    let sealed = BASE64.encode(&app.keys.seal(Purpose::Mail, &plain));
    enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: SEND, payload: json!({"sealed": sealed}), run_at: now })
        .await
}

fn unseal(app: &App, payload: &Value) -> Option<Draft> {
    let sealed = BASE64.decode(payload["sealed"].as_str()?.as_bytes()).ok()?;
    serde_json::from_slice(&app.keys.open(Purpose::Mail, &sealed)?).ok()
}

pub async fn send_job(context: JobContext<App>, payload: Value) -> Result<(), JobError> {
    let draft =
        unseal(&context.app, &payload).ok_or_else(|| JobError::Permanent("the letter cannot be opened".into()))?;
    let Draft { to, subject, text, html } = draft;
    let letter = Letter { id: context.job.id, to: to.to_string(), subject, text, html };
    context.app.mailer.deliver(&letter, context.clock.now()).await.map_err(|error| {
        if error.is_permanent() { JobError::Permanent(error.to_string()) } else { JobError::Failed(error.to_string()) }
    })
}
