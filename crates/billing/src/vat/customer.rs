//! What a customer sees and does about its VAT.

use super::rules;
use super::store::{self, PROOFS_AT_MOST, ProofRow};
use super::types::{ProofForm, VatStanding};
use super::{CHECK, standing_of};
use api::answer::{Accepted, Created, Json};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::problem::Problem;
use api::upload::Upload;
use db::Conn;
use identity::accounts;
use platform::jobs::{self, NewJob};
use platform::outside::download::plain_name;
use platform::outside::sniff::sniff;
use values::{AccountId, Rfc3339};

pub async fn show(mut ctx: ReadCtx) -> Result<Json<VatStanding>, Problem> {
    let account = ctx.principal()?.account_id;
    Ok(Json(view(&mut ctx, account).await?))
}

async fn view(conn: &mut Conn, account: AccountId) -> Result<VatStanding, Problem> {
    let standing = standing_of(conn, account).await?;
    let profile = store::profile(conn, account).await?;
    let proofs = store::proofs(conn, account).await?;
    // What was heard about another id says nothing about this one.
    let is_of_this_id = profile.checked_id.is_some() && profile.checked_id == standing.vat_id;
    Ok(VatStanding {
        status: standing.vat_status,
        last_checked_at: profile.checked_at.filter(|_| is_of_this_id).map(Rfc3339),
        vat_id: standing.vat_id,
        proof_documents: proofs.into_iter().map(|proof| proof.id).collect(),
    })
}

pub async fn check(ctx: RequestCtx) -> Result<Committed<Accepted<VatStanding>>, Problem> {
    let account = ctx.principal()?.account_id;
    ctx.commit(account, |tx, account| {
        Box::pin(async move {
            let (app, now) = (tx.ctx.app.clone(), tx.ctx.now);
            let standing = standing_of(tx, *account).await?;
            if standing.vat_id.is_none() {
                return Err(Problem::state_conflict("There is no VAT id to check; give the account one first."));
            }
            let exempt = || Problem::state_conflict("The VAT status is exempt, so there is nothing to check.");
            let status = rules::asked(standing.vat_status).ok_or_else(exempt)?;
            if !accounts::move_vat_status(tx, *account, &standing, status, now).await? {
                return Err(tx.retry_conflict().into());
            }
            store::look_at(tx, *account, now).await?;
            let job = NewJob { id: app.entropy.uuid(now), kind: CHECK, payload: serde_json::json!({}), run_at: now };
            jobs::enqueue(tx, &job).await?;
            Ok(Accepted(view(tx, *account).await?))
        })
    })
    .await
}

/// Takes a paper in: looked at, stored for good, and only then a row.
pub async fn upload_proof(
    ctx: RequestCtx,
    upload: Upload<ProofForm>,
) -> Result<Committed<Created<VatStanding>>, Problem> {
    let proof = examine(&ctx, &upload).await?;
    // Asked before the file is kept, so that a refusal leaves nothing behind; asked again in the transaction.
    admit(&mut *ctx.app.db.read().await?, proof.account_id).await?;
    upload.file.keep().await?;
    ctx.note("document", proof.id.to_string());
    ctx.commit(proof, |tx, proof| {
        Box::pin(async move {
            let now = tx.ctx.now;
            let standing = standing_of(tx, proof.account_id).await?;
            let status = rules::proven(standing.vat_status);
            // Moved even to where it is: the row is what uploads of one account queue for.
            if !accounts::move_vat_status(tx, proof.account_id, &standing, status, now).await? {
                return Err(tx.retry_conflict().into());
            }
            admit(tx, proof.account_id).await?;
            store::insert_proof(tx, proof).await?;
            Ok(Created(view(tx, proof.account_id).await?))
        })
    })
    .await
}

async fn examine(ctx: &RequestCtx, upload: &Upload<ProofForm>) -> Result<ProofRow, Problem> {
    let content = upload.file.content().await?;
    let file_type = sniff(content).await.map_err(Problem::internal)?;
    let file_type = file_type.map_err(|refusal| Problem::invalid("file", refusal.to_string()))?;
    let stored = upload.file.stored_as();
    Ok(ProofRow {
        id: ctx.app.entropy.uuid(ctx.now),
        account_id: ctx.principal()?.account_id,
        file_name: plain_name(&upload.file_name),
        content_type: file_type.content_type().to_owned(),
        size_bytes: i64::try_from(stored.size_bytes).map_err(Problem::internal)?,
        content_hash: stored.hash,
        uploaded_at: ctx.now,
    })
}

async fn admit(conn: &mut Conn, account: AccountId) -> Result<(), Problem> {
    if store::proofs(conn, account).await?.len() >= PROOFS_AT_MOST {
        return Err(Problem::state_conflict(format!("The account has handed in {PROOFS_AT_MOST} papers already.")));
    }
    Ok(())
}
