//! Sheet mappings and previews in the API.

use std::borrow::Cow;
use std::str::FromStr;

use rating::{Offer, ParsedRow, SheetColumn};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use identity::imports::ImportFault;
use values::{Country, Currency, ExactMoney, Money, Rfc3339, Text, Time, text_enum};

text_enum! {
    /// Format of a rate sheet.
    pub enum SheetFormat {
        Csv = "csv",
        Xlsx = "xlsx",
    }
}

impl From<rating::SheetFormat> for SheetFormat {
    fn from(format: rating::SheetFormat) -> SheetFormat {
        match format {
            rating::SheetFormat::Csv => SheetFormat::Csv,
            rating::SheetFormat::Xlsx => SheetFormat::Xlsx,
        }
    }
}

impl SheetFormat {
    /// The format as files are read by it.
    pub fn rules(self) -> rating::SheetFormat {
        match self {
            SheetFormat::Csv => rating::SheetFormat::Csv,
            SheetFormat::Xlsx => rating::SheetFormat::Xlsx,
        }
    }
}

text_enum! {
    /// What separates the decimals of amounts that are texts.
    pub enum DecimalSeparator {
        Point = ".",
        Comma = ",",
    }
}

text_enum! {
    /// What separates prefixes in one cell.
    pub enum PrefixSeparator {
        Comma = ",",
        Semicolon = ";",
        Slash = "/",
        Bar = "|",
        Space = " ",
    }
}

text_enum! {
    /// Where the layout of a previewed sheet comes from: the `mapping` part of the request, the upstream's saved
    /// mapping, our own header, or a proposal from the words in the header.
    pub enum LayoutSource {
        Given = "given",
        Saved = "saved",
        OwnHeader = "own_header",
        Detected = "detected",
    }
}

/// A pattern of dates that is valid.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DateFormat(rating::DateFormat);

impl TryFrom<String> for DateFormat {
    type Error = rating::DateFormatError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        rating::DateFormat::from_str(&text).map(DateFormat)
    }
}

impl From<rating::DateFormat> for DateFormat {
    fn from(format: rating::DateFormat) -> DateFormat {
        DateFormat(format)
    }
}

impl DateFormat {
    /// The pattern as texts are read by it.
    pub fn rules(&self) -> &rating::DateFormat {
        &self.0
    }
}

impl From<DateFormat> for String {
    fn from(format: DateFormat) -> String {
        format.0.to_string()
    }
}

impl JsonSchema for DateFormat {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "DateFormat".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "minLength": 8, "maxLength": 40, "examples": ["DD/MM/YYYY"]})
    }
}

/// Header of a column.
type Header = Text<1, 200>;

/// How the rate sheets of an upstream are laid out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SheetMapping {
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
    pub columns: SheetColumns,
    /// Pattern of dates that are texts, of YYYY, MM and DD, and HH, mm and ss for a time (UTC), such as DD/MM/YYYY. If
    /// null, dates are as in 2030-01-31 or RFC 3339. Date cells of a workbook need no pattern.
    #[serde(default)]
    pub date_format: Option<DateFormat>,
    /// Decimal separator of amounts that are texts; if null, point and comma are accepted.
    #[serde(default)]
    pub decimal_separator: Option<DecimalSeparator>,
    /// Separator of several prefixes in one cell; if null, a cell has one prefix or one range such as 31201-31209.
    #[serde(default)]
    pub prefix_separator: Option<PrefixSeparator>,
    /// Values of the column `change` that withdraw the prefix. If empty, common words such as "closed" do, and unknown
    /// words are errors.
    #[serde(default)]
    #[schemars(length(max = 50))]
    pub closed_values: Vec<Text<1, 100>>,
}

/// A mapping in a request, where fields may be left out.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct SheetMappingInput(pub SheetMapping);

impl JsonSchema for SheetMappingInput {
    fn schema_name() -> Cow<'static, str> {
        "SheetMappingInput".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SheetMapping::json_schema(generator)
    }
}

