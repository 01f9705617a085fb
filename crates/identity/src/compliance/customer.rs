//! What a customer does with its intakes.

use uuid::Uuid;

use super::desk::{self, owned};
use super::store::{self, Wanted};
use super::types::{DocumentForm, Intake, IntakeDocument};
use api::answer::{Created, Json, NoContent};
use api::call::{Call, Done, Read};
use api::input::{Path, PathPair};
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use api::upload::Upload;
use values::{IntakeDocumentId, IntakeId, Time};

/// Where a list goes on.
pub type Position = (i64, IntakeId);

/// The last row shown, or what comes before the newest.
pub fn resume(after: Option<Position>) -> (Time, IntakeId) {
    let (at, id) = after.unwrap_or((i64::MAX, IntakeId::new(Uuid::max())));
    (Time::from_millis(at), id)
}

pub async fn list(mut read: Read, listing: Listing<Unfiltered, Position>) -> Result<Page<Intake>, Problem> {
    let wanted = Wanted { account: Some(read.principal()?.account_id), status: None, purpose: None };
    let rows = store::list(&mut read, &wanted, resume(listing.after), listing.fetch()).await?;
    listing.page(
        rows,
        |(intake, _)| (intake.created_at.millis(), intake.id),
        |(intake, documents)| Intake::new(intake, documents),
    )
}

pub async fn show(mut read: Read, Path(id): Path<IntakeId>) -> Result<Json<Intake>, Problem> {
    let account = read.principal()?.account_id;
    let intake = owned(store::find(&mut read, id).await?, account)?;
    let documents = store::documents(&mut read, id).await?;
    Ok(Json(Intake::new(intake, documents)))
}

pub async fn upload(
    call: Call,
    Path(id): Path<IntakeId>,
    upload: Upload<DocumentForm>,
) -> Result<Done<Created<IntakeDocument>>, Problem> {
    desk::take_in(call, id, upload, IntakeDocument::from).await
}

pub async fn take_away(
    call: Call,
    PathPair(id, document): PathPair<IntakeId, IntakeDocumentId>,
) -> Result<Done<NoContent>, Problem> {
    let account = call.principal()?.account_id;
    call.note("intake", id.to_string());
    call.note("document", document.to_string());
    call.commit((account, id, document), |tx, (account, id, document)| {
        Box::pin(async move {
            let intake = owned(store::find_to_change(tx, *id).await?, *account)?;
            desk::remove(tx, &intake, *document).await?;
            Ok(NoContent)
        })
    })
    .await
}

pub async fn hand_in(call: Call, Path(id): Path<IntakeId>) -> Result<Done<Json<Intake>>, Problem> {
    let account = call.principal()?.account_id;
    call.note("intake", id.to_string());
    call.commit((account, id), |tx, (account, id)| {
        Box::pin(async move {
            let intake = desk::submit(tx, *account, *id).await?;
            let documents = store::documents(tx, *id).await?;
            Ok(Json(Intake::new(intake, documents)))
        })
    })
    .await
}
