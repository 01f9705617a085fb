//! The archive in the API.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::store::{self, FileRow, start_of};
use crate::cdrs::types::money;
use api::context::ReadCtx;
use api::page::{Listing, Page, Unfiltered};
use api::problem::Problem;
use identity::balance::CURRENCY;
use platform::app::App;
use platform::outside::download::Download;
use values::{Date, ExactMoney, Rfc3339, Time};

/// How long a link is valid at least.
const LINK_LIFETIME: Duration = Duration::from_secs(15 * 60);

/// File of the CDR archive: calls that began on a UTC day, as Parquet.
#[derive(Serialize, JsonSchema)]
pub struct ArchivedCdrFile {
    /// UTC day on which the calls began (YYYY-MM-DD).
    pub day: Date,
    /// Number of the file among those of the day, from 1.
    pub part: i64,
    /// SHA-256 of the file in hexadecimal.
    pub sha256: String,
    /// Size of the file in bytes.
    pub size_bytes: i64,
    /// Number of calls in the file.
    pub calls: i64,
    /// Charges of these calls.
    pub customer_charge: ExactMoney,
    /// What upstreams charge for these calls.
    pub our_cost: ExactMoney,
    /// Whether numbers of callers and callees are in the file; they are removed after the retention period.
    pub has_numbers: bool,
    /// When the day was written (RFC 3339, UTC).
    pub created_at: Rfc3339,
    /// When the file was verified and its calls left the database (RFC 3339, UTC); null before.
    pub verified_at: Option<Rfc3339>,
    /// Signed link to the file, valid for at least 15 minutes.
    #[schemars(url)]
    pub download_url: String,
}

/// Name of a file for people: `cdrs-2026-01-31.parquet`, with the number of the part from the second on.
pub fn file_name(file: &FileRow) -> String {
    let day = Date::from(start_of(file.day));
    if file.part == 0 { format!("cdrs-{day}.parquet") } else { format!("cdrs-{day}-{}.parquet", file.part + 1) }
}

impl ArchivedCdrFile {
    fn new(app: &App, file: FileRow, now: Time) -> ArchivedCdrFile {
        // Rounded to a minute, so that repeated reads return the same link and the same ETag.
        let valid_until = Time::from_seconds(now.plus(LINK_LIFETIME).seconds() / 60 * 60 + 60);
        let token = app.links.sign(&Download {
            hash: file.content_hash,
            file_name: file_name(&file),
            content_type: "application/vnd.apache.parquet".to_owned(),
            expires_at: valid_until,
        });
        ArchivedCdrFile {
            day: Date::from(start_of(file.day)),
            part: file.part + 1,
            sha256: file.content_hash.to_string(),
            size_bytes: file.size_bytes,
            calls: file.calls,
            customer_charge: money(file.charge, CURRENCY),
            our_cost: money(file.cost, CURRENCY),
            has_numbers: file.has_numbers,
            created_at: Rfc3339(file.created_at),
            verified_at: file.verified_at.map(Rfc3339),
            download_url: format!("{}/v1/files/{token}", app.public_url),
        }
    }
}

/// Newest day first.
pub async fn list(
    mut ctx: ReadCtx,
    listing: Listing<Unfiltered, (i64, i64)>,
) -> Result<Page<ArchivedCdrFile>, Problem> {
    let before = listing.after.unwrap_or((i64::MAX, i64::MAX));
    let files = store::list(&mut ctx, before, listing.fetch()).await?;
    let (app, now) = (ctx.request.app.clone(), ctx.request.now);
    listing.page(files, |file| (file.day, file.part), |file| ArchivedCdrFile::new(&app, file, now))
}
