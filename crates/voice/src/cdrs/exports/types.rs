//! Exports over the wire.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::ExportRow;
use platform::app::App;
use platform::outside::download::Download;
use platform::outside::files::ContentHash;
use values::{Date, Rfc3339, Time, id, text_enum};

id! {
    /// Id of a CDR export.
    pub struct CdrExportId;
}

text_enum! {
    pub enum ExportStatus {
        Queued = "queued",
        Running = "running",
        Ready = "ready",
        Failed = "failed",
        Expired = "expired",
    }
}

text_enum! {
    pub enum ExportFormat {
        /// A table with a header.
        Csv = "csv",
        /// A JSON object to a line, as in the list of calls.
        Jsonl = "jsonl",
    }
}

text_enum! {
    pub enum Compression {
        None = "none",
        Gzip = "gzip",
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdrExportCreate {
    /// Calls that began then or later.
    pub from: Rfc3339,
    /// Calls that began before; at most 366 days later.
    pub to: Rfc3339,
    /// `csv` unless it is sent.
    #[serde(default)]
    pub format: Option<ExportFormat>,
    /// `none` unless it is sent.
    #[serde(default)]
    pub compression: Option<Compression>,
}

/// Records of calls as a file.
#[derive(Serialize, JsonSchema)]
pub struct CdrExport {
    pub id: CdrExportId,
    pub status: ExportStatus,
    pub format: ExportFormat,
    pub compression: Compression,
    pub from: Rfc3339,
    pub to: Rfc3339,
    /// How many calls are in the file, or were written so far.
    pub rows_count: i64,
    pub size_bytes: Option<i64>,
    /// Of the file, in hexadecimal.
    pub sha256: Option<String>,
    /// A signed link to the file, for a quarter of an hour; null unless it is ready.
    #[schemars(url)]
    pub download_url: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    pub requested_at: Rfc3339,
    pub completed_at: Option<Rfc3339>,
    /// When the file goes.
    pub expires_at: Option<Rfc3339>,
}

/// How long a link lives at least, if the file does.
const LINK_LIVES: Duration = Duration::from_secs(15 * 60);

impl CdrExport {
    pub fn new(app: &App, row: ExportRow, now: Time) -> CdrExport {
        let is_over = row.expires_at.is_some_and(|expires_at| expires_at <= now);
        let status = if row.status == ExportStatus::Ready && is_over { ExportStatus::Expired } else { row.status };
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
    // To a full minute: who looks again soon is shown the same link, and so the same version.
    let lives_until = Time::from_seconds(now.plus(LINK_LIVES).seconds() / 60 * 60 + 60);
    let token = app.links.sign(&Download {
        hash,
        file_name: file_name(row),
        content_type: content_type(row).to_owned(),
        expires_at: row.expires_at.map_or(lives_until, |expires_at| expires_at.min(lives_until)),
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
