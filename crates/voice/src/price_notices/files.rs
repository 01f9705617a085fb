//! The changed rates as a table, in CSV and as a workbook. Equal rows give equal bytes.

use std::io::Write;

use rating::Rate;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, XlsxError};

use super::compare::ChangedRate;
use identity::balance::CURRENCY;
use values::{Money, Rfc3339, Time};

const COLUMNS: [&str; 14] = [
    "prefix",
    "country",
    "destination_name",
    "change",
    "old_rate_per_minute",
    "new_rate_per_minute",
    "old_connect_fee",
    "new_connect_fee",
    "old_billing_increment_seconds",
    "new_billing_increment_seconds",
    "old_minimum_seconds",
    "new_minimum_seconds",
    "currency",
    "effective_at",
];

/// Typical length of a line.
const LINE_BYTES: usize = 110;
/// Width of most columns of the sheet, in characters, and of the one with names.
const WIDTH: f64 = 14.0;
const NAME_WIDTH: f64 = 40.0;
const NANOS: f64 = 1e9;

enum Cell {
    Empty,
    Text(String),
    /// Nanos.
    Amount(i64),
    Seconds(u16),
}

fn cells(row: &ChangedRate) -> [Cell; COLUMNS.len()] {
    let text = |text: &str| Cell::Text(text.to_owned());
    let amount =
        |rate: &Option<Rate>, of: fn(&Rate) -> i64| rate.as_ref().map_or(Cell::Empty, |rate| Cell::Amount(of(rate)));
    let seconds =
        |rate: &Option<Rate>, of: fn(&Rate) -> u16| rate.as_ref().map_or(Cell::Empty, |rate| Cell::Seconds(of(rate)));
    let since = row.effective_at.map(|millis| Rfc3339(Time::from_millis(millis)).to_string());
    [
        Cell::Text(row.prefix.to_string()),
        text(row.destination.country.as_str()),
        text(&row.destination.name),
        text(row.change.as_str()),
        amount(&row.from, Rate::nanos_per_minute),
        amount(&row.to, Rate::nanos_per_minute),
        amount(&row.from, Rate::connect_fee_nanos),
        amount(&row.to, Rate::connect_fee_nanos),
        seconds(&row.from, Rate::increment_seconds),
        seconds(&row.to, Rate::increment_seconds),
        seconds(&row.from, Rate::minimum_seconds),
        seconds(&row.to, Rate::minimum_seconds),
        Cell::Text(CURRENCY.to_string()),
        since.map_or(Cell::Empty, Cell::Text),
    ]
}

pub fn csv(rows: &[ChangedRate]) -> Vec<u8> {
    let mut table = Vec::with_capacity((rows.len() + 2) * LINE_BYTES);
    table.extend_from_slice(COLUMNS.join(",").as_bytes());
    table.push(b'\n');
    for row in rows {
        for (position, cell) in cells(row).iter().enumerate() {
            if position > 0 {
                table.push(b',');
            }
            // Writing to memory cannot fail.
            let _ = match cell {
                Cell::Empty => Ok(()),
                Cell::Text(text) => {
                    sheet::write_cell(&mut table, text);
                    Ok(())
                }
                Cell::Amount(nanos) => write!(table, "{}", Money::from_nanos(*nanos, CURRENCY).amount()),
                Cell::Seconds(seconds) => write!(table, "{seconds}"),
            };
        }
        table.push(b'\n');
    }
    table
}

pub fn xlsx(rows: &[ChangedRate]) -> Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    // Else the time of writing would be in it.
    let created = ExcelDateTime::from_ymd(2026, 1, 1)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&created));
    let sheet = book.add_worksheet();
    sheet.set_name("Price changes")?.set_freeze_panes(1, 0)?;
    let bold = Format::new().set_bold();
    for (column, name) in (0..).zip(COLUMNS) {
        sheet.set_column_width(column, if name == "destination_name" { NAME_WIDTH } else { WIDTH })?;
        sheet.write_string_with_format(0, column, name, &bold)?;
    }
    for (line, row) in (1..).zip(rows) {
        for (column, cell) in (0..).zip(cells(row)) {
            match cell {
                Cell::Empty => continue,
                Cell::Text(text) => sheet.write_string(line, column, text)?,
                // A program shows the shortest number that is this one, such as 0.0045.
                Cell::Amount(nanos) => sheet.write_number(line, column, nanos as f64 / NANOS)?,
                Cell::Seconds(seconds) => sheet.write_number(line, column, seconds)?,
            };
        }
    }
    book.save_to_buffer()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use rating::{Country, Destination};

    use super::*;
    use crate::price_notices::compare::PriceChange;

    fn rows() -> Vec<ChangedRate> {
        let destination =
            |name: &str| Arc::new(Destination { name: name.into(), country: Country::new("NL").unwrap() });
        let rate = |nanos| Some(Rate::new(nanos, 0, 60, 1).unwrap());
        let changed = |prefix: &str, name, change, from, to, effective_at| ChangedRate {
            prefix: prefix.parse().unwrap(),
            destination: destination(name),
            change,
            from,
            to,
            effective_at,
        };
        vec![
            changed("31", "=1+1, fixed", PriceChange::Increased, rate(4_500_000), rate(5_000_000), Some(0)),
            changed("316", "Mobile", PriceChange::Removed, rate(19_000_000), None, None),
        ]
    }

    #[test]
    fn a_line_has_both_rates_and_no_formula() {
        let table = String::from_utf8(csv(&rows())).unwrap();
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "31,NL,\"'=1+1, fixed\",increased,0.0045,0.005,0.00,0.00,60,60,1,1,EUR,1970-01-01T00:00:00Z",
                "316,NL,Mobile,removed,0.019,,0.00,,60,,1,,EUR,",
            ]
        );
    }

    #[test]
    fn a_workbook_has_the_same_cells_and_equal_rows_give_equal_bytes() {
        let book = xlsx(&rows()).unwrap();
        assert_eq!(book, xlsx(&rows()).unwrap());
        let tables = sheet::Book::open(book.as_slice()).unwrap().peek().unwrap();
        let texts: Vec<Vec<&str>> =
            tables[0].rows.iter().map(|row| row.cells.iter().map(|(text, _)| text.as_str()).collect()).collect();
        assert_eq!(texts[0], COLUMNS);
        let first = ["31", "NL", "=1+1, fixed", "increased", "0.0045", "0.005", "0", "0", "60", "60", "1", "1"];
        assert_eq!(texts[1][..12], first);
        assert_eq!(texts[2][3..6], ["removed", "0.019", ""]);
    }
}
