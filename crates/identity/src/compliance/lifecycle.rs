//! Lifecycle of an intake, for `customer`, `admin`, `kyb` and number orders: open, upload, submit, decide, close.
//!
//! Every change locks the intake first, so that two changes never start from the same state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::notify;
use super::rules::{self, Action, MAX_DOCUMENTS};
use super::store::{self, DocumentRow, IntakeRow};
use super::types::{DocumentForm, DocumentStatus, IntakeStatus, Purpose};
use crate::accounts;
use crate::downloads;
use crate::onboarding::{self, Event, apply_event};
use api::answer::Created;
use api::context::{Committed, RequestCtx, Tx};
use api::faults::Faults;
use api::problem::Problem;
use api::upload::Upload;
use db::{Conn, DbError, Entropy};
use platform::app::App;
use platform::jobs::{self, Class, Kind};
use platform::outside::download::plain_name;
use values::{AccountId, AccountRole, DocKind, IntakeDocumentId, IntakeId, Time, Words};

/// Opens the intake of a number order that needs documents.
pub async fn open_regulatory(
    conn: &mut Conn,
    account: AccountId,
    related_resource: Uuid,
    required_docs: &[DocKind],
) -> Result<IntakeId, DbError> {
    let now = conn.now();
    let intake = draft(account, Purpose::RegulatoryDid, Some(related_resource), required_docs, now);
    store::insert(conn, &intake).await?;
    Ok(intake.id)
}

/// The account's KYB intake; opened if there is none or the last was rejected.
pub async fn find_or_open_kyb(ctx: &RequestCtx, account: AccountId) -> Result<IntakeRow, Problem> {
    let latest = store::latest_kyb(&mut *ctx.app.db.read().await?, account).await?;
    match latest {
        Some(intake) if intake.status != IntakeStatus::Rejected => return Ok(intake),
        // Neither an impersonation token nor a user who may not submit it changes anything.
        latest if !may_open_kyb(ctx)? => return latest.ok_or_else(Problem::not_found),
        _ => {}
    }
    let work = (ctx.clone(), account);
    ctx.app.db.tx(work, |conn, (ctx, account)| Box::pin(open_kyb(conn, ctx, *account))).await
}

fn may_open_kyb(ctx: &RequestCtx) -> Result<bool, Problem> {
    let caller = ctx.principal()?;
    Ok(!caller.read_only && caller.account_role.covers(AccountRole::Owner))
}

async fn open_kyb(conn: &mut Conn, ctx: &RequestCtx, account: AccountId) -> Result<IntakeRow, Problem> {
    let intake = draft(account, Purpose::Kyb, None, &ctx.app.settings.kyb_required_docs, ctx.now);
    if store::insert(conn, &intake).await? {
        apply_event(conn, account, Event::KybOpened).await?;
        ctx.record(conn, "kyb.open").await?;
    }
    // A concurrent request may have opened it.
    store::latest_kyb(conn, account).await?.ok_or_else(Problem::not_found)
}

