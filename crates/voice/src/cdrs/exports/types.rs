//! Exports in the API.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DAY;
use super::store::ExportRow;
use api::checks::{Checks, Given, must};
use platform::app::App;
use platform::outside::download::Download;
use platform::outside::files::ContentHash;
use values::{Date, Rfc3339, Time, id, text_enum};

id! {
    /// Id of a CDR export.
    pub struct CdrExportId;
}

text_enum! {
    /// Status of an export.
    pub enum ExportStatus {
        /// The job has not begun.
        Queued = "queued",
        /// The file is being written.
        Running = "running",
        /// The file can be downloaded.
        Ready = "ready",
        /// The file could not be written; `reason` says why.
        Failed = "failed",
        /// The file was deleted.
        Expired = "expired",
    }
}

text_enum! {
    /// Format of an export.
    pub enum ExportFormat {
        /// CSV with a header line.
        Csv = "csv",
        /// One JSON object per line, with the fields of the CDR list.
        Jsonl = "jsonl",
    }
}

text_enum! {
    /// Compression of an export.
    pub enum Compression {
        None = "none",
        Gzip = "gzip",
    }
}

/// Maximum range of one file.
const MAX_DAYS: u32 = 366;

/// Which CDRs to export, and how.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdrExportCreate {
    /// Export calls that began at this time or later (RFC 3339).
    pub from: Rfc3339,
    /// Export calls that began before this time (RFC 3339); at most 366 days after `from`.
    pub to: Rfc3339,
    /// Format of the file; `csv` if left out.
    #[serde(default)]
    pub format: Option<ExportFormat>,
    /// Compression of the file; `none` if left out.
    #[serde(default)]
    pub compression: Option<Compression>,
}

impl Checks for CdrExportCreate {
    fn check(given: &Given<'_>) {
        given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
        given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| {
            let last = from.0.plus(DAY.saturating_mul(MAX_DAYS));
            must(to.0 <= last, format!("must be at most {MAX_DAYS} days after from"))
        });
    }
}

/// CDRs of an account as a file.
#[derive(Serialize, JsonSchema)]
pub struct CdrExport {
    /// Id of the export.
    pub id: CdrExportId,
    /// Status of the export.
    pub status: ExportStatus,
    /// Format of the file.
    pub format: ExportFormat,
    /// Compression of the file.
    pub compression: Compression,
    /// The file has calls that began at this time or later (RFC 3339, UTC).
    pub from: Rfc3339,
    /// The file has calls that began before this time (RFC 3339, UTC).
    pub to: Rfc3339,
    /// Number of CDRs in the file, or written so far.
    pub rows_count: i64,
    /// Size of the file in bytes; null until the file is ready.
    pub size_bytes: Option<i64>,
    /// SHA-256 of the file in hexadecimal; null unless the status is `ready`.
    pub sha256: Option<String>,
    /// Signed link to the file, valid for at least 15 minutes or until the file expires; null unless the status is
    /// `ready`.
    #[schemars(url)]
    pub download_url: Option<String>,
    /// Why the export failed; null unless the status is `failed`.
    pub reason: Option<String>,
    /// When the export was requested (RFC 3339, UTC).
    pub requested_at: Rfc3339,
    /// When the export became ready or failed (RFC 3339, UTC); null before.
    pub completed_at: Option<Rfc3339>,
    /// When the file expires (RFC 3339, UTC); null until the file is ready.
    pub expires_at: Option<Rfc3339>,
}

/// Minimum lifetime of a link, unless the file expires earlier.
const MIN_LINK_LIFETIME: Duration = Duration::from_secs(15 * 60);

impl CdrExport {
    pub fn new(app: &App, row: ExportRow, now: Time) -> CdrExport {
        let is_expired = row.expires_at.is_some_and(|expires_at| expires_at <= now);
        let status = if row.status == ExportStatus::Ready && is_expired { ExportStatus::Expired } else { row.status };
        let hash = row.content_hash.filter(|_| status == ExportStatus::Ready);
        CdrExport {
            id: row.id,
            status,
            format: row.format,
            compression: row.compression,
            from: Rfc3339(row.range_from),
            to: Rfc3339(row.range_to),
            rows_count: row.rows_count,
            size_bytes: row.size_bytes,
            sha256: hash.map(|hash| hash.to_string()),
            download_url: hash.map(|hash| link(app, &row, hash, now)),
            reason: row.reason,
            requested_at: Rfc3339(row.requested_at),
            completed_at: row.completed_at.map(Rfc3339),
            expires_at: row.expires_at.map(Rfc3339),
        }
    }
}

fn link(app: &App, row: &ExportRow, hash: ContentHash, now: Time) -> String {
    // Rounded to a minute, so that repeated reads return the same link and the same ETag.
    let valid_until = Time::from_seconds(now.plus(MIN_LINK_LIFETIME).seconds() / 60 * 60 + 60);
    let token = app.links.sign(&Download {
        hash,
        file_name: file_name(row),
        content_type: content_type(row).to_owned(),
        expires_at: row.expires_at.map_or(valid_until, |expires_at| expires_at.min(valid_until)),
    });
    format!("{}/v1/files/{token}", app.public_url)
}

fn file_name(row: &ExportRow) -> String {
    let last = Date::from(Time::from_millis(row.range_to.millis() - 1));
    let ending = match row.compression {
        Compression::None => "",
        Compression::Gzip => ".gz",
    };
    format!("cdrs-{}-{last}.{}{ending}", Date::from(row.range_from), row.format)
}

const fn content_type(row: &ExportRow) -> &'static str {
    match (row.compression, row.format) {
        (Compression::Gzip, _) => "application/gzip",
        (Compression::None, ExportFormat::Csv) => "text/csv; charset=utf-8; header=present",
        (Compression::None, ExportFormat::Jsonl) => "application/x-ndjson",
    }
}
