//! Exports in the API.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::DAY;
use super::store::ExportRow;
use crate::cdrs::search::CdrFilter;
use crate::cdrs::terms::{CallStatus, Leg};
use api::checks::{Checks, Given, must};
use platform::app::App;
use platform::outside::download::Download;
use platform::outside::files::ContentHash;
use values::{AccountId, Country, Date, Digits, Rfc3339, Text, Time, TimeZone, TrunkId, UpstreamId, id, text_enum};

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
    /// Export only the CDRs that match; all of them if left out.
    #[serde(default)]
    pub filters: Option<CdrExportFilters>,
    /// Time zone of the times in the file, which then have its offset; UTC if left out.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
}

/// Filters of an export, as those of `GET /cdrs`.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdrExportFilters {
    /// Export calls of this trunk only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trunk_id: Option<TrunkId>,
    /// Export calls with this outcome only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<CallStatus>,
    /// Export outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leg: Option<Leg>,
    /// Export calls to this country only (ISO 3166-1 alpha-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    country: Option<Country>,
    /// Export calls with this SIP Call-ID only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Text<1, 255>>,
    /// Export calls whose calling number begins with these digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calling: Option<Digits>,
    /// Export calls whose called number begins with these digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    called: Option<Digits>,
}

/// Which CDRs of all customers to export, and how.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCdrExportCreate {
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
    /// Export only the CDRs that match; all of them if left out.
    #[serde(default)]
    pub filters: Option<AdminCdrExportFilters>,
    /// Time zone of the times in the file, which then have its offset; UTC if left out.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
}

/// Filters of an export of the team, as those of `GET /admin/cdrs`.
#[derive(Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdminCdrExportFilters {
    /// Export calls of this account only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account_id: Option<AccountId>,
    /// Export calls that this upstream took only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_id: Option<UpstreamId>,
    /// Export calls of this trunk only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trunk_id: Option<TrunkId>,
    /// Export calls with this outcome only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<CallStatus>,
    /// Export outbound (`termination`) or inbound (`origination`) calls only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leg: Option<Leg>,
    /// Export calls to this country only (ISO 3166-1 alpha-2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    country: Option<Country>,
    /// Export calls with this SIP Call-ID only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call_id: Option<Text<1, 255>>,
    /// Export calls whose calling number begins with these digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    calling: Option<Digits>,
    /// Export calls whose called number begins with these digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    called: Option<Digits>,
}

impl Checks for AdminCdrExportCreate {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

impl Checks for CdrExportCreate {
    fn check(given: &Given<'_>) {
        check_range(given);
    }
}

fn check_range(given: &Given<'_>) {
    given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| must(to.0 > from.0, "must be after from"));
    given.check_with("to", "from", |to: Rfc3339, from: Rfc3339| {
        let last = from.0.plus(DAY.saturating_mul(MAX_DAYS));
        must(to.0 <= last, format!("must be at most {MAX_DAYS} days after from"))
    });
}

/// Which CDRs the file of an export has.
pub fn filter_of(row: &ExportRow) -> Result<CdrFilter, serde_json::Error> {
    // The filters of a customer are among those of the team.
    let filters: AdminCdrExportFilters = row.filters.as_deref().map_or(Ok(Default::default()), serde_json::from_str)?;
    let own = (!row.is_team).then_some(row.account_id);
    let stored = |digits: Digits| format!("+{digits}");
    Ok(CdrFilter {
        account: own.or(filters.account_id),
        trunk: filters.trunk_id,
        upstream: filters.upstream_id,
        status: filters.status,
        leg: filters.leg,
        country: filters.country,
        call_id: filters.call_id.map(|call_id| call_id.to_string()),
        calling: filters.calling.map(stored),
        called: filters.called.map(stored),
        from: row.range_from,
        to: row.range_to,
    })
}

/// CDRs as a file.
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
    /// Filters of the request; null if there were none.
    pub filters: Option<Map<String, Value>>,
    /// Time zone of the times in the file; null if it is UTC.
    pub time_zone: Option<TimeZone>,
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
            filters: row.filters.as_deref().and_then(|filters| serde_json::from_str(filters).ok()),
            time_zone: row.time_zone.clone(),
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