fn draft(
    account_id: AccountId,
    purpose: Purpose,
    related_resource_id: Option<Uuid>,
    required_docs: &[DocKind],
    now: Time,
) -> IntakeRow {
    IntakeRow {
        id: IntakeId::new(Entropy.uuid(now)),
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

/// The intake, if it belongs to this account.
pub fn own_intake(intake: Option<IntakeRow>, account: AccountId) -> Result<IntakeRow, Problem> {
    intake.filter(|intake| intake.account_id == account).ok_or_else(Problem::not_found)
}

/// Adds a document: the file is checked and stored before its row is inserted.
pub async fn upload_document<T: Serialize + JsonSchema + Send + 'static>(
    ctx: RequestCtx,
    intake: IntakeId,
    upload: Upload<DocumentForm>,
    show: fn(DocumentRow) -> T,
) -> Result<Committed<Created<T>>, Problem> {
    let account = ctx.principal()?.account_id;
    let document = document_row(&ctx, intake, &upload)?;
    // Checked before the file is stored, so that a refused upload leaves no file; checked again in the transaction.
    let mut reader = ctx.app.db.read().await?;
    let row = store::find(&mut reader, intake).await?;
    check_upload(&mut reader, account, &document, row).await?;
    drop(reader);
    upload.file.store().await?;
    ctx.audit_note("intake", intake.to_string());
    ctx.audit_note("document", document.id.to_string());
    ctx.commit((account, document, show), |tx, (account, document, show)| {
        Box::pin(async move {
            let intake = store::find_for_update(tx, document.intake_id).await?;
            check_upload(tx, *account, document, intake).await?;
            store::insert_document(tx, document).await?;
            store::touch(tx, document.intake_id).await?;
            Ok(Created(show(document.clone())))
        })
    })
    .await
}

fn document_row(ctx: &RequestCtx, intake_id: IntakeId, upload: &Upload<DocumentForm>) -> Result<DocumentRow, Problem> {
    let stored = upload.file.stored_as();
    Ok(DocumentRow {
        id: ctx.new_id(),
        intake_id,
        kind: upload.fields.doc_kind.clone(),
        file_name: plain_name(&upload.file_name),
        content_type: upload.file_type.content_type().to_owned(),
        size_bytes: i64::try_from(stored.size_bytes).map_err(Problem::internal)?,
        content_hash: stored.hash,
        status: DocumentStatus::Pending,
        reject_reason: None,
        uploaded_at: ctx.now,
    })
}

/// Checks that this account may add this document to this intake.
async fn check_upload(
    conn: &mut Conn,
    account: AccountId,
    document: &DocumentRow,
    intake: Option<IntakeRow>,
) -> Result<(), Problem> {
    let intake = own_intake(intake, account)?;
    onboarding::require_active(conn, account).await?;
    rules::check_editable(intake.status).map_err(conflict)?;
    let mut faults = Faults::default();
    let is_accepted = rules::accepts_kind(intake.purpose, &intake.required_docs.0, &document.kind);
    faults.unless(is_accepted, "doc_kind", "is not a kind of document that this intake accepts");
    faults.into_result()?;
    if store::documents(conn, intake.id).await?.len() >= MAX_DOCUMENTS {
        let full = format!("The intake has {MAX_DOCUMENTS} documents already. Delete one first.");
        return Err(Problem::state_conflict(full));
    }
    Ok(())
}

/// Deletes a document of a locked intake. `orphaned_files` deletes its file later, unless another row references it.
pub async fn remove_document(tx: &mut Tx<'_>, intake: &IntakeRow, document: IntakeDocumentId) -> Result<(), Problem> {
    onboarding::require_active(tx, intake.account_id).await?;
    rules::check_editable(intake.status).map_err(conflict)?;
    if !store::delete_document(tx, intake.id, document).await? {
        return Err(Problem::not_found());
    }
    store::touch(tx, intake.id).await?;
    Ok(())
}

/// Submits an intake, if no required document is missing.
pub async fn submit_intake(tx: &mut Tx<'_>, account: AccountId, intake: IntakeId) -> Result<IntakeRow, Problem> {
    let now = tx.ctx.now;
    let mut intake = own_intake(store::find_for_update(tx, intake).await?, account)?;
    onboarding::require_active(tx, account).await?;
    if intake.purpose == Purpose::Kyb {
        let (app, user) = (tx.ctx.app.clone(), tx.ctx.principal()?.user_id);
        onboarding::require_verified_email(tx, &app, user).await?;
        if let Some(country) = accounts::settle_country(tx, account).await? {
            tx.ctx.audit_note("country", country.to_string());
        }
    }
    let status = rules::next_status(intake.status, Action::Submit).map_err(conflict)?;
    let mut faults = Faults::default();
    for kind in missing_kinds(tx, &intake).await? {
        faults.add(kind.to_string(), "has no document yet");
    }
    faults.into_result()?;
    intake.status = status;
    intake.submitted_at = Some(now);
    intake.updated_at = now;
    store::update(tx, &intake).await?;
    follow_up(tx, &intake, Action::Submit).await?;
    Ok(intake)
}

/// Required kinds without a document that was not rejected.
async fn missing_kinds(conn: &mut Conn, intake: &IntakeRow) -> Result<Vec<DocKind>, DbError> {
    let uploaded = intake.uploaded(&store::documents(conn, intake.id).await?);
    Ok(intake.required_docs.0.iter().filter(|kind| !uploaded.contains(kind)).cloned().collect())
}

/// Refuses to approve an intake when all documents of a required kind were rejected.
async fn check_documents_complete(conn: &mut Conn, intake: &IntakeRow) -> Result<(), Problem> {
    let missing: Vec<String> = missing_kinds(conn, intake).await?.iter().map(DocKind::to_string).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Problem::state_conflict(format!(
        "All documents of these required kinds were rejected: {}. Accept one of each, or request more documents.",
        missing.join(", ")
    )))
}