/// Headers of the columns of a rate sheet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(deny_unknown_fields)]
pub struct SheetColumns {
    /// Prefixes, or dial codes if there is a column for area codes.
    pub prefix: Header,
    /// Digits that follow the dial code.
    #[serde(default)]
    pub area_code: Option<Header>,
    /// Names of the destinations.
    pub destination_name: Header,
    /// Two-letter country codes; where they are missing or names, the prefix decides.
    #[serde(default)]
    pub country: Option<Header>,
    /// Rates per minute in the upstream's currency.
    pub rate_per_minute: Header,
    /// Connect fees in the upstream's currency.
    #[serde(default)]
    pub connect_fee: Option<Header>,
    /// Minimum and increment in one cell, such as 60/1.
    #[serde(default)]
    pub increments: Option<Header>,
    /// Billing increments in seconds.
    #[serde(default)]
    pub billing_increment_seconds: Option<Header>,
    /// Minimum durations in seconds.
    #[serde(default)]
    pub minimum_seconds: Option<Header>,
    /// When rates come into force.
    #[serde(default)]
    pub effective_at: Option<Header>,
    /// Whether rates are new, changed or closed.
    #[serde(default)]
    pub change: Option<Header>,
}

impl SheetColumns {
    fn named(&self) -> Vec<(SheetColumn, &Header)> {
        let SheetColumns {
            prefix,
            area_code,
            destination_name,
            country,
            rate_per_minute,
            connect_fee,
            increments,
            billing_increment_seconds,
            minimum_seconds,
            effective_at,
            change,
        } = self;
        let columns = [
            (SheetColumn::Prefix, Some(prefix)),
            (SheetColumn::AreaCode, area_code.as_ref()),
            (SheetColumn::Destination, Some(destination_name)),
            (SheetColumn::Country, country.as_ref()),
            (SheetColumn::Rate, Some(rate_per_minute)),
            (SheetColumn::ConnectFee, connect_fee.as_ref()),
            (SheetColumn::Increments, increments.as_ref()),
            (SheetColumn::Increment, billing_increment_seconds.as_ref()),
            (SheetColumn::Minimum, minimum_seconds.as_ref()),
            (SheetColumn::EffectiveAt, effective_at.as_ref()),
            (SheetColumn::Change, change.as_ref()),
        ];
        columns.into_iter().filter_map(|(column, header)| Some((column, header?))).collect()
    }

    /// `None` if a required column is missing.
    fn of(mapping: &rating::SheetMapping) -> Option<SheetColumns> {
        let header = |column: SheetColumn| mapping.column(column)?.parse::<Header>().ok();
        Some(SheetColumns {
            prefix: header(SheetColumn::Prefix)?,
            area_code: header(SheetColumn::AreaCode),
            destination_name: header(SheetColumn::Destination)?,
            country: header(SheetColumn::Country),
            rate_per_minute: header(SheetColumn::Rate)?,
            connect_fee: header(SheetColumn::ConnectFee),
            increments: header(SheetColumn::Increments),
            billing_increment_seconds: header(SheetColumn::Increment),
            minimum_seconds: header(SheetColumn::Minimum),
            effective_at: header(SheetColumn::EffectiveAt),
            change: header(SheetColumn::Change),
        })
    }
}

impl SheetMapping {
    /// The mapping as files are read by it.
    pub fn rules(&self) -> rating::SheetMapping {
        let first = |word: &str| word.chars().next();
        rating::SheetMapping {
            format: self.format.map(SheetFormat::rules),
            sheet: self.sheet.as_ref().map(ToString::to_string),
            header_row: self.header_row.and_then(|row| u64::try_from(row).ok()),
            columns: self.columns.named().into_iter().map(|(column, header)| (column, header.to_string())).collect(),
            date_format: self.date_format.as_ref().map(|format| format.rules().clone()),
            decimal_separator: self.decimal_separator.and_then(|separator| first(separator.as_str())),
            prefix_separator: self.prefix_separator.and_then(|separator| first(separator.as_str())),
            closed_values: self.closed_values.iter().map(ToString::to_string).collect(),
        }
    }

    /// `None` if it names a column that a mapping cannot.
    pub fn of(rules: &rating::SheetMapping) -> Option<SheetMapping> {
        let word = |letter: Option<char>| letter.map(String::from).unwrap_or_default();
        Some(SheetMapping {
            format: rules.format.map(SheetFormat::from),
            sheet: rules.sheet.as_ref().and_then(|sheet| sheet.parse().ok()),
            header_row: rules.header_row.and_then(|row| i64::try_from(row).ok()),
            columns: SheetColumns::of(rules)?,
            date_format: rules.date_format.clone().map(DateFormat::from),
            decimal_separator: word(rules.decimal_separator).parse().ok(),
            prefix_separator: word(rules.prefix_separator).parse().ok(),
            closed_values: rules.closed_values.iter().filter_map(|value| value.parse().ok()).collect(),
        })
    }
}

