//! Results: medians with their spread, compared with limits, as a Markdown table.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// Median, minimum and maximum of several measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

    /// What was measured once.
    pub fn single(value: f64) -> Spread {
        Spread { median: value, min: value, max: value }
    }

    /// Ratio round by round, so that other load on the machine affects both sides alike.
    pub fn ratio(ours: &[f64], yardstick: &[f64]) -> Spread {
        Spread::of(ours.iter().zip(yardstick).map(|(ours, yardstick)| ours / yardstick).collect())
    }

    fn is_finite(self) -> bool {
        [self.median, self.min, self.max].into_iter().all(f64::is_finite)
    }

    pub fn width(self) -> f64 {
        self.max - self.min
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

    fn is_upper(self) -> bool {
        matches!(self, Limit::AtMost(..))
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
    id: String,
    pub what: String,
    pub ours: String,
    pub yardstick: String,
    pub ratio: String,
    limit: Option<Limit>,
    holds: bool,
    is_better_when_lower: bool,
    figures: Figures,
    noise: f64,
}

/// What a row says in numbers.
pub struct Figures {
    pub ours: Spread,
    /// The median of the baseline, and the ratio to it.
    pub beside: Option<(f64, Spread)>,
}

impl Line {
    /// The service's rate compared with a baseline's, round by round. Without a limit it is only reported.
    pub fn beside(what: impl Into<String>, ours: Vec<f64>, yardstick: Vec<f64>, limit: Option<Limit>) -> Line {
        Line::compared(what.into(), ours, yardstick, limit, |spread| spread.text(0, " /s"))
    }

    /// What something costs in milliseconds, compared with a baseline, round by round.
    pub fn cost(what: impl Into<String>, ours: Vec<f64>, yardstick: Vec<f64>, limit: Limit) -> Line {
        Line::compared(what.into(), ours, yardstick, Some(limit), |spread| spread.text(2, " ms"))
    }

    fn compared(
        what: String,
        ours: Vec<f64>,
        yardstick: Vec<f64>,
        limit: Option<Limit>,
        text: fn(Spread) -> String,
    ) -> Line {
        let ratio = Spread::ratio(&ours, &yardstick);
        let (ours, yardstick) = (Spread::of(ours), Spread::of(yardstick));
        Line {
            id: slug(&what),
            what,
            ours: text(ours),
            yardstick: text(yardstick),
            ratio: ratio.text(2, "×"),
            limit,
            holds: limit.is_none_or(|limit| limit.holds(ratio.median)),
            is_better_when_lower: limit.is_some_and(Limit::is_upper),
            figures: Figures { ours, beside: Some((yardstick.median, ratio)) },
            noise: 0.0,
        }
    }

    /// A single value with a limit; `before` is shown in the baseline column.
    pub fn alone(what: impl Into<String>, ours: String, before: String, value: f64, limit: Limit) -> Line {
        Line {
            limit: Some(limit),
            holds: limit.holds(value),
            is_better_when_lower: limit.is_upper(),
            ..Line::reported(what, ours, before, value)
        }
    }

    /// A value without a limit; more is better unless [`Line::better_when_lower`].
    pub fn reported(what: impl Into<String>, ours: String, before: String, value: f64) -> Line {
        let what = what.into();
        Line {
            id: slug(&what),
            what,
            ours,
            yardstick: before,
            ratio: String::new(),
            limit: None,
            holds: true,
            is_better_when_lower: false,
            figures: Figures { ours: Spread::single(value), beside: None },
            noise: 0.0,
        }
    }

    /// Names the row for comparisons with other runs; a text may change, an id must not. Without one it is the text.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Line {
        self.id = id.into();
        self
    }

    /// The spread of a value that was measured several times.
    #[must_use]
    pub fn spread(mut self, spread: Spread) -> Line {
        self.figures.ours = spread;
        self
    }

    /// Of a value without a limit.
    #[must_use]
    pub fn better_when_lower(mut self) -> Line {
        self.is_better_when_lower = true;
        self
    }

    /// Smaller changes than this are noise, whatever the spread: for values that are small differences.
    #[must_use]
    pub fn noise(mut self, noise: f64) -> Line {
        self.noise = noise;
        self
    }

    pub fn name(&self) -> &str {
        &self.id
    }

    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    pub fn least_change(&self) -> f64 {
        self.noise
    }

    pub fn is_better_when_lower(&self) -> bool {
        self.is_better_when_lower
    }

    pub fn limit_text(&self) -> Option<String> {
        self.limit.map(Limit::text)
    }

    pub fn holds(&self) -> bool {
        self.holds
    }
}

