//! A call as a line of a file: cells in the order of the resource's fields, or the resource itself as JSON.

use std::io::Write;

use super::store::FileRow;
use super::types::ExportFormat;
use crate::features::cdrs::types::{Cdr, money};
use crate::values::{E164, Rfc3339, Time};

const HEADER: &str = "id,call_id,leg,started_at,answered_at,ended_at,duration_seconds,calling,called,country,\
                      destination_name,status,customer_charge_amount,customer_charge_currency,trunk_id\n";
/// About what a line takes.
const LINE_BYTES: usize = 320;

/// What a file begins with.
pub const fn header(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => HEADER,
        ExportFormat::Jsonl => "",
    }
}

/// These calls as lines.
pub fn lines(format: ExportFormat, rows: Vec<FileRow>) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(rows.len() * LINE_BYTES);
    for row in rows {
        match format {
            ExportFormat::Csv => write_cells(&mut out, &row)?,
            ExportFormat::Jsonl => {
                serde_json::to_writer(&mut out, &Cdr::from(row))?;
                out.push(b'\n');
            }
        }
    }
    Ok(out)
}

impl From<FileRow> for Cdr {
    fn from(row: FileRow) -> Self {
        Cdr {
            id: row.id,
            call_id: row.call_id,
            leg: row.leg,
            started_at: Rfc3339(row.started_at),
            answered_at: row.answered_at.map(Rfc3339),
            ended_at: row.ended_at.map(Rfc3339),
            duration_seconds: row.duration_seconds,
            calling: row.calling,
            called: row.called,
            country: row.country,
            destination_name: row.destination_name,
            status: row.status,
            customer_charge: money(row.charge, row.currency),
            trunk_id: row.trunk_id,
        }
    }
}

fn write_cells(out: &mut Vec<u8>, row: &FileRow) -> std::io::Result<()> {
    write!(out, "{},", row.id)?;
    write_text(out, &row.call_id);
    write!(out, ",{},{},", row.leg, Rfc3339(row.started_at))?;
    write_moment(out, row.answered_at)?;
    out.push(b',');
    write_moment(out, row.ended_at)?;
    write!(out, ",{},", row.duration_seconds)?;
    write_text(out, &row.calling);
    out.push(b',');
    write_text(out, &row.called);
    out.push(b',');
    out.extend_from_slice(row.country.map_or("", |country| country.code()).as_bytes());
    out.push(b',');
    write_text(out, row.destination_name.as_deref().unwrap_or_default());
    let charge = money(row.charge, row.currency).0;
    writeln!(out, ",{},{},{},{}", row.status, charge.amount(), row.currency, row.trunk_id)
}

fn write_moment(out: &mut Vec<u8>, moment: Option<Time>) -> std::io::Result<()> {
    moment.map_or(Ok(()), |moment| write!(out, "{}", Rfc3339(moment)))
}

/// A text as a cell: quoted where it must be, and nothing that a spreadsheet would take for a formula. A number in
/// international form is left as it is, since its plus belongs to it.
fn write_text(out: &mut Vec<u8>, text: &str) {
    let must_be_quoted = text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    let looks_like_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<E164>().is_err();
    if must_be_quoted {
        out.push(b'"');
    }
    if looks_like_formula {
        out.push(b'\'');
    }
    if must_be_quoted {
        for byte in text.bytes() {
            out.extend_from_slice(if byte == b'"' { b"\"\"" } else { std::slice::from_ref(&byte) });
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn cell(text: &str) -> String {
        let mut out = Vec::new();
        write_text(&mut out, text);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_cell_is_a_formula_and_numbers_keep_their_plus() {
        assert_eq!(cell("+31201234567"), "+31201234567");
        for (text, written) in [
            ("=1+1", "'=1+1"),
            ("+31", "'+31"),
            ("+31201234567;x", "'+31201234567;x"),
            ("-1", "'-1"),
            ("@a", "'@a"),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
            ("=\"a\",b", "\"'=\"\"a\"\",b\""),
            ("a, b", "\"a, b\""),
            ("plain", "plain"),
            ("", ""),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_read_again_as_one_cell(text in any::<String>()) {
            let line = format!("{},end\n", cell(&text));
            let read = read_csv(&line);
            prop_assert_eq!(read.len(), 2);
            prop_assert_eq!(read[0].strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(&read[0]), &text);
            prop_assert!(!read[0].starts_with(['=', '-', '@', '\t', '\r']));
        }
    }

    /// The cells of one line, by the rules of RFC 4180.
    fn read_csv(line: &str) -> Vec<String> {
        let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
        let mut rest = line.strip_suffix('\n').unwrap().chars().peekable();
        while let Some(next) = rest.next() {
            match (next, quoted) {
                ('"', true) if rest.peek() == Some(&'"') => cell.extend(rest.next()),
                ('"', _) => quoted = !quoted,
                (',', false) => cells.push(std::mem::take(&mut cell)),
                (other, _) => cell.push(other),
            }
        }
        cells.push(cell);
        cells
    }
}
