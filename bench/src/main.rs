//! Measures the service beside a yardstick, both in one run and taking turns, so that what counts is a ratio which a
//! busy or slow machine bends little. `bench/run` builds and starts this; see docs/benchmarks.md for the outcome.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line speaks to a person")]

mod commits;
mod decks;
mod echo;
mod http;
mod machine;
mod report;
mod requests;
mod service;
mod slow_clients;
mod start;
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
const MEASUREMENTS: [Measurement; 6] = [
    ("requests", requests::measure),
    ("commits", commits::measure),
    ("decks", decks::measure),
    ("start", start::measure),
    ("slow", slow_clients::measure),
    ("timing", timing::measure),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [command, document] if command == "echo" => serve_echo(document).map(|()| true),
        chosen => measure(chosen),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("A limit was missed.");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve_echo(document: &str) -> Outcome<()> {
    echo::serve(serde_json::from_str(document)?)
}

/// Runs what was chosen, or everything and then writes the page. Answers whether every limit held.
fn measure(chosen: &[String]) -> Outcome<bool> {
    if let Some(unknown) = chosen.iter().find(|name| !MEASUREMENTS.iter().any(|(known, _)| known == name)) {
        return Err(format!("there is no measurement {unknown}").into());
    }
    let work = PathBuf::from(std::env::var("BENCH_DIR").map_err(|_| "run me as bench/run")?);
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
    Ok(report.holds())
}

/// Runs on this thread alone, which leaves the other cores to what is measured.
pub fn alone_on_one_thread<T>(work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
