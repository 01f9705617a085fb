//! The job that reads the deck mailbox: each unseen message is judged, recorded with its imports in one transaction, and
//! then marked as seen.
//!
//! A message that could not be marked is found by its key the next time, and repeats nothing. One that was refused can be
//! marked as unseen in the mailbox: it is judged again, and is accepted if the policy has changed meanwhile.

use std::time::Duration;

use futures_util::stream;
use serde_json::Value;

use super::message::Mail;
use super::rules::{Verdict, judge};
use super::store::{self, MailRow, NewFile};
use super::types::{DeckMailId, DeckMailOutcome};
use crate::upstreams;
use crate::upstreams::decks::pull::receive_file;
use crate::upstreams::decks::store::{self as imports, ImportRow};
use crate::upstreams::decks::{MAX_PENDING_IMPORTS, estimated_rows, queue};
use db::{Conn, DbError, Entropy};
use platform::app::App;
use platform::audit::{self, Outcome};
use platform::jobs::{Class, JobContext, JobError, Kind};
use platform::outside::files::FilesError;
use platform::outside::mailbox::{Mailbox, MailboxError, RawMessage};

pub const POLL: Kind = Kind::new("decks.read_mail").class(Class::Outside);

/// Messages of one run. The others wait for the next.
const MAX_MESSAGES: usize = 50;

/// Why the mailbox could not be read to its end.
enum PollError {
    /// The mailbox or the file store failed, in words for the team.
    Outside(String),
    Db(DbError),
}

impl From<MailboxError> for PollError {
    fn from(error: MailboxError) -> Self {
        PollError::Outside(error.to_string())
    }
}

impl From<FilesError> for PollError {
    fn from(error: FilesError) -> Self {
        PollError::Outside(error.to_string())
    }
}

impl From<DbError> for PollError {
    fn from(error: DbError) -> Self {
        PollError::Db(error)
    }
}

/// Reads the mailbox if that is due. A mailbox that fails is no failed job: the next run tries again, and the team sees
/// it in its inbox.
pub async fn poll_job(context: JobContext<App>, _: Value) -> Result<(), JobError> {
    let app = &context.app;
    let (Some(mailbox), Some(settings)) = (&app.deck_mailbox, &app.settings.deck_mail) else { return Ok(()) };
    let is_due =
        context.db.tx(settings.interval, |conn, interval| Box::pin(store::begin_poll(conn, *interval))).await?;
    if !is_due {
        return Ok(());
    }
    let failure = match read(app, mailbox).await {
        Ok(()) => None,
        Err(PollError::Outside(reason)) => Some(reason),
        Err(PollError::Db(error)) => return Err(error.into()),
    };
    if let Some(reason) = &failure {
        tracing::warn!(reason, "the deck mailbox cannot be read");
    }
    context.db.tx(failure, |conn, failure| Box::pin(store::end_poll(conn, failure.as_deref()))).await?;
    Ok(())
}

async fn read(app: &App, mailbox: &Mailbox) -> Result<(), PollError> {
    let mut session = mailbox.open().await?;
    for name in session.unseen(MAX_MESSAGES).await? {
        let Some(raw) = session.fetch(&name).await? else { continue };
        if receive(app, raw).await? {
            session.mark_seen(&name).await?;
        }
    }
    session.close().await;
    Ok(())
}

/// A message that was judged, with the decks to import.
struct ReceivedMail {
    app: App,
    row: MailRow,
    verdict: Verdict,
    files: Vec<NewFile>,
}

/// Handles a message. False if it has to wait.
async fn receive(app: &App, raw: RawMessage) -> Result<bool, PollError> {
    let mail = parse(raw).await;
    let policies = store::policies(&mut *app.db.read().await?).await?;
    let authserv = app.settings.deck_mail.as_ref().and_then(|settings| settings.authserv.as_deref());
    let verdict = judge(&mail, &policies, authserv);
    let files = store_decks(app, &mail, &verdict).await?;
    let received = ReceivedMail { app: app.clone(), row: row(app, mail, &verdict), verdict, files };
    Ok(app.db.tx(received, |conn, received| Box::pin(record(conn, received))).await?)
}

/// On a thread of its own: a message may be large. One that even breaks the parser is unreadable.
async fn parse(raw: RawMessage) -> Mail {
    let unreadable = Mail::unreadable(&raw);
    tokio::task::spawn_blocking(move || Mail::read(&raw)).await.unwrap_or(unreadable)
}

