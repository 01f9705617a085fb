//! Parses a CSV file of DIDs, and reports every error in it with line and column.
//!
//! | Column | Holds | When absent or empty |
//! |---|---|---|
//! | `e164` | a number with its country code | a fault |
//! | `country` | two-letter country code | a fault |
//! | `type` | `local`, `tollfree` or `mobile` | a fault |
//! | `prefix` | the leading digits of the number, country code first | a fault |
//! | `monthly` | EUR, at most two decimals | a fault |
//! | `setup` | the same | 0 |
//! | `area_name` | at most 100 characters | no area |
//! | `capabilities` | `voice`, `sms`, `fax`, separated by a vertical bar | `voice` |
//! | `regulatory` | `api` or `docs_required` | `api` |

use std::collections::HashMap;
use std::io::{self, Read};

use sheet::{Column as _, Faults, Row};

use super::calling_code::national_part;
use super::store::Terms;
use super::types::{NumberCapability, NumberType, Regulatory};
use identity::balance::CURRENCY;
use values::{Country, Money, Words};

pub const MAX_ROWS: u64 = 2_000_000;
const MAX_AREA_NAME_CHARS: usize = 100;
/// A higher price is taken for a typing error.
const MAX_PRICE_NANOS: i64 = 100_000_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    E164,
    Country,
    Type,
    AreaName,
    Prefix,
    Capabilities,
    Monthly,
    Setup,
    Regulatory,
}

impl sheet::Column for Column {
    const ALL: &'static [Column] = &[
        Column::E164,
        Column::Country,
        Column::Type,
        Column::AreaName,
        Column::Prefix,
        Column::Capabilities,
        Column::Monthly,
        Column::Setup,
        Column::Regulatory,
    ];

    fn name(self) -> &'static str {
        match self {
            Column::E164 => "e164",
            Column::Country => "country",
            Column::Type => "type",
            Column::AreaName => "area_name",
            Column::Prefix => "prefix",
            Column::Capabilities => "capabilities",
            Column::Monthly => "monthly",
            Column::Setup => "setup",
            Column::Regulatory => "regulatory",
        }
    }

    fn is_required(self) -> bool {
        matches!(self, Column::E164 | Column::Country | Column::Type | Column::Prefix | Column::Monthly)
    }
}

/// A number of the file and the index of its terms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StagedRow {
    /// The E.164 digits.
    pub number: u64,
    pub terms: u32,
}

/// The content of a file without errors. Millions of numbers share few terms.
#[derive(Debug)]
pub struct StagedRows {
    /// Sorted by number, without duplicates.
    pub numbers: Vec<StagedRow>,
    pub terms: Vec<Terms>,
}

#[derive(Debug)]
pub enum BadFile {
    Io(io::Error),
    /// With the number of rows, unless the file ends early.
    Faults(Faults, Option<u64>),
}

#[derive(Default)]
struct Rows {
    numbers: Vec<(StagedRow, u32)>,
    terms: Vec<Terms>,
    /// Index of the terms, by the cells of a row without its number.
    known: HashMap<String, u32>,
}

/// Reads a file to its end.
pub fn read(source: impl Read) -> Result<StagedRows, BadFile> {
    let (mut rows, mut faults) = (Rows::default(), Faults::default());
    let add = |row: &Row<'_, Column>, faults: &mut Faults| rows.add(row, faults);
    let mut count = 0;
    let is_whole = sheet::read(source, MAX_ROWS, &mut faults, add, |rows| count = rows).map_err(BadFile::Io)?;
    if is_whole {
        rows.report_duplicates(&mut faults);
    }
    if faults.count > 0 {
        return Err(BadFile::Faults(faults.sorted_by_line(), is_whole.then_some(count)));
    }
    Ok(StagedRows { numbers: rows.numbers.into_iter().map(|(number, _)| number).collect(), terms: rows.terms })
}

