//! What happens to an intake, whoever asks for it: opened, filled, moved, shown.
//!
//! Every change holds the intake first, so that two of them never see the same state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::letters;
use super::rules::{self, DOCUMENTS_AT_MOST, Move};
use super::store::{self, DocumentRow, IntakeRow};
use super::types::{DocumentForm, DocumentStatus, IntakeStatus, Purpose};
use crate::downloads;
use crate::onboarding::{self, Event, happened};
use api::answer::Created;
use api::context::{Committed, RequestCtx, Tx};
use api::problem::{InvalidParam, Problem};
use api::upload::Upload;
use db::{Conn, DbError};
use platform::app::App;
use platform::jobs::{self, Kind, NewJob};
use platform::outside::download::plain_name;
use platform::outside::sniff::sniff;
use values::{AccountId, DocKind, IntakeDocumentId, IntakeId, Time, Words};

/// Opens the intake of a number order that needs documents.
pub async fn open_regulatory(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    related_resource: Uuid,
    required_docs: &[DocKind],
    now: Time,
) -> Result<IntakeId, DbError> {
    let intake = draft(app, account, Purpose::RegulatoryDid, Some(related_resource), required_docs, now);
    store::insert(conn, &intake).await?;
    Ok(intake.id)
}

/// The account's business verification, opened if there is none or the last was rejected.
pub async fn kyb_of(ctx: &RequestCtx, account: AccountId) -> Result<IntakeRow, Problem> {
    let latest = store::latest_kyb(&mut *ctx.app.db.read().await?, account).await?;
    match latest {
        Some(intake) if intake.status != IntakeStatus::Rejected => return Ok(intake),
        // Who may only read sees what there is.
        latest if ctx.principal()?.read_only => return latest.ok_or_else(Problem::not_found),
        _ => {}
    }
    let work = (ctx.clone(), account);
    ctx.app.db.tx(work, |conn, (ctx, account)| Box::pin(open_kyb(conn, ctx, *account))).await
}

async fn open_kyb(conn: &mut Conn, ctx: &RequestCtx, account: AccountId) -> Result<IntakeRow, Problem> {
    let intake = draft(&ctx.app, account, Purpose::Kyb, None, &ctx.app.settings.kyb_required_docs, ctx.now);
    if store::insert(conn, &intake).await? {
        happened(conn, account, Event::KybOpened, ctx.now).await?;
        ctx.record(conn, "kyb.open").await?;
    }
    // Somebody may have opened one a moment ago.
    store::latest_kyb(conn, account).await?.ok_or_else(Problem::not_found)
}

fn draft(
    app: &App,
    account_id: AccountId,
    purpose: Purpose,
    related_resource_id: Option<Uuid>,
    required_docs: &[DocKind],
    now: Time,
) -> IntakeRow {
    IntakeRow {
        id: IntakeId::new(app.entropy.uuid(now)),
        account_id,
        purpose,
        status: IntakeStatus::Draft,
        related_resource_id,
        required_docs: Words(required_docs.to_vec()),
        reviewer_note: None,
        submitted_at: None,
        reviewed_at: None,
        created_at: now,
        updated_at: now,
    }
}

/// The intake, if it is this account's.
pub fn owned(intake: Option<IntakeRow>, account: AccountId) -> Result<IntakeRow, Problem> {
    intake.filter(|intake| intake.account_id == account).ok_or_else(Problem::not_found)
}

/// Takes a document in: looked at, stored for good, and only then a row.
pub async fn take_in<T: Serialize + JsonSchema + Send + 'static>(
    ctx: RequestCtx,
    intake: IntakeId,
    upload: Upload<DocumentForm>,
    show: fn(DocumentRow) -> T,
) -> Result<Committed<Created<T>>, Problem> {
    let account = ctx.principal()?.account_id;
    let document = examine(&ctx, intake, &upload).await?;
    // Asked before the file is kept, so that a refusal leaves nothing behind; asked again in the transaction.
    let mut reader = ctx.app.db.read().await?;
    let found = store::find(&mut reader, intake).await?;
    admit(&mut reader, account, &document, found).await?;
    drop(reader);
    upload.file.keep().await?;
    ctx.audit_note("intake", intake.to_string());
    ctx.audit_note("document", document.id.to_string());
    ctx.commit((account, document, show), |tx, (account, document, show)| {
        Box::pin(async move {
            let now = tx.ctx.now;
            let intake = store::find_to_change(tx, document.intake_id).await?;
            admit(tx, *account, document, intake).await?;
            store::insert_document(tx, document).await?;
            store::touch(tx, document.intake_id, now).await?;
            Ok(Created(show(document.clone())))
        })
    })
    .await
}

