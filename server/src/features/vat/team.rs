//! What the team decides about a customer's VAT, in place of the rules and of whoever was asked.

use super::rules::VatTreatment;
use super::{standing_of, store};
use crate::app::App;
use crate::db::Conn;
use crate::features::accounts::{self, VatStatus};
use crate::features::notifications::{VatInvalid, VatValid, notify};
use crate::http::problem::Problem;
use crate::values::{AccountId, Change, Time};

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
        return Err(conn.lose_race().into());
    }
    match (status, standing.vat_id) {
        (VatStatus::Valid, Some(vat_id)) => notify(conn, app.entropy, account, &VatValid { vat_id }, now).await?,
        (VatStatus::Invalid, Some(vat_id)) => notify(conn, app.entropy, account, &VatInvalid { vat_id }, now).await?,
        _ => {}
    }
    Ok(())
}