impl Rows {
    fn add(&mut self, row: &Row<'_, Column>, faults: &mut Faults) {
        let number = row.required(Column::E164, faults, number);
        let terms = self.terms_of(row, faults);
        if let (Some(number), Some(terms)) = (number, terms) {
            let has_prefix = self.terms.get(terms as usize).is_some_and(|terms| begins_with(number, &terms.prefix));
            if !has_prefix {
                row.fault(faults, Column::Prefix, "must be the leading digits of the number");
            }
        }
        // Rows with a fault are kept too, so that their duplicates are reported.
        if let Some(number) = number {
            let line = u32::try_from(row.line()).unwrap_or(u32::MAX);
            self.numbers.push((StagedRow { number, terms: terms.unwrap_or_default() }, line));
        }
    }

    /// The index of the terms of a row; most rows repeat the cells of another.
    fn terms_of(&mut self, row: &Row<'_, Column>, faults: &mut Faults) -> Option<u32> {
        let mut cells = String::new();
        for column in Column::ALL.iter().skip(1) {
            cells.push_str(row.cell(*column, faults)?);
            cells.push('\n');
        }
        if let Some(known) = self.known.get(&cells) {
            return Some(*known);
        }
        let terms = terms(row, faults)?;
        let index = self.terms.iter().position(|known| *known == terms).unwrap_or_else(|| {
            self.terms.push(terms);
            self.terms.len() - 1
        });
        let index = u32::try_from(index).ok()?;
        self.known.insert(cells, index);
        Some(index)
    }

    /// Sorts the numbers and reports those that occur twice.
    fn report_duplicates(&mut self, faults: &mut Faults) {
        self.numbers.sort_unstable_by_key(|(row, line)| (row.number, *line));
        for group in self.numbers.chunk_by(|(one, _), (next, _)| one.number == next.number) {
            let [(_, first), others @ ..] = group else { continue };
            for (_, line) in others {
                faults.add(u64::from(*line), Some(Column::E164.name()), format!("is a duplicate of line {first}"));
            }
        }
    }
}

fn terms(row: &Row<'_, Column>, faults: &mut Faults) -> Option<Terms> {
    let country = row.required(Column::Country, faults, country);
    let kind = row.required(Column::Type, faults, |cell| {
        NumberType::from_alias(cell).map_err(|_| "must be local, tollfree or mobile")
    });
    let area_name = row.optional(Column::AreaName, faults, "", area_name);
    let prefix = row.required(Column::Prefix, faults, prefix);
    let capabilities = row.optional(Column::Capabilities, faults, vec![NumberCapability::Voice], capabilities);
    let monthly = row.required(Column::Monthly, faults, price);
    let setup = row.optional(Column::Setup, faults, 0, price);
    let regulatory = row.optional(Column::Regulatory, faults, Regulatory::Api, |cell| {
        cell.parse().map_err(|_| "must be api or docs_required")
    });
    let prefix = prefix?;
    Some(Terms {
        country: country?,
        kind: kind?,
        area_name: area_name?.to_owned(),
        area_code: national_part(&prefix).to_owned(),
        prefix,
        capabilities: Words(capabilities?),
        monthly: monthly?,
        setup: setup?,
        regulatory: regulatory?,
    })
}

fn strip_international_prefix(cell: &str) -> &str {
    cell.strip_prefix('+').or_else(|| cell.strip_prefix("00")).unwrap_or(cell)
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(cell: &str) -> Result<u64, &'static str> {
    let digits = strip_international_prefix(cell);
    let fits = (7..=15).contains(&digits.len()) && is_digits(digits) && !digits.starts_with('0');
    digits.parse().ok().filter(|_| fits).ok_or("must be an E.164 number such as +31201234567")
}

fn prefix(cell: &str) -> Result<String, &'static str> {
    let digits = strip_international_prefix(cell);
    let fits = (1..=15).contains(&digits.len()) && is_digits(digits);
    if fits { Ok(digits.to_owned()) } else { Err("must be 1 to 15 digits") }
}

fn begins_with(number: u64, prefix: &str) -> bool {
    number.to_string().starts_with(prefix)
}

