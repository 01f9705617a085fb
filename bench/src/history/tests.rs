//! Which changes count, which runs are compared, and what a damaged file loses.

use super::*;
use crate::report::Limit;

fn machine() -> Machine {
    Machine {
        processor: "Processor".to_owned(),
        cores: 2,
        memory_gib: 24,
        kernel: "6.1".to_owned(),
        fsyncs_per_second: 7000.0,
    }
}

fn run(commit: &str, rows: Vec<Row>) -> Run {
    let seconds = BTreeMap::from([("requests".to_owned(), 50.0)]);
    Run { commit: commit.to_owned(), date: "2026-11-18".to_owned(), machine: machine(), seconds, rows }
}

/// A row with a baseline of one a second, so that the rates are the ratios.
fn rate(id: &str, rates: &[f64]) -> Line {
    Line::beside("Rate", rates.to_vec(), vec![1.0; rates.len()], Some(Limit::AtLeast(0.1, "×"))).id(id)
}

fn value(id: &str, value: f64) -> Line {
    Line::alone("Memory", format!("{value} MiB"), String::new(), value, Limit::AtMost(1000.0, " MiB")).id(id)
}

fn report(lines: Vec<Line>) -> Report {
    let mut report = Report::default();
    report.add("requests", lines);
    report
}

fn rows(lines: Vec<Line>) -> Vec<Row> {
    report(lines).lines().iter().map(Row::of).collect()
}

/// The changes from a run with the first lines to one with the second.
fn changes(old: Vec<Line>, new: Vec<Line>) -> Vec<(String, Change)> {
    let comparison = compare(&report(new), &run("old", rows(old)));
    comparison.rows.into_iter().map(|row| (row.id, row.change)).collect()
}

fn change_of(old: Line, new: Line) -> Option<Change> {
    changes(vec![old], vec![new]).first().map(|(_, change)| *change)
}

#[test]
fn a_change_of_less_than_a_fifth_is_noise() {
    assert_eq!(change_of(rate("me", &[1.0, 1.0]), rate("me", &[0.81, 0.82])), Some(Change::None));
    assert_eq!(change_of(rate("me", &[1.0, 1.0]), rate("me", &[1.19, 1.18])), Some(Change::None));
}

#[test]
fn a_change_within_both_spreads_is_noise() {
    let (old, new) = ([0.8, 1.0, 1.2], [0.5, 0.6, 0.65]);
    assert_eq!(change_of(rate("me", &old), rate("me", &new)), Some(Change::None));
    let (old, new) = ([0.95, 1.0, 1.05], [0.55, 0.6, 0.65]);
    assert_eq!(change_of(rate("me", &old), rate("me", &new)), Some(Change::Loss));
}

#[test]
fn a_rate_that_falls_is_a_loss_and_one_that_rises_a_gain() {
    let (slow, fast) = ([0.70, 0.71, 0.72], [1.0, 1.01, 1.02]);
    assert_eq!(change_of(rate("me", &fast), rate("me", &slow)), Some(Change::Loss));
    assert_eq!(change_of(rate("me", &slow), rate("me", &fast)), Some(Change::Gain));
}

#[test]
fn a_value_with_an_upper_limit_is_better_when_lower() {
    assert_eq!(change_of(value("memory", 40.0), value("memory", 100.0)), Some(Change::Loss));
    assert_eq!(change_of(value("memory", 100.0), value("memory", 40.0)), Some(Change::Gain));
    assert_eq!(change_of(value("lost", 0.0), value("lost", 1.0)), Some(Change::Loss));
    assert_eq!(change_of(value("lost", 0.0), value("lost", 0.0)), Some(Change::None));
}

#[test]
fn a_value_without_a_limit_is_better_when_higher_unless_it_says_so() {
    let rate = |value: f64| Line::reported("Archive", format!("{value} /s"), String::new(), value).id("rate");
    assert_eq!(change_of(rate(100.0), rate(40.0)), Some(Change::Loss));
    let delay = |value: f64| rate(value).better_when_lower();
    assert_eq!(change_of(delay(100.0), delay(40.0)), Some(Change::Gain));
    assert_eq!(rows(vec![rate(1.0)]).first().and_then(|row| row.limit.clone()), None);
}

#[test]
fn a_value_that_was_measured_once_may_change_by_half() {
    assert_eq!(change_of(value("memory", 40.0), value("memory", 59.0)), Some(Change::None));
    let several = |median: f64| value("memory", median).spread(Spread { median, min: median - 0.5, max: median + 0.5 });
    assert_eq!(change_of(several(40.0), several(59.0)), Some(Change::Loss));
}

#[test]
fn a_row_may_say_which_change_is_noise() {
    let apart = |millis: f64| value("apart", millis).noise(1.0);
    assert_eq!(change_of(apart(0.1), apart(1.0)), Some(Change::None));
    assert_eq!(change_of(apart(0.1), apart(1.2)), Some(Change::Loss));
}