/// What a rate sheet looks like to an import.
#[derive(Clone, Serialize, JsonSchema)]
pub struct SheetPreview {
    /// Format of the file.
    pub format: SheetFormat,
    /// Sheet that was read; null for CSV and when no layout fits.
    pub sheet: Option<String>,
    /// Visible sheets of the workbook; empty for CSV.
    pub sheets: Vec<String>,
    /// Row of the header; null when no layout fits.
    pub header_row: Option<i64>,
    /// Where the layout comes from; null when none fits, and then the errors say why.
    pub layout: Option<LayoutSource>,
    /// Mapping that the file was read by; null for our own header and when no layout fits.
    pub mapping: Option<SheetMapping>,
    /// Mapping that the header suggests; null when it does not suggest one. Save it to import such files.
    pub detected: Option<SheetMapping>,
    /// Number of prefixes that the rows name.
    pub prefixes: i64,
    /// First 20 prefixes as they would be imported.
    pub rows: Vec<PreviewedRate>,
    /// Number of errors in the file; with any error an import changes nothing.
    pub error_count: i64,
    /// First 1000 errors in the file.
    pub errors: Vec<ImportFault>,
}

/// A prefix of a row as it would be imported.
#[derive(Clone, Serialize, JsonSchema)]
pub struct PreviewedRate {
    /// Line in the file.
    pub line: u64,
    /// Prefix.
    pub prefix: String,
    /// When the row comes into force (RFC 3339, UTC).
    pub effective_at: Rfc3339,
    /// Whether the row has a rate; without one it withdraws the prefix, or has errors.
    pub has_rate: bool,
    /// Name of the destination; null without a rate.
    pub destination_name: Option<String>,
    /// Country of the destination; null without a rate.
    pub country: Option<Country>,
    /// Rate per minute in the upstream's currency; null without a rate.
    pub rate_per_minute: Option<ExactMoney>,
    /// Connect fee in the upstream's currency; null without a rate.
    pub connect_fee: Option<ExactMoney>,
    /// Billing increment in seconds; null without a rate.
    pub billing_increment_seconds: Option<u16>,
    /// Minimum duration in seconds; null without a rate.
    pub minimum_seconds: Option<u16>,
}

impl PreviewedRate {
    pub fn new(row: ParsedRow, currency: Currency) -> PreviewedRate {
        let ParsedRow { line, entry } = row;
        let offer: Option<&Offer> = entry.offer.as_ref();
        let money = |nanos: i64| ExactMoney(Money::from_nanos(nanos, currency));
        PreviewedRate {
            line,
            prefix: entry.prefix.to_string(),
            effective_at: Rfc3339(Time::from_millis(entry.effective_at)),
            has_rate: offer.is_some(),
            destination_name: offer.map(|offer| offer.destination.name.to_string()),
            country: offer.map(|offer| offer.destination.country.as_str().parse().unwrap_or(Country::UNKNOWN)),
            rate_per_minute: offer.map(|offer| money(offer.rate.nanos_per_minute())),
            connect_fee: offer.map(|offer| money(offer.rate.connect_fee_nanos())),
            billing_increment_seconds: offer.map(|offer| offer.rate.increment_seconds()),
            minimum_seconds: offer.map(|offer| offer.rate.minimum_seconds()),
        }
    }
}

/// The names of columns in a mapping and in errors are the same.
#[cfg(test)]
mod tests {
    use super::*;
    use rating::NamedColumn as _;

    #[test]
    fn a_mapping_names_columns_as_errors_do() {
        let names: Vec<&str> = SheetColumn::MAPPED.iter().map(|column| column.name()).collect();
        let header = |name: &str| name.parse::<Header>().ok();
        let mapping = rating::SheetMapping {
            columns: SheetColumn::MAPPED.iter().map(|column| (*column, column.name().to_owned())).collect(),
            ..rating::SheetMapping::default()
        };
        let columns = SheetColumns::of(&mapping).map(|columns| serde_json::to_value(columns).unwrap_or_default());
        for name in names {
            assert!(header(name).is_some());
            assert_eq!(columns.as_ref().and_then(|columns| columns[name].as_str()), Some(name));
        }
    }
}
