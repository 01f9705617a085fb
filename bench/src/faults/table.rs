//! What was found, for a person to read.

use std::fmt::Write;

use super::{Findings, READY_WITHIN};
use crate::report::Spread;

pub fn table(found: &[Findings]) -> String {
    let mut table = String::new();
    let mut row = |what: &str, cell: &dyn Fn(&Findings) -> String| {
        let cells: Vec<String> = found.iter().map(cell).collect();
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {what} | {} |", cells.join(" | "));
    };
    row("", &|findings| findings.engine.name().to_owned());
    row("---", &|_| "---".to_owned());
    row("kills (of these while starting)", &|findings| format!("{} ({})", findings.kills, findings.at_birth));
    row("ready again after a kill, median", &|findings| format!("{:.3} s", Spread::of(findings.ready.clone()).median));
    row(&format!("ready again after a kill, worst (≤ {} s)", READY_WITHIN.as_secs()), &|findings| {
        format!("{:.3} s", Spread::of(findings.ready.clone()).most)
    });
    row("writes asked for", &|findings| {
        let writes = findings.proved.writes();
        format!("{writes} ({:.0} a second)", writes as f64 / findings.seconds)
    });
    row("requests sent again", &|findings| findings.again.to_string());
    row("credits, in the ledger once", &|findings| findings.proved.credits.to_string());
    row("corrections, in the ledger once", &|findings| findings.proved.corrections.to_string());
    row("top-ups paid, in the ledger once", &|findings| findings.proved.topups.to_string());
    row("numbers that work, charged once", &|findings| findings.proved.numbers.to_string());
    row("numbers refused by the carrier, charged and refunded once", &|findings| findings.proved.refunded.to_string());
    row("refused, declined or left alone: no effect", &|findings| findings.proved.without_effect.to_string());
    row("lines of all ledgers, none left over", &|findings| findings.proved.lines.to_string());
    row("repeated afterwards, same answer", &|findings| findings.proved.replayed.to_string());
    row("balances, `ledger verify`, `audit verify`", &|findings| {
        if findings.proved.verified { "right" } else { "not reached" }.to_owned()
    });
    row("fault", &|findings| findings.fault.clone().unwrap_or_else(|| "none".to_owned()));
    table
}
