//! The customer's side of VAT: status, checks and VAT evidence.

use super::checks::request_round;
use super::rules;
use super::standing_of;
use super::store::{self, EvidenceRow, MAX_EVIDENCE_DOCUMENTS};
use super::types::{EvidenceForm, VatStanding};
use api::answer::{Accepted, Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::problem::Problem;
use api::upload::Upload;
use db::Conn;
use identity::accounts::{self, VatStatus};
use platform::outside::download::plain_name;
use values::{AccountId, Rfc3339};

pub async fn show(mut ctx: ReadCtx) -> Result<Json<VatStanding>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(view(&mut ctx, account).await?))
}

async fn view(conn: &mut Conn, account: AccountId) -> Result<VatStanding, Problem> {
    let standing = standing_of(conn, account).await?;
    let profile = store::profile(conn, account).await?;
    let evidence = store::list_evidence(conn, account).await?;
    // A check of an earlier id says nothing about the current one.
    let is_of_this_id = profile.checked_id.is_some() && profile.checked_id == standing.vat_id;
    Ok(VatStanding {
        status: standing.vat_status,
        last_checked_at: profile.checked_at.filter(|_| is_of_this_id).map(Rfc3339),
        vat_id: standing.vat_id,
        proof_documents: evidence.into_iter().map(|document| document.id).collect(),
    })
}

pub async fn check(ctx: RequestCtx) -> Result<Committed<Accepted<VatStanding>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit(account, |tx, account| {
        Box::pin(async move {
            let standing = standing_of(tx, *account).await?;
            if standing.vat_id.is_none() {
                return Err(Problem::state_conflict("The account has no VAT id. Set one first."));
            }
            let exempt = || Problem::state_conflict("The VAT status is exempt, so there is no VAT id to check.");
            let status = rules::after_request(standing.vat_status).ok_or_else(exempt)?;
            if !accounts::move_vat_status(tx, *account, &standing, status).await? {
                return Err(tx.retry_conflict().into());
            }
            // An account has one pending check, however often it is requested.
            let is_pending = standing.vat_status == VatStatus::Pending;
            if is_pending && !store::request_check_again(tx, *account).await? {
                return Ok(Accepted(view(tx, *account).await?));
            }
            if !is_pending {
                store::request_check(tx, *account).await?;
            }
            request_round(tx).await?;
            Ok(Accepted(view(tx, *account).await?))
        })
    })
    .await
}

/// Stores a document of VAT evidence: the file first, then its row.
pub async fn upload_evidence(
    ctx: RequestCtx,
    upload: Upload<EvidenceForm>,
) -> Result<Committed<Created<VatStanding>>, Problem> {
    let document = evidence_row(&ctx, &upload)?;
    // Checked before the file is stored, so that a refused upload leaves no file; checked again in the transaction.
    check_evidence_limit(&mut *ctx.app.db.read().await?, document.account_id).await?;
    upload.file.store().await?;
    ctx.audit_note("document", document.id.to_string());
    ctx.commit(document, |tx, document| {
        Box::pin(async move {
            let standing = standing_of(tx, document.account_id).await?;
            let status = rules::after_evidence(standing.vat_status);
            // Updated even if the status stays the same: the row lock makes uploads of one account run one by one.
            if !accounts::move_vat_status(tx, document.account_id, &standing, status).await? {
                return Err(tx.retry_conflict().into());
            }
            check_evidence_limit(tx, document.account_id).await?;
            store::insert_evidence(tx, document).await?;
            Ok(Created(view(tx, document.account_id).await?))
        })
    })
    .await
}

fn evidence_row(ctx: &RequestCtx, upload: &Upload<EvidenceForm>) -> Result<EvidenceRow, Problem> {
    let stored = upload.file.stored_as();
    Ok(EvidenceRow {
        id: ctx.new_id(),
        account_id: ctx.principal()?.account_id,
        file_name: plain_name(&upload.file_name),
        content_type: upload.file_type.content_type().to_owned(),
        size_bytes: i64::try_from(stored.size_bytes).map_err(Problem::internal)?,
        content_hash: stored.hash,
        uploaded_at: ctx.now,
    })
}

async fn check_evidence_limit(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    if store::list_evidence(conn, account).await?.len() >= MAX_EVIDENCE_DOCUMENTS {
        return Err(Problem::state_conflict(format!(
            "The account has uploaded {MAX_EVIDENCE_DOCUMENTS} documents of VAT evidence already."
        )));
    }
    Ok(())
}
