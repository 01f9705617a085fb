//! Measures the service beside a yardstick, both in one run and taking turns, so that what counts is a ratio which a
//! busy or slow machine bends little. `bench/run` builds and starts this; see docs/benchmarks.md for the outcome.
//! `bench faults` measures nothing: it kills the service again and again, and proves that nothing was lost.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line speaks to a person")]

mod calls;
mod commits;
mod customers;
mod decks;
mod echo;
mod edge;
mod faults;
mod http;
mod lookups;
mod machine;
mod numbers;
mod postgres;
mod report;
mod requests;
mod service;
mod slow_clients;
mod start;
mod stock;
mod timing;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::{Line, Report};

/// The service's own, so that a yardstick is not measured by its allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How often each side of a comparison takes its turn.
pub const ROUNDS: usize = 5;

type Measurement = (&'static str, fn(&Path) -> Outcome<Vec<Line>>);
const MEASUREMENTS: [Measurement; 12] = [
    ("requests", requests::measure),
    ("commits", commits::measure),
    ("decks", decks::measure),
    ("numbers", numbers::measure),
    ("decisions", calls::measure_decisions),
    ("intake", calls::measure_intake),
    ("records", calls::measure_records),
    ("start", start::measure),
    ("slow", slow_clients::measure),
    ("timing", timing::measure),
    ("rating", lookups::measure),
    ("edge", edge::measure),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [command, document] if command == "echo" => serve_echo(document),
        [command, options @ ..] if command == "faults" => find_faults(options),
        chosen => measure(chosen),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve_echo(document: &str) -> Outcome<()> {
    echo::serve(serde_json::from_str(document)?)
}

fn find_faults(options: &[String]) -> Outcome<()> {
    let found = faults::find(&work_folder()?, &options.try_into()?)?;
    println!("{}", faults::table(&found));
    found
        .into_iter()
        .find_map(|findings| findings.fault)
        .map_or(Ok(()), |fault| Err(format!("a fault: {fault}").into()))
}

fn work_folder() -> Outcome<PathBuf> {
    Ok(PathBuf::from(std::env::var("BENCH_DIR").map_err(|_| "run me as bench/run")?))
}

/// Runs what was chosen, or everything and then writes the page.
fn measure(chosen: &[String]) -> Outcome<()> {
    if let Some(unknown) = chosen.iter().find(|name| !MEASUREMENTS.iter().any(|(known, _)| known == name)) {
        return Err(format!("there is no measurement {unknown}").into());
    }
    let work = work_folder()?;
    let machine = machine::describe()?;
    let mut report = Report::default();
    for (name, measure) in MEASUREMENTS {
        if chosen.is_empty() || chosen.iter().any(|it| it == name) {
            eprintln!("measuring {name} ...");
            report.add(measure(&work)?);
        }
    }
    println!("{}", report.table());
    if chosen.is_empty() {
        std::fs::write("docs/benchmarks.md", machine::page(&machine, &report)?)?;
    }
    if report.holds() { Ok(()) } else { Err("a limit was missed".into()) }
}

/// Runs on this thread alone, which leaves the other cores to what is measured.
pub fn alone_on_one_thread<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