fn country(cell: &str) -> Result<Country, &'static str> {
    cell.parse().map_err(|_| "must be a two-letter country code")
}

fn area_name(cell: &str) -> Result<&str, &'static str> {
    if cell.chars().count() > MAX_AREA_NAME_CHARS {
        Err("must have at most 100 characters")
    } else if cell.chars().any(char::is_control) {
        Err("must not have control characters")
    } else {
        Ok(cell)
    }
}

/// Sorted and without duplicates, so that equal sets are equal texts.
fn capabilities(cell: &str) -> Result<Vec<NumberCapability>, &'static str> {
    let mut capabilities = Vec::new();
    for word in cell.split('|') {
        capabilities
            .push(word.trim().to_ascii_lowercase().parse().map_err(|_| "must be voice, sms or fax, separated by |")?);
    }
    capabilities.sort_unstable();
    capabilities.dedup();
    Ok(capabilities)
}

/// Euros with a decimal point or comma, as nanos.
fn price(cell: &str) -> Result<i64, &'static str> {
    let money = Money::from_decimal_str(&cell.replace(',', "."), CURRENCY).ok();
    let whole_cents = |money: &Money| Money::from_minor(money.minor(), CURRENCY) == Ok(*money);
    let money = money.filter(whole_cents).ok_or("must be an amount in EUR such as 1.50")?;
    match money.nanos() {
        nanos if nanos < 0 => Err("must not be negative"),
        nanos if nanos > MAX_PRICE_NANOS => Err("must be at most 100000"),
        nanos => Ok(nanos),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const HEADER: &str = "e164,country,type,area_name,prefix,capabilities,monthly,setup,regulatory\n";

    fn faults(body: &str) -> Vec<String> {
        match read(format!("{HEADER}{body}").as_bytes()) {
            Err(BadFile::Faults(faults, _)) => faults.first.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_are_sorted_and_share_their_terms() {
        let body = "+31201234568,NL,local,Amsterdam,3120,fax|voice,1.50,5,api\n\
                    0031201234567,NL,Geographic,Amsterdam,+3120,Voice|FAX,\"1,5\",5.00,\n\
                    31850000000,NL,tollfree,,31,,0,,docs_required\n";
        let read = read(format!("{HEADER}{body}").as_bytes()).unwrap();
        let numbers: Vec<(u64, u32)> = read.numbers.iter().map(|row| (row.number, row.terms)).collect();
        assert_eq!(numbers, [(31_201_234_567, 0), (31_201_234_568, 0), (31_850_000_000, 1)]);
        assert_eq!(read.terms[0].area_code, "20");
        assert_eq!(read.terms[0].capabilities.0, [NumberCapability::Voice, NumberCapability::Fax]);
        assert_eq!((read.terms[0].monthly, read.terms[0].setup), (1_500_000_000, 5_000_000_000));
        assert_eq!(read.terms[1].capabilities.0, [NumberCapability::Voice]);
        assert_eq!((read.terms[1].area_name.as_str(), read.terms[1].regulatory), ("", Regulatory::DocsRequired));
    }

    #[test]
    fn every_fault_is_reported_with_its_line() {
        let body = "+31201234567,NL,local,,3130,voice,1.50,,\n\
                    12,XX,premium,,x,telex,1.505,-1,maybe\n\
                    +31201234567,NL,local,,3120,voice,,,\n";
        assert_eq!(
            faults(body),
            [
                "line 2: prefix must be the leading digits of the number",
                "line 3: e164 must be an E.164 number such as +31201234567",
                "line 3: country must be a two-letter country code",
                "line 3: type must be local, tollfree or mobile",
                "line 3: prefix must be 1 to 15 digits",
                "line 3: capabilities must be voice, sms or fax, separated by |",
                "line 3: monthly must be an amount in EUR such as 1.50",
                "line 3: setup must not be negative",
                "line 3: regulatory must be api or docs_required",
                "line 4: monthly must not be empty",
                "line 4: e164 is a duplicate of line 2",
            ]
        );
    }
}