async fn store_decks(app: &App, mail: &Mail, verdict: &Verdict) -> Result<Vec<NewFile>, FilesError> {
    let mut files = Vec::with_capacity(verdict.decks.len());
    for sheet in verdict.decks.iter().filter_map(|position| mail.sheets.get(*position)) {
        let content = stream::iter([Ok::<_, std::io::Error>(sheet.content.clone())]);
        let (received, lines) = receive_file(&app.files, content).await?;
        let rows = estimated_rows(&received, lines).await?;
        let stored = received.store().await?;
        files.push(NewFile {
            content_hash: stored.hash,
            file_name: sheet.file_name.clone(),
            size_bytes: i64::try_from(stored.size_bytes).unwrap_or(i64::MAX),
            rows,
        });
    }
    Ok(files)
}

fn row(app: &App, mail: Mail, verdict: &Verdict) -> MailRow {
    let now = app.clock.now();
    MailRow {
        id: DeckMailId::new(Entropy.uuid(now)),
        message_key: mail.key,
        message_id: mail.message_id,
        sender: mail.sender,
        subject: mail.subject,
        size_bytes: i64::try_from(mail.size_bytes).unwrap_or(i64::MAX),
        upstream_id: verdict.upstream,
        outcome: verdict.outcome,
        reason: verdict.reason,
        sender_verified: verdict.sender_verified,
        created_at: now,
    }
}

/// Records a mail and queues its imports. False if too many imports are queued already.
async fn record(conn: &mut Conn, received: &ReceivedMail) -> Result<bool, DbError> {
    let ReceivedMail { app, row, verdict, files } = received;
    if let (DeckMailOutcome::Accepted, Some(upstream)) = (row.outcome, row.upstream_id) {
        let exists = upstreams::lock(conn, upstream).await?.is_some();
        let pending = imports::count_pending(conn, upstream).await?;
        if !exists || pending + files.len() as i64 > MAX_PENDING_IMPORTS {
            return Ok(false);
        }
    }
    let is_new = store::insert(conn, row).await?;
    let id = match (is_new, row.outcome) {
        (true, _) => row.id,
        (false, DeckMailOutcome::Accepted) => store::accept(conn, row).await?,
        (false, DeckMailOutcome::Ignored | DeckMailOutcome::Refused) => return Ok(true),
    };
    let imported = queue_imports(conn, id, row, verdict, files).await?;
    if is_new || !imported.is_empty() {
        audit::append(conn, &app.keys, &audit_entry(id, row, &imported)).await?;
    }
    Ok(true)
}

/// Queues the files that were not imported before, and returns the ids of their imports.
async fn queue_imports(
    conn: &mut Conn,
    mail: DeckMailId,
    row: &MailRow,
    verdict: &Verdict,
    files: &[NewFile],
) -> Result<Vec<String>, DbError> {
    let mut imported = Vec::new();
    // Imports run in the order of their times.
    let times = (0..).map(|place| row.created_at.plus(Duration::from_millis(place)));
    for (file, at) in files.iter().zip(times) {
        let Some(upstream) = row.upstream_id else { break };
        let import = ImportRow {
            content_hash: Some(file.content_hash),
            rows_total: file.rows,
            unverified_sender: verdict.is_held,
            ..ImportRow::queued(conn.new_id(), upstream, verdict.mode, false, at)
        };
        if store::insert_file(conn, (mail, row.message_key), import.id, file, at).await? {
            queue(conn, &import).await?;
            imported.push(import.id.to_string());
        }
    }
    Ok(imported)
}

fn audit_entry(id: DeckMailId, row: &MailRow, imported: &[String]) -> audit::Entry {
    let mut meta = vec![("deck_mail_id", Value::from(id.to_string()))];
    meta.extend(row.upstream_id.map(|upstream| ("upstream_id", upstream.to_string().into())));
    meta.extend(row.sender.as_ref().map(|sender| ("sender", sender.to_string().into())));
    meta.extend((!imported.is_empty()).then(|| ("import_ids", imported.to_vec().into())));
    audit::Entry {
        outcome: if row.outcome == DeckMailOutcome::Refused { Outcome::Failure } else { Outcome::Success },
        reason: row.reason.map(|reason| reason.as_str().to_owned()),
        ..audit::Entry::by_system("deck_mail.receive", None, meta)
    }
}
