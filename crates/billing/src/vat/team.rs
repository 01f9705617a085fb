//! What the team sees of a customer's papers, and decides about its VAT in place of the rules and of whoever was asked.

use super::rules::VatTreatment;
use super::store::ProofRow;
use super::types::{VatProofDocument, VatProofDocuments};
use super::{standing_of, store};
use api::answer::Json;
use api::context::ReadCtx;
use api::input::Path;
use api::problem::Problem;
use db::Conn;
use identity::accounts::{self, VatStatus};
use identity::notifications::{VatInvalid, VatValid, notify};
use identity::{downloads, onboarding};
use platform::app::App;
use values::{AccountId, Change, Time};

/// The papers that a customer handed in, with links to them.
pub async fn show_proofs(mut ctx: ReadCtx, Path(account): Path<AccountId>) -> Result<Json<VatProofDocuments>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    ctx.request.about(account);
    let customer = onboarding::prospect(&mut ctx, account).await?.filter(|customer| !customer.is_carrier);
    customer.ok_or_else(Problem::not_found)?;
    let proofs = store::proofs(&mut ctx, account).await?.into_iter();
    let linked = |proof: ProofRow| VatProofDocument {
        id: proof.id,
        download_url: downloads::link(&app, proof.content_hash, &proof.file_name, &proof.content_type, now),
        filename: proof.file_name,
        content_type: proof.content_type,
        size_bytes: proof.size_bytes,
        uploaded_at: proof.uploaded_at.into(),
    };
    Ok(Json(VatProofDocuments { data: proofs.map(linked).collect() }))
}

/// What is decided, and what is left as it is.
#[derive(Clone, Default)]
pub struct Ruling {
    pub status: Change<VatStatus>,
    pub treatment: Change<Option<VatTreatment>>,
    pub is_reseller: Change<bool>,
}

pub async fn rule(conn: &mut Conn, app: &App, account: AccountId, ruling: Ruling, now: Time) -> Result<(), Problem> {
    let Ruling { status, treatment, is_reseller } = ruling;
    if treatment.is_set() || is_reseller.is_set() {
        let mut profile = store::profile(conn, account).await?;
        treatment.apply(&mut profile.treatment);
        is_reseller.apply(&mut profile.is_reseller);
        store::set_terms(conn, account, profile.treatment, profile.is_reseller).await?;
    }
    match status {
        Change::Set(status) => set_status(conn, app, account, status, now).await,
        Change::Absent => Ok(()),
    }
}

async fn set_status(
    conn: &mut Conn,
    app: &App,
    account: AccountId,
    status: VatStatus,
    now: Time,
) -> Result<(), Problem> {
    let standing = standing_of(conn, account).await?;
    if status == standing.vat_status {
        return Ok(());
    }
    let is_about_an_id = !matches!(status, VatStatus::NotVerified | VatStatus::Exempt);
    if is_about_an_id && standing.vat_id.is_none() {
        let detail = format!("The customer has given no VAT id that could be {status}.");
        return Err(Problem::state_conflict(detail));
    }
    if !accounts::move_vat_status(conn, account, &standing, status, now).await? {
        return Err(conn.retry_conflict().into());
    }
    match (status, standing.vat_id) {
        (VatStatus::Valid, Some(vat_id)) => notify(conn, app.entropy, account, &VatValid { vat_id }, now).await?,
        (VatStatus::Invalid, Some(vat_id)) => notify(conn, app.entropy, account, &VatInvalid { vat_id }, now).await?,
        _ => {}
    }
    Ok(())
}
