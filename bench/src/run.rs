//! Runs measurements, prints what they found and how it compares with the last run that was kept. A run of all of them
//! also writes docs/benchmarks.md and, unless something was lost, adds itself to the history.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::cpu::MachineTime;
use crate::history::{self, Comparison, History, Row, Run};
use crate::machine::{self, Setting};
use crate::report::{Limit, Line, Report};
use crate::{MEASUREMENTS, Outcome, calls, work_folder};

pub const PAGE: &str = "docs/benchmarks.md";
pub const HISTORY: &str = "bench/history.jsonl";
/// Of a whole run.
const MAX_MINUTES: f64 = 30.0;

/// What to run.
#[derive(Default)]
struct Options {
    /// Names of measurements; none stands for all.
    chosen: Vec<String>,
    /// Whether a loss is accepted.
    keep: bool,
    /// CDRs of `records` and `growth`, if not as many as usual.
    calls: Option<i64>,
}

impl Options {
    fn parse(arguments: &[String]) -> Outcome<Options> {
        let (mut options, mut arguments) = (Options::default(), arguments.iter());
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--keep" => options.keep = true,
                "--calls" => options.calls = Some(arguments.next().ok_or("--calls needs a number")?.parse()?),
                name if MEASUREMENTS.iter().any(|(known, _)| *known == name) => options.chosen.push(argument.clone()),
                unknown => return Err(format!("unknown measurement {unknown}").into()),
            }
        }
        if options.keep && !options.is_whole() {
            return Err("--keep is for a run of all measurements".into());
        }
        if options.calls.is_some() && options.chosen.is_empty() {
            return Err("--calls is for records and growth".into());
        }
        Ok(options)
    }

    fn is_whole(&self) -> bool {
        self.chosen.is_empty() && self.calls.is_none()
    }
}

/// How long each measurement took, and the part of the CPU time that other machines took meanwhile.
#[derive(Default)]
pub struct Durations(Vec<(&'static str, Duration, f64)>);

impl Durations {
    fn total(&self) -> Duration {
        self.0.iter().map(|(_, duration, _)| *duration).sum()
    }

    pub fn table(&self) -> String {
        let mut table = "| Measurement | Duration | Steal |\n|---|---|---|\n".to_owned();
        // Writing to a String cannot fail.
        let mut row = |name: &str, duration: Duration, stolen: &str| {
            let seconds = duration.as_secs();
            let _ = writeln!(table, "| {name} | {}:{:02} min | {stolen} |", seconds / 60, seconds % 60);
        };
        for (name, duration, stolen) in &self.0 {
            row(name, *duration, &format!("{:.0} %", stolen * 100.0));
        }
        row("**all**", self.total(), "");
        table
    }
}

pub fn measure(arguments: &[String]) -> Outcome<()> {
    let options = Options::parse(arguments)?;
    if let Some(calls) = options.calls {
        calls::set_cdrs(calls)?;
    }
    if options.is_whole() {
        calls::shorten_archive();
    }
    let work = work_folder()?;
    // A torn line may end within a character.
    let kept = String::from_utf8_lossy(&std::fs::read(HISTORY).unwrap_or_default()).into_owned();
    let history = History::parse(&kept);
    for warning in &history.warnings {
        eprintln!("{HISTORY}: {warning}");
    }
    let setting = machine::describe(&work)?;
    let (mut report, mut durations, mut faults) = (Report::default(), Durations::default(), Vec::new());
    for &(name, measure) in MEASUREMENTS {
        if options.chosen.is_empty() || options.chosen.iter().any(|chosen| chosen == name) {
            eprintln!("measuring {name} ...");
            let (started, cpu) = (Instant::now(), MachineTime::now()?);
            // The others still count.
            match measure(&work) {
                Ok(lines) => report.add(name, lines),
                Err(error) => faults.push(format!("{name}: {error}")),
            }
            durations.0.push((name, started.elapsed(), MachineTime::now()?.stolen_since(&cpu)));
            eprintln!("measured {name} in {:.0} s", started.elapsed().as_secs_f64());
        }
    }
    if options.is_whole() {
        report.add("run", vec![whole_duration(durations.total())]);
    }
    println!("{}\n{}", report.table(), durations.table());
    let comparison = history.last_on(&setting.machine).map(|last| history::compare(&report, last));
    match &comparison {
        Some(comparison) => println!("{}", comparison.table()),
        None => println!("{HISTORY} has no run on a machine like this one."),
    }
    faults.extend(report.repeated_id().map(|id| format!("two rows have the id {id}")));
    faults.extend(report.without_number().map(|id| format!("{id} is no number")));
    if options.is_whole() && faults.is_empty() {
        std::fs::write(PAGE, page(&setting, &report, &durations))?;
        keep(&options, &kept, run_of(setting, &report, &durations), comparison.as_ref())?;
    }
    if comparison.is_some_and(|comparison| comparison.has_loss()) && !options.keep {
        faults.push(format!("something was lost since the last run; `bench/run --keep` accepts it in {HISTORY}"));
    }
    if !report.holds() {
        faults.push("a limit was missed".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
}

fn whole_duration(total: Duration) -> Line {
    let minutes = total.as_secs_f64() / 60.0;
    let limit = Limit::AtMost(MAX_MINUTES, " min");
    Line::alone("All measurements", format!("{minutes:.1} min"), String::new(), minutes, limit).id("duration")
}

/// The page, with what `make portal-speed` and `bench/build-times` have written into the old one.
fn page(setting: &Setting, report: &Report, durations: &Durations) -> String {
    let old = std::fs::read_to_string(PAGE).unwrap_or_default();
    let rest = old.find("## Portal").or(old.find("## Build times")).map_or("", |at| &old[at..]);
    machine::page(setting, report, durations) + "\n" + rest
}

fn run_of(setting: Setting, report: &Report, durations: &Durations) -> Run {
    let Setting { machine, commit, date, .. } = setting;
    let rounded = |duration: Duration| (duration.as_secs_f64() * 10.0).round() / 10.0;
    let seconds: BTreeMap<String, f64> =
        durations.0.iter().map(|(name, duration, _)| ((*name).to_owned(), rounded(*duration))).collect();
    Run { commit, date, machine, seconds, rows: report.lines().iter().map(Row::of).collect() }
}

/// Adds the run to the history. After a loss the last one stays the last, so that the next run is compared with it too.
fn keep(options: &Options, kept: &str, run: Run, comparison: Option<&Comparison>) -> Outcome<()> {
    if comparison.is_some_and(Comparison::has_loss) && !options.keep {
        eprintln!("the run is not kept");
        return Ok(());
    }
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(HISTORY)?;
    file.write_all(history::line_to_append(kept, &run)?.as_bytes())?;
    Ok(file.sync_all()?)
}
