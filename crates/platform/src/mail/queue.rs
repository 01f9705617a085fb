//! The mail queue: a mail is a job, enqueued in the transaction of the change it reports and sent after the commit.
//!
//! The payload is encrypted, since a mail may carry a link that signs its reader in. The job's id becomes the
//! Message-ID, so a mail that is sent twice can be recognised as one.

use bytes::Bytes;
use data_encoding::BASE64;
use futures_util::TryStreamExt;
use serde_json::{Value, json};
use uuid::Uuid;

use super::templates::{Attachment, Branding, MailTemplate, RenderedMail};
use super::{AttachedFile, Mailer, Message, Recipient};
use crate::crypto::keys::{Keys, Purpose, Reseal};
use crate::crypto::resealed::{BATCH, Resealed};
use crate::jobs::{self, Class, JobContext, JobError, Kind, enqueue};
use crate::outside::files::{ContentHash, Files};
use db::{Conn, Db, DbError};

/// With backoff, 60 attempts span more than a day: a mail server may be down for that long.
pub const SEND: Kind = Kind::new("letter.send").attempts(60).class(Class::Mail);

/// What it takes to render, enqueue and send mail.
pub struct MailQueue {
    pub branding: Branding,
    pub mailer: Mailer,
    pub keys: Keys,
    /// Where attachments are.
    pub files: Files,
}

/// The most that the attachments of a mail may have together. In Base64 they have a third more, and many mail servers
/// refuse more than 20 MB.
pub const MAX_ATTACHED_BYTES: u64 = 10 * 1024 * 1024;

/// Renders a mail and enqueues it. Call it in the transaction of the change that the mail reports.
pub async fn send(
    conn: &mut Conn,
    queue: &impl AsRef<MailQueue>,
    to: &Recipient,
    mail: &impl MailTemplate,
) -> Result<(), DbError> {
    send_with(conn, queue, to, mail, &[]).await
}

/// The same with stored files.
pub async fn send_with(
    conn: &mut Conn,
    queue: &impl AsRef<MailQueue>,
    to: &Recipient,
    mail: &impl MailTemplate,
    attachments: &[Attachment],
) -> Result<(), DbError> {
    let queue = queue.as_ref();
    let mut rendered = RenderedMail::new(mail, &queue.branding, to).map_err(DbError::other)?;
    rendered.attachments = attachments.to_vec();
    let plain = serde_json::to_vec(&rendered).map_err(DbError::other)?;
    let sealed = BASE64.encode(&queue.keys.seal(Purpose::Mail, &plain));
    enqueue(conn, SEND, json!({"sealed": sealed})).await.map(drop)
}

fn unseal(keys: &Keys, payload: &Value) -> Option<RenderedMail> {
    let sealed = BASE64.decode(payload["sealed"].as_str()?.as_bytes()).ok()?;
    serde_json::from_slice(&keys.open(Purpose::Mail, &sealed)?).ok()
}

/// The job [`SEND`]: delivers one mail.
pub async fn send_job<A: AsRef<MailQueue>>(context: JobContext<A>, payload: Value) -> Result<(), JobError> {
    let queue = context.app.as_ref();
    let rendered =
        unseal(&queue.keys, &payload).ok_or_else(|| JobError::Permanent("the mail cannot be decrypted".into()))?;
    let RenderedMail { to, subject, text, html, attachments } = rendered;
    let attachments = load_all(&queue.files, attachments).await?;
    let message = Message { id: context.job.id, to: to.to_string(), subject, text, html, attachments };
    queue.mailer.deliver(&message, context.clock.now()).await.map_err(|error| {
        if error.is_permanent() { JobError::Permanent(error.to_string()) } else { JobError::Failed(error.to_string()) }
    })
}

async fn load_all(files: &Files, attachments: Vec<Attachment>) -> Result<Vec<AttachedFile>, JobError> {
    let (mut loaded, mut left) = (Vec::with_capacity(attachments.len()), MAX_ATTACHED_BYTES);
    for attachment in attachments {
        let file = load(files, attachment, left).await?;
        left = left.saturating_sub(file.bytes.len() as u64);
        loaded.push(file);
    }
    Ok(loaded)
}

async fn load(files: &Files, attachment: Attachment, max_bytes: u64) -> Result<AttachedFile, JobError> {
    let failed = |error: &dyn std::fmt::Display| JobError::Failed(format!("the attachment cannot be read: {error}"));
    let Attachment { hash, file_name, content_type } = attachment;
    let hash = ContentHash::parse(&hash).ok_or_else(|| JobError::Permanent("the attachment has no hash".into()))?;
    let opened = files.open_read(&hash).await.map_err(|error| failed(&error))?;
    let (size, content) = opened.ok_or_else(|| JobError::Permanent("the attachment was deleted".into()))?;
    if size > max_bytes {
        return Err(JobError::Permanent("the attachments are too large".into()));
    }
    let pieces: Vec<Bytes> = content.try_collect().await.map_err(|error| failed(&error))?;
    Ok(AttachedFile { file_name, content_type, bytes: pieces.concat() })
}

/// Seals the payloads of queued jobs of this kind, which have one sealed member like those of [`SEND`], with the current
/// master secret.
pub async fn reseal(db: &Db, keys: &Keys, kind: Kind) -> Result<Resealed, DbError> {
    let (mut total, mut after) = (Resealed::default(), Uuid::nil());
    loop {
        let page = jobs::list_payloads(&mut *db.read().await?, kind.name, after, BATCH).await?;
        let Some((last, _)) = page.last() else { return Ok(total) };
        after = *last;
        for (id, payload) in page {
            total.checked += 1;
            match reseal_payload(keys, &payload) {
                None => total.unreadable += 1,
                Some(None) => {}
                Some(Some(new)) => {
                    let work = (id, payload, new);
                    let replaced = db
                        .tx(work, |conn, (id, old, new)| Box::pin(jobs::replace_payload(conn, *id, old, new)))
                        .await?;
                    total.resealed += u64::from(replaced);
                }
            }
        }
    }
}

/// The payload sealed again, if it has to be; nothing if it cannot be read.
fn reseal_payload(keys: &Keys, payload: &str) -> Option<Option<String>> {
    let payload: Value = serde_json::from_str(payload).ok()?;
    let sealed = BASE64.decode(payload["sealed"].as_str()?.as_bytes()).ok()?;
    match keys.reseal(Purpose::Mail, &sealed) {
        Reseal::Current => Some(None),
        Reseal::Resealed(new) => Some(Some(json!({"sealed": BASE64.encode(&new)}).to_string())),
        Reseal::Unreadable => None,
    }
}
