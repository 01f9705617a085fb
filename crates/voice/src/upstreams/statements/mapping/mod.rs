//! How the statements of an upstream are laid out, and how exactly they are compared.
//!
//! A file is read by the mapping that came with it, or else by the saved one. Without either, our own header or common
//! words above the columns decide (`rating::Statement`).

mod store;

use std::borrow::Cow;

use rating::StatementColumn;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::types::MAX_TOLERANCE_SECONDS;
use crate::upstreams;
use crate::upstreams::decks::{DateFormat, DecimalSeparator, SheetFormat};
use api::answer::Json;
use api::checks::{Checked, Checks, Given, must};
use api::context::{Committed, ReadCtx, RequestCtx};
use api::input::{Body, Path};
use api::problem::Problem;
pub use store::find;
use values::{Text, Time, TimeZone, UpstreamId};

/// Header of a column.
type Header = Text<1, 200>;

/// How the statements of an upstream are laid out, and how exactly they are compared.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatementMapping {
    /// Format of the files; files of the other format are refused. Null accepts both.
    #[serde(default)]
    pub format: Option<SheetFormat>,
    /// Name of the sheet in a workbook; if null, the first visible one with the columns.
    #[serde(default)]
    pub sheet: Option<Text<1, 31>>,
    /// Row of the header; if null, the first 50 rows are searched for the columns.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub header_row: Option<i64>,
    /// Headers of the columns; letter case and white space do not matter.
    pub columns: StatementColumns,
    /// Pattern of starts that are texts, of YYYY, MM, DD, HH, mm and ss, such as DD/MM/YYYY HH:mm:ss. If null, starts are
    /// as in RFC 3339, with or without an offset. Date cells of a workbook need no pattern.
    #[serde(default)]
    #[schemars(example = "DD/MM/YYYY HH:mm:ss")]
    pub date_format: Option<DateFormat>,
    /// Time zone of starts without an offset; UTC if null.
    #[serde(default)]
    pub time_zone: Option<TimeZone>,
    /// Decimal separator of amounts that are texts; if null, point and comma are accepted.
    #[serde(default)]
    pub decimal_separator: Option<DecimalSeparator>,
    /// How many seconds the starts of a call may be apart, unless an upload says otherwise; 30 if null.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_TOLERANCE_SECONDS))]
    pub start_tolerance_seconds: Option<i64>,
    /// How many seconds the durations of a call may be apart, unless an upload says otherwise; 2 if null.
    #[serde(default)]
    #[schemars(range(min = 0, max = MAX_TOLERANCE_SECONDS))]
    pub duration_tolerance_seconds: Option<i64>,
}

/// Headers of the columns of a statement: `cost` or `rate_per_minute`, and the others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct StatementColumns {
    /// Called numbers with their country codes.
    pub called_number: Header,
    /// When calls began.
    pub started_at: Header,
    /// Durations in seconds, or as in 00:01:30.
    pub duration_seconds: Header,
    /// Costs of the calls in the upstream's currency.
    #[serde(default)]
    pub cost: Option<Header>,
    /// Rates per minute in the upstream's currency, if there is no column of costs.
    #[serde(default)]
    pub rate_per_minute: Option<Header>,
    /// SIP Call-IDs, if the upstream keeps ours.
    #[serde(default)]
    pub call_id: Option<Header>,
}

/// A mapping in a request, where fields may be left out.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct StatementMappingInput(pub StatementMapping);

impl JsonSchema for StatementMappingInput {
    fn schema_name() -> Cow<'static, str> {
        "StatementMappingInput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        StatementMapping::json_schema(generator)
    }
}

impl Checks for StatementMappingInput {
    fn check(given: &Given<'_>) {
        given.check("columns", |columns: StatementColumns| {
            let has_one = columns.cost.is_some() != columns.rate_per_minute.is_some();
            must(has_one, "must name either cost or rate_per_minute")
        });
        given.check("date_format", |format: DateFormat| {
            must(format.rules().has_time(), "must have HH and mm, such as DD/MM/YYYY HH:mm:ss")
        });
    }
}

