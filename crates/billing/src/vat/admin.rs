//! The team's side of VAT: read a customer's VAT evidence, and override its VAT status and treatment.

use super::rules::VatTreatment;
use super::store::EvidenceRow;
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
use values::{AccountId, Change, VatId};

/// The customer's VAT evidence, with download links.
pub async fn list_evidence(
    mut ctx: ReadCtx,
    Path(account): Path<AccountId>,
) -> Result<Json<VatProofDocuments>, Problem> {
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    ctx.request.audit_account(account);
    let customer = onboarding::find_account(&mut ctx, account).await?.filter(|customer| !customer.is_carrier);
    customer.ok_or_else(Problem::not_found)?;
    let evidence = store::list_evidence(&mut ctx, account).await?.into_iter();
    let linked = |document: EvidenceRow| VatProofDocument {
        id: document.id,
        download_url: downloads::link(&app, document.content_hash, &document.file_name, &document.content_type, now),
        filename: document.file_name,
        content_type: document.content_type,
        size_bytes: document.size_bytes,
        uploaded_at: document.uploaded_at.into(),
    };
    Ok(Json(VatProofDocuments { data: evidence.map(linked).collect() }))
}

/// The team's decision about a customer's VAT; absent parts stay as they are.
#[derive(Clone, Default)]
pub struct Ruling {
    pub status: Change<VatStatus>,
    pub treatment: Change<Option<VatTreatment>>,
    pub is_reseller: Change<bool>,
}

pub async fn rule(conn: &mut Conn, account: AccountId, ruling: Ruling) -> Result<(), Problem> {
    let Ruling { status, treatment, is_reseller } = ruling;
    if treatment.is_set() || is_reseller.is_set() {
        let mut profile = store::profile(conn, account).await?;
        if let Change::Set(treatment) = treatment {
            profile.treatment_vat_id = vat_id_for(conn, account, treatment).await?;
            profile.treatment = treatment;
        }
        is_reseller.apply(&mut profile.is_reseller);
        store::set_terms(conn, account, &profile).await?;
    }
    match status {
        Change::Set(status) => set_status(conn, account, status).await,
        Change::Absent => Ok(()),
    }
}

/// The VAT id that a treatment depends on. Only reverse charge does: its invoices must name the id.
async fn vat_id_for(
    conn: &mut Conn,
    account: AccountId,
    treatment: Option<VatTreatment>,
) -> Result<Option<String>, Problem> {
    if treatment != Some(VatTreatment::ReverseCharge) {
        return Ok(None);
    }
    let vat_id = standing_of(conn, account).await?.vat_id;
    let lack = match &vat_id {
        Some(id) if id.parse::<VatId>().is_ok() => return Ok(vat_id),
        Some(_) => "a well-formed VAT id of an EU member state",
        None => "a VAT id",
    };
    let detail = format!("The customer does not have {lack}, so the VAT treatment cannot be reverse_charge.");
    Err(Problem::state_conflict(detail))
}

async fn set_status(conn: &mut Conn, account: AccountId, status: VatStatus) -> Result<(), Problem> {
    let standing = standing_of(conn, account).await?;
    if status == standing.vat_status {
        return Ok(());
    }
    let is_about_an_id = !matches!(status, VatStatus::NotVerified | VatStatus::Exempt);
    if is_about_an_id && standing.vat_id.is_none() {
        let detail = format!("The customer has no VAT id, so the VAT status cannot be {status}.");
        return Err(Problem::state_conflict(detail));
    }
    if !accounts::move_vat_status(conn, account, &standing, status).await? {
        return Err(conn.retry_conflict().into());
    }
    match (status, standing.vat_id) {
        (VatStatus::Valid, Some(vat_id)) => notify(conn, account, &VatValid { vat_id }).await?,
        (VatStatus::Invalid, Some(vat_id)) => notify(conn, account, &VatInvalid { vat_id }).await?,
        _ => {}
    }
    Ok(())
}