/// The row of an upload, if its file is one we take.
async fn examine(ctx: &RequestCtx, intake_id: IntakeId, upload: &Upload<DocumentForm>) -> Result<DocumentRow, Problem> {
    let content = upload.file.content().await?;
    let file_type = sniff(content).await.map_err(Problem::internal)?;
    let file_type = file_type.map_err(|refusal| Problem::invalid("file", refusal.to_string()))?;
    let stored = upload.file.stored_as();
    Ok(DocumentRow {
        id: IntakeDocumentId::new(ctx.app.entropy.uuid(ctx.now)),
        intake_id,
        kind: upload.fields.doc_kind.clone(),
        file_name: plain_name(&upload.file_name),
        content_type: file_type.content_type().to_owned(),
        size_bytes: i64::try_from(stored.size_bytes).map_err(Problem::internal)?,
        content_hash: stored.hash,
        status: DocumentStatus::Pending,
        reject_reason: None,
        uploaded_at: ctx.now,
    })
}

/// Whether this account may add this document to this intake.
async fn admit(
    conn: &mut Conn,
    account: AccountId,
    document: &DocumentRow,
    intake: Option<IntakeRow>,
) -> Result<(), Problem> {
    let intake = owned(intake, account)?;
    onboarding::must_be_active(conn, account).await?;
    rules::admit_documents(intake.status).map_err(refused)?;
    if !rules::takes(intake.purpose, &intake.required_docs.0, &document.kind) {
        return Err(Problem::invalid("doc_kind", "is not a kind of document that this intake takes"));
    }
    if store::documents(conn, intake.id).await?.len() >= DOCUMENTS_AT_MOST {
        let full = format!("The intake holds {DOCUMENTS_AT_MOST} documents already; remove one first.");
        return Err(Problem::state_conflict(full));
    }
    Ok(())
}

/// Takes a document of an intake that is held away again. Its file goes with the next sweep, unless another row names it.
pub async fn remove(tx: &mut Tx<'_>, intake: &IntakeRow, document: IntakeDocumentId) -> Result<(), Problem> {
    let now = tx.ctx.now;
    onboarding::must_be_active(tx, intake.account_id).await?;
    rules::admit_documents(intake.status).map_err(refused)?;
    // Whoever held the intake before us may have taken the document away.
    if !store::delete_document(tx, intake.id, document).await? {
        return Err(Problem::not_found());
    }
    store::touch(tx, intake.id, now).await?;
    Ok(())
}

/// Hands an intake in, if nothing is missing.
pub async fn submit(tx: &mut Tx<'_>, account: AccountId, intake: IntakeId) -> Result<IntakeRow, Problem> {
    let now = tx.ctx.now;
    let mut intake = owned(store::find_to_change(tx, intake).await?, account)?;
    onboarding::must_be_active(tx, account).await?;
    let status = rules::apply(intake.status, Move::Submit).map_err(refused)?;
    let missing = missing(tx, &intake).await?.into_iter();
    let missing: Vec<InvalidParam> =
        missing.map(|kind| InvalidParam { name: kind.to_string(), reason: "has no document yet".to_owned() }).collect();
    if !missing.is_empty() {
        return Err(Problem::validation(missing));
    }
    intake.status = status;
    intake.submitted_at = Some(now);
    intake.updated_at = now;
    store::update(tx, &intake).await?;
    follow_up(tx, &intake, Move::Submit).await?;
    Ok(intake)
}

/// The kinds of document that are asked for and of which none stands.
async fn missing(conn: &mut Conn, intake: &IntakeRow) -> Result<Vec<DocKind>, DbError> {
    let uploaded = intake.uploaded(&store::documents(conn, intake.id).await?);
    Ok(intake.required_docs.0.iter().filter(|kind| !uploaded.contains(kind)).cloned().collect())
}

