//! A CDR as a line of a file: CSV cells in the order of the fields of [`Cdr`](crate::cdrs::types::Cdr), or the item of
//! the CDR list as JSON. Those of the team also have customer, upstream, cost and margin.

use std::io::Write;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::types::ExportFormat;
use crate::cdrs::search::CdrListRow;
use crate::cdrs::types::{CdrListItem, money};
use identity::names::Names;
use values::{ExactMoney, Rfc3339, Time, TimeZone, UpstreamId};

const HEADER: &str = "id,call_id,leg,started_at,answered_at,ended_at,duration_seconds,calling,called,country,\
                      destination_name,status,customer_charge_amount,customer_charge_currency,trunk_id\n";
const TEAM_HEADER: &str = "id,call_id,leg,started_at,answered_at,ended_at,duration_seconds,calling,called,country,\
                           destination_name,status,customer_charge_amount,customer_charge_currency,trunk_id,\
                           trunk_name,customer_id,customer_name,upstream_id,upstream_name,our_cost_amount,\
                           our_cost_currency,margin_amount,margin_currency\n";
/// Typical length of a line.
const LINE_BYTES: usize = 320;

/// How the lines of a file look.
pub struct Style {
    pub format: ExportFormat,
    pub is_team: bool,
    /// UTC if there is none.
    pub time_zone: Option<TimeZone>,
}

/// CDRs with the names of their trunks and, for the team, of customers and upstreams.
pub struct Lines {
    pub rows: Vec<CdrListRow>,
    pub names: Names,
}

/// A CDR as the team gets it.
#[derive(Serialize)]
struct TeamLine {
    #[serde(flatten)]
    cdr: CdrListItem,
    customer_id: Uuid,
    customer_name: Option<String>,
    upstream_id: Option<UpstreamId>,
    upstream_name: Option<String>,
    our_cost: ExactMoney,
    margin: ExactMoney,
}

/// The first line of a file.
pub const fn header(style: &Style) -> &'static str {
    match (style.format, style.is_team) {
        (ExportFormat::Csv, false) => HEADER,
        (ExportFormat::Csv, true) => TEAM_HEADER,
        (ExportFormat::Jsonl, _) => "",
    }
}

/// CDRs as lines.
pub fn write(style: &Style, lines: Lines) -> std::io::Result<Vec<u8>> {
    let Lines { rows, names } = lines;
    let mut out = Vec::with_capacity(rows.len() * LINE_BYTES);
    for row in rows {
        match style.format {
            ExportFormat::Csv => write_cells(&mut out, style, &row, &names)?,
            ExportFormat::Jsonl => write_object(&mut out, style, row, &names)?,
        }
        out.push(b'\n');
    }
    Ok(out)
}

fn write_object(out: &mut Vec<u8>, style: &Style, row: CdrListRow, names: &Names) -> std::io::Result<()> {
    let (is_team, time_zone) = (style.is_team, style.time_zone.as_ref());
    let times = [("started_at", Some(row.started_at)), ("answered_at", row.answered_at), ("ended_at", row.ended_at)];
    let trunk_name = names.get(row.trunk_id.uuid());
    let margin = money(row.charge - row.cost, row.currency);
    let team = (row.account_id.uuid(), row.upstream_id, money(row.cost, row.currency));
    let cdr = CdrListItem { trunk_name, cdr: row.into() };
    let mut object = if is_team {
        let (customer_id, upstream_id, our_cost) = team;
        serde_json::to_value(TeamLine {
            cdr,
            customer_id,
            customer_name: names.get(customer_id),
            upstream_id,
            upstream_name: upstream_id.and_then(|id| names.get(id.uuid())),
            our_cost,
            margin,
        })?
    } else if time_zone.is_some() {
        serde_json::to_value(cdr)?
    } else {
        return Ok(serde_json::to_writer(out, &cdr)?);
    };
    if let Some(time_zone) = time_zone {
        for (name, time) in times {
            object[name] = time.map_or(Value::Null, |time| Value::String(time_zone.format(time)));
        }
    }
    Ok(serde_json::to_writer(out, &object)?)
}

fn write_cells(out: &mut Vec<u8>, style: &Style, row: &CdrListRow, names: &Names) -> std::io::Result<()> {
    write!(out, "{},", row.id)?;
    sheet::write_cell(out, &row.call_id);
    write!(out, ",{},", row.leg)?;
    write_time(out, style, Some(row.started_at))?;
    out.push(b',');
    write_time(out, style, row.answered_at)?;
    out.push(b',');
    write_time(out, style, row.ended_at)?;
    write!(out, ",{},", row.duration_seconds)?;
    sheet::write_cell(out, &row.calling);
    out.push(b',');
    sheet::write_cell(out, &row.called);
    out.push(b',');
    out.extend_from_slice(row.country.map_or("", |country| country.code()).as_bytes());
    out.push(b',');
    sheet::write_cell(out, row.destination_name.as_deref().unwrap_or_default());
    let charge = money(row.charge, row.currency).0;
    write!(out, ",{},{},{},{}", row.status, charge.amount(), row.currency, row.trunk_id)?;
    if style.is_team {
        write_team_cells(out, row, names)?;
    }
    Ok(())
}

fn write_team_cells(out: &mut Vec<u8>, row: &CdrListRow, names: &Names) -> std::io::Result<()> {
    let name = |id: Uuid| names.get(id).unwrap_or_default();
    out.push(b',');
    sheet::write_cell(out, &name(row.trunk_id.uuid()));
    write!(out, ",{},", row.account_id.uuid())?;
    sheet::write_cell(out, &name(row.account_id.uuid()));
    out.push(b',');
    if let Some(upstream) = row.upstream_id {
        write!(out, "{upstream},")?;
        sheet::write_cell(out, &name(upstream.uuid()));
    } else {
        out.push(b',');
    }
    let (cost, margin) = (money(row.cost, row.currency).0, money(row.charge - row.cost, row.currency).0);
    write!(out, ",{},{},{},{}", cost.amount(), row.currency, margin.amount(), row.currency)
}

fn write_time(out: &mut Vec<u8>, style: &Style, time: Option<Time>) -> std::io::Result<()> {
    match (time, &style.time_zone) {
        (None, _) => Ok(()),
        (Some(time), None) => write!(out, "{}", Rfc3339(time)),
        (Some(time), Some(zone)) => write!(out, "{}", zone.format(time)),
    }
}