/// The part of a text before its baseline, with only letters, digits and hyphens.
fn slug(what: &str) -> String {
    let what = what.split(';').next().unwrap_or(what).to_lowercase();
    let words = what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

const HEADER: &str = "| Measurement | Trunkline | Baseline | Ratio | Limit | Verdict |\n|---|---|---|---|---|---|\n";

#[derive(Default)]
pub struct Report(Vec<Line>);

impl Report {
    /// Adds the rows of a measurement, whose name precedes their ids.
    pub fn add(&mut self, measurement: &str, lines: Vec<Line>) {
        self.0.extend(lines.into_iter().map(|line| Line { id: format!("{measurement}.{}", line.id), ..line }));
    }

    pub fn lines(&self) -> &[Line] {
        &self.0
    }

    pub fn holds(&self) -> bool {
        self.0.iter().all(|line| line.holds)
    }

    /// An id that two rows have.
    pub fn repeated_id(&self) -> Option<&str> {
        let mut ids: Vec<&str> = self.0.iter().map(Line::name).collect();
        ids.sort_unstable();
        ids.windows(2).find_map(|pair| (pair[0] == pair[1]).then_some(pair[0]))
    }

    /// The id of a row that was measured in vain.
    pub fn without_number(&self) -> Option<&str> {
        let is_finite =
            |Figures { ours, beside }: &Figures| ours.is_finite() && beside.is_none_or(|(_, ratio)| ratio.is_finite());
        self.0.iter().find(|line| !is_finite(&line.figures)).map(Line::name)
    }

    pub fn table(&self) -> String {
        let mut table = HEADER.to_owned();
        for line in &self.0 {
            let Line { what, ours, yardstick, ratio, holds, .. } = line;
            let (limit, verdict) = match line.limit_text() {
                None => ("none".to_owned(), ""),
                Some(limit) => (limit, if *holds { "met" } else { "**missed**" }),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(table, "| {what} | {ours} | {yardstick} | {ratio} | {limit} | {verdict} |");
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_an_id_is_named_by_its_text_up_to_the_baseline() {
        let line = Line::beside("Debits, 32 clients, SQLite; baseline: pgbench", vec![2.0], vec![1.0], None);
        assert_eq!(line.name(), "debits-32-clients-sqlite");
    }

    #[test]
    fn a_measurement_names_its_rows_and_a_repeated_id_is_found() {
        let line = |id: &str| Line::beside("Requests", vec![2.0], vec![1.0], None).id(id);
        let mut report = Report::default();
        report.add("requests", vec![line("me"), line("gzip")]);
        report.add("numbers", vec![line("me")]);
        assert_eq!(report.lines().first().map(Line::name), Some("requests.me"));
        assert_eq!(report.repeated_id(), None);
        report.add("requests", vec![line("gzip")]);
        assert_eq!(report.repeated_id(), Some("requests.gzip"));
    }

    #[test]
    fn a_row_without_a_number_is_found() {
        let line = |ours: Vec<f64>, yardstick| Line::beside("Rate", ours, yardstick, None).id("rate");
        let mut report = Report::default();
        report.add("whole", vec![line(vec![1.0], vec![2.0])]);
        assert_eq!(report.without_number(), None);
        report.add("nothing", vec![line(vec![1.0], vec![0.0])]);
        assert_eq!(report.without_number(), Some("nothing.rate"));
    }

    #[test]
    fn a_limit_is_on_the_median_ratio_where_there_is_a_baseline() {
        let line = |limit| Line::beside("Rate", vec![1.0, 4.0, 3.0], vec![2.0, 2.0, 2.0], Some(limit));
        assert!(line(Limit::AtLeast(1.5, "×")).holds());
        assert!(!line(Limit::AtLeast(1.6, "×")).holds());
        assert!(line(Limit::AtMost(1.5, "×")).holds());
    }
}
