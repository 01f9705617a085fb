//! A CDR as a line of a file: CSV cells in the order of the fields of [`Cdr`], or [`Cdr`] as JSON.

use std::io::Write;

use super::types::ExportFormat;
use crate::cdrs::search::CdrListRow;
use crate::cdrs::types::{Cdr, money};
use values::{Rfc3339, Time};

const HEADER: &str = "id,call_id,leg,started_at,answered_at,ended_at,duration_seconds,calling,called,country,\
                      destination_name,status,customer_charge_amount,customer_charge_currency,trunk_id\n";
/// Typical length of a line.
const LINE_BYTES: usize = 320;

/// The first line of a file.
pub const fn header(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Csv => HEADER,
        ExportFormat::Jsonl => "",
    }
}

/// CDRs as lines.
pub fn write(format: ExportFormat, rows: Vec<CdrListRow>) -> std::io::Result<Vec<u8>> {
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

fn write_cells(out: &mut Vec<u8>, row: &CdrListRow) -> std::io::Result<()> {
    write!(out, "{},", row.id)?;
    sheet::write_cell(out, &row.call_id);
    write!(out, ",{},{},", row.leg, Rfc3339(row.started_at))?;
    write_time(out, row.answered_at)?;
    out.push(b',');
    write_time(out, row.ended_at)?;
    write!(out, ",{},", row.duration_seconds)?;
    sheet::write_cell(out, &row.calling);
    out.push(b',');
    sheet::write_cell(out, &row.called);
    out.push(b',');
    out.extend_from_slice(row.country.map_or("", |country| country.code()).as_bytes());
    out.push(b',');
    sheet::write_cell(out, row.destination_name.as_deref().unwrap_or_default());
    let charge = money(row.charge, row.currency).0;
    writeln!(out, ",{},{},{},{}", row.status, charge.amount(), row.currency, row.trunk_id)
}

fn write_time(out: &mut Vec<u8>, time: Option<Time>) -> std::io::Result<()> {
    time.map_or(Ok(()), |time| write!(out, "{}", Rfc3339(time)))
}
