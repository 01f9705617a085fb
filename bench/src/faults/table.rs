//! The result of a fault run as a Markdown table.

use std::fmt::Write;

use super::{Findings, READY_WITHIN};
use crate::report::Spread;

pub fn table(findings: &[Findings]) -> String {
    let mut table = String::new();
    let mut row = |what: &str, cell: &dyn Fn(&Findings) -> String| {
        let cells: Vec<String> = findings.iter().map(cell).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {what} | {} |", cells.join(" | "));
    };
    row("", &|findings| findings.engine.name().to_owned());
    row("---", &|_| "---".to_owned());
    row("kills (of these during start)", &|findings| format!("{} ({})", findings.kills, findings.kills_during_start));
    row("ready again after a kill, median", &|findings| {
        format!("{:.3} s", Spread::of(findings.ready_seconds.clone()).median)
    });
    row(&format!("ready again after a kill, worst (≤ {} s)", READY_WITHIN.as_secs()), &|findings| {
        format!("{:.3} s", Spread::of(findings.ready_seconds.clone()).max)
    });
    row("writes", &|findings| {
        let writes = findings.verified.writes();
        format!("{writes} ({:.0} per second)", writes as f64 / findings.load_seconds)
    });
    row("requests retried", &|findings| findings.retried.to_string());
    row("credits, each in the ledger once", &|findings| findings.verified.credits.to_string());
    row("corrections, each in the ledger once", &|findings| findings.verified.corrections.to_string());
    row("paid top-ups, each in the ledger once", &|findings| findings.verified.topups.to_string());
    row("active numbers, each charged once", &|findings| findings.verified.numbers.to_string());
    row("orders refused by the DID supplier, each charged and refunded once", &|findings| {
        findings.verified.refunded.to_string()
    });
    row("rejected, declined or abandoned, without effect", &|findings| findings.verified.without_effect.to_string());
    row("ledger lines, none unexpected", &|findings| findings.verified.lines.to_string());
    row("replayed afterwards, same response", &|findings| findings.verified.replayed.to_string());
    row("balances, `ledger verify`, `audit verify`", &|findings| {
        if findings.verified.self_checks_passed { "passed" } else { "not reached" }.to_owned()
    });
    row("fault", &|findings| findings.fault.clone().unwrap_or_else(|| "none".to_owned()));
    table
}