/// Refuses to approve what the team itself has found wanting.
async fn admit_approval(conn: &mut Conn, intake: &IntakeRow) -> Result<(), Problem> {
    let missing: Vec<String> = missing(conn, intake).await?.iter().map(DocKind::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Problem::state_conflict(format!(
        "Every document was rejected that was handed in as {}; accept one, ask for more, or reject the whole.",
        missing.join(", ")
    )))
}

/// Moves an intake as the team decides, with a note to the customer.
pub async fn decide(
    tx: &mut Tx<'_>,
    mut intake: IntakeRow,
    step: Move,
    note: Option<&str>,
) -> Result<IntakeRow, Problem> {
    let now = tx.ctx.now;
    intake.status = rules::apply(intake.status, step).map_err(refused)?;
    if step == Move::Approve {
        admit_approval(tx, &intake).await?;
    }
    intake.updated_at = now;
    if step != Move::Review {
        intake.reviewer_note = note.map(str::to_owned);
    }
    if matches!(step, Move::Approve | Move::Reject) {
        intake.reviewed_at = Some(now);
    }
    store::update(tx, &intake).await?;
    follow_up(tx, &intake, step).await?;
    Ok(intake)
}

/// What a move means to what the intake was opened for, and to the customer.
async fn follow_up(tx: &mut Tx<'_>, intake: &IntakeRow, step: Move) -> Result<(), Problem> {
    let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
    match intake.purpose {
        Purpose::Kyb => {
            if let Some(event) = account_event(step) {
                happened(tx, intake.account_id, event, now).await?;
            }
        }
        // The account itself is not concerned, but the order that opened the intake.
        Purpose::RegulatoryDid => tell_order(tx, &app, intake, step, now).await?,
    }
    let customer = onboarding::prospect(tx, intake.account_id).await?.ok_or_else(Problem::not_found)?;
    Ok(letters::decided(tx, &app, &customer, intake, step, now).await?)
}

/// A number order was waiting for what became of an intake, and hears of it from a job: `{intake_id, approved, note}`.
pub const DECIDED: Kind = Kind::new("compliance.decided");

/// What became of the intake of a number order.
#[derive(Serialize, Deserialize)]
pub struct Decided {
    pub intake_id: IntakeId,
    pub approved: bool,
    pub note: Option<String>,
}

async fn tell_order(conn: &mut Conn, app: &App, intake: &IntakeRow, step: Move, now: Time) -> Result<(), DbError> {
    if !matches!(step, Move::Approve | Move::Reject) {
        return Ok(());
    }
    let (approved, note) = (step == Move::Approve, intake.reviewer_note.clone());
    let decided = Decided { intake_id: intake.id, approved, note };
    let payload = serde_json::to_value(decided).map_err(DbError::other)?;
    jobs::enqueue(conn, &NewJob { id: app.entropy.uuid(now), kind: DECIDED, payload, run_at: now }).await
}

/// Closes an intake that nobody needs any more, whoever has it.
pub async fn close(conn: &mut Conn, id: IntakeId, note: &str, now: Time) -> Result<(), DbError> {
    let Some(mut intake) = store::find_to_change(conn, id).await? else { return Ok(()) };
    if matches!(intake.status, IntakeStatus::Approved | IntakeStatus::Rejected) {
        return Ok(());
    }
    intake.status = IntakeStatus::Rejected;
    intake.reviewer_note = Some(note.to_owned());
    intake.reviewed_at = Some(now);
    intake.updated_at = now;
    store::update(conn, &intake).await
}

/// What happens to an account when its business verification moves.
fn account_event(step: Move) -> Option<Event> {
    match step {
        Move::Submit => Some(Event::KybSubmitted),
        Move::Review => None,
        Move::Approve => Some(Event::KybApproved),
        // To the account both are the same: documents are asked for again.
        Move::Reject | Move::RequestMore => Some(Event::KybRejected),
    }
}

pub fn refused(refusal: rules::Refusal) -> Problem {
    Problem::state_conflict(refusal.to_string())
}

/// Where a document can be fetched for a while.
pub fn download_url(app: &App, document: &DocumentRow, now: Time) -> String {
    let DocumentRow { content_hash, file_name, content_type, .. } = document;
    downloads::link(app, *content_hash, file_name, content_type, now)
}