#[test]
fn a_row_that_one_run_lacks_is_no_loss() {
    let (old, new) = (vec![rate("me", &[1.0]), rate("gzip", &[1.0])], vec![rate("me", &[1.0]), rate("fixed", &[1.0])]);
    let found = changes(old, new);
    let expected = [("requests.me", Change::None), ("requests.fixed", Change::New), ("requests.gzip", Change::Gone)];
    assert_eq!(found, expected.map(|(id, change)| (id.to_owned(), change)));
    assert!(!compare(&report(vec![]), &run("old", rows(vec![rate("me", &[1.0])]))).has_loss());
}

#[test]
fn rows_of_measurements_that_did_not_run_are_not_missed() {
    let mut last = run("old", rows(vec![rate("me", &[1.0])]));
    last.rows
        .extend(rows(vec![rate("sqlite", &[1.0])]).into_iter().map(|row| Row { id: "numbers.sqlite".into(), ..row }));
    let comparison = compare(&report(vec![rate("me", &[1.0])]), &last);
    assert_eq!(comparison.rows.len(), 1);
}

#[test]
fn a_row_that_got_a_baseline_is_a_new_one() {
    assert_eq!(change_of(value("me", 5.0), rate("me", &[0.1])), Some(Change::New));
}

#[test]
fn only_runs_on_a_machine_of_the_same_kind_are_compared() {
    let mut text = String::new();
    for (commit, processor, fsyncs) in [("a", "Processor", 7000.0), ("b", "Another", 7000.0), ("c", "Processor", 500.0)]
    {
        let machine = Machine { processor: processor.to_owned(), fsyncs_per_second: fsyncs, ..machine() };
        let next = line_to_append(&text, &Run { machine, ..run(commit, vec![]) }).unwrap();
        text.push_str(&next);
    }
    let history = History::parse(&text);
    assert_eq!(history.runs.len(), 3);
    let newer_kernel = Machine { kernel: "6.9".to_owned(), fsyncs_per_second: 9000.0, ..machine() };
    assert_eq!(history.last_on(&newer_kernel).map(|run| run.commit.as_str()), Some("a"));
    assert_eq!(history.last_on(&Machine { cores: 8, ..machine() }), None);
}

#[test]
fn the_last_of_several_runs_counts() {
    let runs = vec![run("older", vec![]), run("newer", vec![])];
    let history = History { runs, warnings: vec![] };
    assert_eq!(history.last_on(&machine()).map(|run| run.commit.as_str()), Some("newer"));
}

#[test]
fn a_run_reads_back_as_it_was_written() {
    let kept = run("a7efc3f8-dirty", rows(vec![rate("me", &[0.7, 0.75, 0.8]), value("memory", 37.12)]));
    let text = line_to_append("", &kept).unwrap();
    assert_eq!(text.lines().count(), 1);
    let history = History::parse(&text);
    assert_eq!((history.runs, history.warnings.len()), (vec![kept], 0));
}

#[test]
fn a_torn_last_line_is_skipped_with_a_warning_and_not_continued() {
    let whole = line_to_append("", &run("whole", vec![])).unwrap();
    let torn = format!("{whole}{}", &whole[..whole.len() / 2]);
    let history = History::parse(&torn);
    assert_eq!((history.runs.len(), history.warnings.len()), (1, 1));
    assert!(history.warnings.first().is_some_and(|warning| warning.starts_with("line 2 is skipped")));
    let appended = format!("{torn}{}", line_to_append(&torn, &run("next", vec![])).unwrap());
    let history = History::parse(&appended);
    assert_eq!(history.runs.last().map(|run| run.commit.as_str()), Some("next"));
    assert_eq!((history.runs.len(), history.warnings.len()), (2, 1));
}

#[test]
fn the_table_names_gains_and_losses_and_counts_the_rest() {
    let old = run("old", rows(vec![rate("me", &[1.0, 1.0]), rate("gzip", &[1.0, 1.0]), rate("fixed", &[1.0, 1.0])]));
    let new = report(vec![rate("me", &[0.5, 0.51]), rate("gzip", &[2.0, 2.01]), rate("fixed", &[1.0, 1.0])]);
    let comparison = compare(&new, &old);
    assert!(comparison.has_loss());
    let table = comparison.table();
    assert!(table.starts_with("Compared with old of 2026-11-18: 1 gains, 1 losses, 1 rows as before.\n"), "{table}");
    assert!(table.contains("| requests.me | 1.000 (1.000–1.000) | 0.510 (0.500–0.510) | **loss** |"), "{table}");
    assert!(table.contains("| gain |") && !table.contains("requests.fixed"), "{table}");
}
