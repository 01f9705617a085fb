//! Benchmarks: measures the service and a baseline in turns, in one run, so that the ratio hardly depends on the
//! machine or its load. `bench/run` builds and starts this; docs/benchmarks.md has the results, bench/history.jsonl those
//! of the runs before.
//!
//! `bench faults` measures nothing: it kills the service repeatedly under load and verifies that nothing is lost.
//! `bench soak` loads it for half an hour and compares the end with the beginning. `bench upgrade` replaces nodes of a
//! previous version under load (`tools/upgrade-test`).
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "command-line output")]

mod calls;
mod commits;
mod cpu;
mod customers;
mod decks;
mod echo;
mod edge;
mod faults;
mod http;
mod inventory;
mod machine;
mod numbers;
mod postgres;
mod rate_lookup;
mod requests;
mod restarts;
mod run;
mod service;
mod slow_clients;
mod start;
mod statements;
mod streams;
mod timing;
mod upgrade;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use report::{Line, Report};
use results::{history, report};

/// The same allocator as the service's, so that the comparison is not one of allocators.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Rounds per measurement, for each side of a comparison.
pub const ROUNDS: usize = 5;

type Measurement = (&'static str, fn(&Path) -> Outcome<Vec<Line>>);
const MEASUREMENTS: &[Measurement] = &[
    ("requests", requests::measure),
    ("commits", commits::measure),
    ("decks", decks::measure),
    ("statements", statements::measure),
    ("numbers", numbers::measure),
    ("decisions", calls::measure_decisions),
    ("intake", calls::measure_ingest),
    ("records", calls::measure_reads),
    ("growth", calls::measure_growth),
    ("archive", calls::measure_archive),
    ("writes", calls::measure_writes),
    ("ended", calls::measure_ended),
    ("nodes", calls::measure_nodes),
    ("streams", streams::measure),
    ("start", start::measure),
    ("slow", slow_clients::measure),
    ("restarts", restarts::measure),
    ("timing", timing::measure),
    ("rating", rate_lookup::measure),
    ("edge", edge::measure),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [command, document] if command == "echo" => serve_echo(document),
        [command, address] if command == "attack" => slow_clients::attack(address),
        [command, options @ ..] if command == "faults" => run_faults(options),
        [command, options @ ..] if command == "soak" => run_soak(options),
        [command, options @ ..] if command == "upgrade" => run_upgrade(options),
        arguments => run::measure(arguments),
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

fn run_faults(options: &[String]) -> Outcome<()> {
    let findings = faults::run(&work_folder()?, &options.try_into()?)?;
    println!("{}", faults::table(&findings));
    findings
        .into_iter()
        .find_map(|findings| findings.fault)
        .map_or(Ok(()), |fault| Err(format!("fault found: {fault}").into()))
}

fn run_soak(options: &[String]) -> Outcome<()> {
    let mut report = Report::default();
    report.add("soak", calls::soak(&work_folder()?, options)?);
    println!("{}", report.table());
    if report.holds() { Ok(()) } else { Err("a limit was missed".into()) }
}

fn run_upgrade(options: &[String]) -> Outcome<()> {
    if matches!(options, [option] if option == "--newest-break") {
        println!("{}", upgrade::newest_break().unwrap_or_default());
        return Ok(());
    }
    upgrade::run(&work_folder()?, &options.try_into()?)
}

fn work_folder() -> Outcome<PathBuf> {
    Ok(PathBuf::from(std::env::var("BENCH_DIR").map_err(|_| "BENCH_DIR is not set: start this with bench/run")?))
}

/// Runs on this thread only, which leaves the other cores to the service.
pub fn on_one_thread<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
