//! Results: medians with their spread, compared with limits, as a Markdown table.

use std::fmt::Write;

/// Median, minimum and maximum of several measurements.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Spread { median: at(values.len() / 2), min: at(0), max: at(values.len().saturating_sub(1)) }
    }

    /// Ratio round by round, so that other load on the machine affects both sides alike.
    pub fn ratio(ours: &[f64], yardstick: &[f64]) -> Spread {
        Spread::of(ours.iter().zip(yardstick).map(|(ours, yardstick)| ours / yardstick).collect())
    }

    pub fn text(self, decimals: usize, unit: &str) -> String {
        let Spread { median, min, max } = self;
        format!("{median:.decimals$}{unit} ({min:.decimals$}–{max:.decimals$})")
    }
}

/// The limit of a result.
#[derive(Clone, Copy)]
pub enum Limit {
    AtLeast(f64, &'static str),
    AtMost(f64, &'static str),
}

impl Limit {
    fn holds(self, value: f64) -> bool {
        match self {
            Limit::AtLeast(bound, _) => value >= bound,
            Limit::AtMost(bound, _) => value <= bound,
        }
    }

    fn text(self) -> String {
        match self {
            Limit::AtLeast(bound, unit) => format!("≥ {bound:?}{unit}"),
            Limit::AtMost(bound, unit) => format!("≤ {bound:?}{unit}"),
        }
    }
}

/// One row of the table.
pub struct Line {
    pub what: String,
    pub ours: String,
    pub yardstick: String,
    pub ratio: String,
    limit: String,
    holds: bool,
}

impl Line {
    /// The service's rate compared with a baseline's, round by round. Without a limit it is only reported.
    pub fn beside(what: impl Into<String>, ours: Vec<f64>, yardstick: Vec<f64>, limit: Option<Limit>) -> Line {
        let ratio = Spread::ratio(&ours, &yardstick);
        Line {
            what: what.into(),
            ours: Spread::of(ours).text(0, " /s"),
            yardstick: Spread::of(yardstick).text(0, " /s"),
            ratio: ratio.text(2, "×"),
            limit: limit.map_or_else(|| "none".to_owned(), Limit::text),
            holds: limit.is_none_or(|limit| limit.holds(ratio.median)),
        }
    }

    /// A single value with a limit; `before` is shown in the baseline column.
    pub fn alone(what: impl Into<String>, ours: String, before: String, value: f64, limit: Limit) -> Line {
        let what = what.into();
        Line { what, ours, yardstick: before, ratio: String::new(), limit: limit.text(), holds: limit.holds(value) }
    }

    /// A value without a limit.
    pub fn reported(what: impl Into<String>, ours: String, before: String) -> Line {
        let (ratio, limit) = (String::new(), "none".to_owned());
        Line { what: what.into(), ours, yardstick: before, ratio, limit, holds: true }
    }
}

const HEADER: &str = "| Measurement | Trunkline | Baseline | Ratio | Limit | Verdict |\n|---|---|---|---|---|---|\n";

#[derive(Default)]
pub struct Report(Vec<Line>);

impl Report {
    pub fn add(&mut self, lines: Vec<Line>) {
        self.0.extend(lines);
    }

    pub fn holds(&self) -> bool {
        self.0.iter().all(|line| line.holds)
    }

    pub fn table(&self) -> String {
        let mut table = HEADER.to_owned();
        for Line { what, ours, yardstick, ratio, limit, holds } in &self.0 {
            let verdict = match (limit.as_str(), holds) {
                ("none", _) => "",
                (_, true) => "met",
                (_, false) => "**missed**",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(table, "| {what} | {ours} | {yardstick} | {ratio} | {limit} | {verdict} |");
        }
        table
    }
}