/// Applies a decision of the team, with a note to the customer.
pub async fn decide(
    tx: &mut Tx<'_>,
    mut intake: IntakeRow,
    action: Action,
    note: Option<&str>,
) -> Result<IntakeRow, Problem> {
    let now = tx.ctx.now;
    intake.status = rules::next_status(intake.status, action).map_err(conflict)?;
    if action == Action::Approve {
        check_documents_complete(tx, &intake).await?;
        if intake.purpose == Purpose::Kyb {
            let app = tx.ctx.app.clone();
            onboarding::check_contact_verified(tx, &app, intake.account_id).await?;
        }
    }
    intake.updated_at = now;
    if action != Action::StartReview {
        intake.reviewer_note = note.map(str::to_owned);
    }
    if matches!(action, Action::Approve | Action::Reject) {
        intake.reviewed_at = Some(now);
    }
    store::update(tx, &intake).await?;
    follow_up(tx, &intake, action).await?;
    Ok(intake)
}

/// Effects of an action on the account or the number order, and the messages to the customer.
async fn follow_up(tx: &mut Tx<'_>, intake: &IntakeRow, action: Action) -> Result<(), Problem> {
    let app = tx.ctx.app.clone();
    match intake.purpose {
        Purpose::Kyb => {
            if let Some(event) = account_event(action) {
                apply_event(tx, intake.account_id, event).await?;
            }
        }
        Purpose::RegulatoryDid => enqueue_decision(tx, intake, action).await?,
    }
    let customer = onboarding::find_account(tx, intake.account_id).await?.ok_or_else(Problem::not_found)?;
    Ok(notify::send_decision(tx, &app, &customer, intake, action).await?)
}

/// Tells the number order that waits for an intake about its decision; the payload is an [`IntakeDecision`].
pub const INTAKE_DECIDED: Kind = Kind::new("compliance.decided").class(Class::Outside);

/// Decision about the intake of a number order.
#[derive(Serialize, Deserialize)]
pub struct IntakeDecision {
    pub intake_id: IntakeId,
    pub approved: bool,
    pub note: Option<String>,
}

async fn enqueue_decision(conn: &mut Conn, intake: &IntakeRow, action: Action) -> Result<(), DbError> {
    if !matches!(action, Action::Approve | Action::Reject) {
        return Ok(());
    }
    let (approved, note) = (action == Action::Approve, intake.reviewer_note.clone());
    let decision = IntakeDecision { intake_id: intake.id, approved, note };
    let payload = serde_json::to_value(decision).map_err(DbError::other)?;
    jobs::enqueue(conn, INTAKE_DECIDED, payload).await.map(drop)
}

/// Rejects an intake that is no longer needed, unless it is decided.
pub async fn close(conn: &mut Conn, id: IntakeId, note: &str) -> Result<(), DbError> {
    let now = conn.now();
    let Some(mut intake) = store::find_for_update(conn, id).await? else { return Ok(()) };
    if matches!(intake.status, IntakeStatus::Approved | IntakeStatus::Rejected) {
        return Ok(());
    }
    intake.status = IntakeStatus::Rejected;
    intake.reviewer_note = Some(note.to_owned());
    intake.reviewed_at = Some(now);
    intake.updated_at = now;
    store::update(conn, &intake).await
}

/// The onboarding event of an action on a KYB intake.
fn account_event(action: Action) -> Option<Event> {
    match action {
        Action::Submit => Some(Event::KybSubmitted),
        Action::StartReview => None,
        Action::Approve => Some(Event::KybApproved),
        // Either way the account has to provide documents again.
        Action::Reject | Action::RequestMore => Some(Event::KybRejected),
    }
}

pub fn conflict(error: rules::InvalidTransition) -> Problem {
    Problem::state_conflict(error.to_string())
}

/// Signed URL of a document's file.
pub fn download_url(app: &App, document: &DocumentRow, now: Time) -> String {
    let DocumentRow { content_hash, file_name, content_type, .. } = document;
    downloads::link(app, *content_hash, file_name, content_type, now)
}