impl StatementMapping {
    /// The mapping as files are read by it.
    pub fn rules(&self) -> rating::StatementMapping {
        let StatementColumns { called_number, started_at, duration_seconds, cost, rate_per_minute, call_id } =
            &self.columns;
        let columns = [
            (StatementColumn::CalledNumber, Some(called_number)),
            (StatementColumn::StartedAt, Some(started_at)),
            (StatementColumn::Duration, Some(duration_seconds)),
            (StatementColumn::Cost, cost.as_ref()),
            (StatementColumn::Rate, rate_per_minute.as_ref()),
            (StatementColumn::CallId, call_id.as_ref()),
        ];
        rating::StatementMapping {
            format: self.format.map(SheetFormat::rules),
            sheet: self.sheet.as_ref().map(ToString::to_string),
            header_row: self.header_row.and_then(|row| u64::try_from(row).ok()),
            columns: columns.into_iter().filter_map(|(column, header)| Some((column, header?.to_string()))).collect(),
            date_format: self.date_format.as_ref().map(|format| format.rules().clone()),
            decimal_separator: self.decimal_separator.and_then(|separator| separator.as_str().chars().next()),
        }
    }

    /// `None` if it lacks a column.
    pub fn of(rules: &rating::StatementMapping) -> Option<StatementMapping> {
        let header = |column: StatementColumn| rules.column(column)?.parse::<Header>().ok();
        let separator = rules.decimal_separator.map(String::from);
        Some(StatementMapping {
            format: rules.format.map(SheetFormat::from),
            sheet: rules.sheet.as_ref().and_then(|sheet| sheet.parse().ok()),
            header_row: rules.header_row.and_then(|row| i64::try_from(row).ok()),
            columns: StatementColumns {
                called_number: header(StatementColumn::CalledNumber)?,
                started_at: header(StatementColumn::StartedAt)?,
                duration_seconds: header(StatementColumn::Duration)?,
                cost: header(StatementColumn::Cost),
                rate_per_minute: header(StatementColumn::Rate),
                call_id: header(StatementColumn::CallId),
            },
            date_format: rules.date_format.clone().map(DateFormat::from),
            time_zone: None,
            decimal_separator: separator.and_then(|separator| separator.parse().ok()),
            start_tolerance_seconds: None,
            duration_tolerance_seconds: None,
        })
    }
}

/// The time at which clocks in a zone show this time. When they are set back, the later of the two.
pub fn to_utc(zone: &TimeZone, local: i64) -> i64 {
    let offset = |at: i64| zone.offset_seconds(Time::from_millis(at)) * 1000;
    local - offset(local - offset(local))
}

pub async fn show_mapping(
    mut ctx: ReadCtx,
    Path(upstream): Path<UpstreamId>,
) -> Result<Json<StatementMapping>, Problem> {
    Ok(Json(find(&mut ctx, upstream).await?.ok_or_else(Problem::not_found)?))
}

pub async fn save_mapping(
    ctx: RequestCtx,
    Path(upstream): Path<UpstreamId>,
    Body(Checked(StatementMappingInput(mapping))): Body<Checked<StatementMappingInput>>,
) -> Result<Committed<Json<StatementMapping>>, Problem> {
    ctx.audit_note("upstream_id", upstream.to_string());
    ctx.commit((upstream, mapping), |tx, (upstream, mapping)| {
        Box::pin(async move {
            upstreams::lock(tx, *upstream).await?.ok_or_else(Problem::not_found)?;
            let before = find(tx, *upstream).await?;
            tx.expect_version(&before)?;
            store::save(tx, *upstream, mapping).await?;
            Ok(Json(mapping.clone()))
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use values::Rfc3339;

    use super::*;

    #[test]
    fn local_times_follow_the_clocks_of_their_day() {
        let zone: TimeZone = "Europe/Amsterdam".parse().unwrap();
        let millis = |text: &str| text.parse::<Rfc3339>().unwrap().0.millis();
        for (local, utc) in [
            ("2026-01-15T12:00:00Z", "2026-01-15T11:00:00Z"),
            ("2026-07-15T12:00:00Z", "2026-07-15T10:00:00Z"),
            ("2026-10-25T01:30:00Z", "2026-10-24T23:30:00Z"),
            ("2026-10-25T03:30:00Z", "2026-10-25T02:30:00Z"),
        ] {
            assert_eq!(to_utc(&zone, millis(local)), millis(utc), "{local}");
        }
        assert_eq!(to_utc(&TimeZone::UTC, 5), 5);
    }
}
