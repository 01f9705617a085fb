//! Import of a rate deck with a million prefixes by the release binary, from its start until the deck is in force. The
//! baseline is PostgreSQL's COPY of the same file into a table with an index on the prefix.
//!
//! From the second round on, the import also compares the file with the deck in force, as in production. At the end the
//! same rows are imported once more from a workbook, laid out as a carrier does it, for its memory.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use db::{Clock, Conn, Db, DbError, DbOptions, Entropy, params};
use rust_xlsxwriter::Workbook;
use tempfile::TempDir;
use values::UpstreamId;

use crate::postgres::Database;
use crate::report::{Limit, Line, Spread};
use crate::service::sibling_binary;
use crate::{Outcome, ROUNDS};

const PREFIXES: u32 = 1_000_000;
/// Interval at which the memory of the import is sampled.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Memory limit of an import.
const MAX_MIB: f64 = 1024.0;
/// Memory limit of an import from a workbook.
const MAX_XLSX_MIB: f64 = 512.0;

const SCHEMA: &str = "CREATE TABLE rates (
    prefix TEXT PRIMARY KEY, destination_name TEXT NOT NULL, country TEXT NOT NULL, rate_per_minute NUMERIC NOT NULL,
    billing_increment_seconds INTEGER NOT NULL, minimum_seconds INTEGER NOT NULL)";

const INSERT: &str = "INSERT INTO upstreams (id, name, status, health, dispatcher_group_id, base_currency, markup,
                                             gateways, signaling_ips, created_at, updated_at)
                      VALUES ($1, 'Upstream', 'active', 'unknown', 1, 'EUR', 100000, '[]', '[]', $2, $2)";

const MAPPING: &str = r#"{"columns": {"prefix": "Dial Code", "destination_name": "Destination", "rate_per_minute": "Rate",
    "increments": "Billing Increment"}}"#;

/// A database with an upstream, and the measured rates and peak memory of imports into it.
struct Target {
    url: String,
    folder: TempDir,
    upstream: UpstreamId,
    rates: Vec<f64>,
    peaks_mib: Vec<f64>,
}

pub fn measure(work: &Path) -> Outcome<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = TempDir::new_in(work)?;
    let server = runtime.block_on(Database::create())?;
    runtime.block_on(server.run(SCHEMA))?;
    let file = format!("sqlite://{}", folder.path().join("decks.db").display());
    let mut targets =
        [runtime.block_on(Target::prepare(work, file))?, runtime.block_on(Target::prepare(work, server.url.clone()))?];
    let mut copied = Vec::new();
    for round in 0..ROUNDS {
        let deck = folder.path().join("deck.csv");
        std::fs::write(&deck, csv(round)?)?;
        for target in &mut targets {
            target.import(&deck)?;
        }
        copied.push(copy(&server, &deck)?);
    }
    let sheet = folder.path().join("deck.xlsx");
    workbook(&sheet)?;
    let [sqlite, _] = &mut targets;
    let (seconds, xlsx_mib) = sqlite.run(&sheet)?;
    runtime.block_on(server.delete())?;
    let [sqlite, postgres] = targets;
    let peak = Spread::of([sqlite.peaks_mib, postgres.peaks_mib].concat());
    Ok(vec![
        Line::beside(
            "Rate deck import, 1,000,000 rows, SQLite; baseline: PostgreSQL COPY",
            sqlite.rates,
            copied.clone(),
            Some(Limit::AtLeast(1.0, "×")),
        )
        .id("sqlite"),
        Line::beside(
            "Rate deck import, 1,000,000 rows, PostgreSQL; baseline: PostgreSQL COPY",
            postgres.rates,
            copied,
            Some(Limit::AtLeast(1.0, "×")),
        )
        .id("postgres"),
        Line::alone(
            "Peak memory of such an import",
            peak.text(0, " MiB"),
            String::new(),
            peak.max,
            Limit::AtMost(MAX_MIB, " MiB"),
        )
        .spread(peak)
        .id("memory"),
        Line::alone(
            "Peak memory of an import of 1,000,000 rows from XLSX by a sheet mapping",
            format!("{xlsx_mib:.0} MiB in {seconds:.1} s"),
            String::new(),
            xlsx_mib,
            Limit::AtMost(MAX_XLSX_MIB, " MiB"),
        )
        .id("xlsx-memory"),
    ])
}

/// A deck of seven-digit prefixes. Every tenth has another rate than in the round before.
fn csv(round: usize) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(PREFIXES as usize * 48);
    text.push_str("prefix,destination_name,country,rate_per_minute,billing_increment_seconds,minimum_seconds\n");
    for number in 0..PREFIXES {
        let raised = u32::from((number as usize % 10) < round);
        let rate = number.wrapping_mul(7919) % 9973 + raised;
        writeln!(text, "{},Destination {},NL,0.{rate:06},60,1", 3_000_000 + number, number / 150)?;
    }
    Ok(text)
}

/// The same prefixes as a carrier sends them.
fn workbook(path: &Path) -> Outcome<()> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet_with_constant_memory();
    sheet.write(0, 0, "Rates of Carrier One")?;
    for (column, name) in (0..).zip(["Destination", "Dial Code", "Rate", "Billing Increment"]) {
        sheet.write(2, column, name)?;
    }
    for number in 0..PREFIXES {
        let row = number + 3;
        sheet.write(row, 0, format!("Destination {}", number / 150))?;
        sheet.write(row, 1, 3_000_000 + number)?;
        sheet.write(row, 2, f64::from(number.wrapping_mul(7919) % 9973) / 1_000_000.0)?;
        sheet.write(row, 3, "60/1")?;
    }
    book.save(path)?;
    Ok(())
}

impl Target {
    async fn prepare(work: &Path, url: String) -> Outcome<Target> {
        let options: DbOptions = url.parse()?;
        let db = Db::open(&options).await?;
        db.migrate().await?;
        let now = Clock::system().now();
        let upstream = UpstreamId::new(Entropy.uuid(now));
        db.tx((upstream, now), |conn: &mut Conn, (upstream, now)| {
            Box::pin(async move {
                conn.exec(INSERT, params![*upstream, *now]).await?;
                let mapped = "INSERT INTO sheet_mappings (upstream_id, mapping, updated_at) VALUES ($1, $2, $3)";
                conn.exec(mapped, params![*upstream, MAPPING, *now]).await?;
                Ok::<_, DbError>(())
            })
        })
        .await?;
        Ok(Target { url, folder: TempDir::new_in(work)?, upstream, rates: Vec::new(), peaks_mib: Vec::new() })
    }

    fn import(&mut self, deck: &Path) -> Outcome<()> {
        let (seconds, peak) = self.run(deck)?;
        self.rates.push(f64::from(PREFIXES) / seconds);
        self.peaks_mib.push(peak);
        Ok(())
    }

    /// Imports a file. Returns how many seconds it took and its peak memory in MiB.
    fn run(&self, deck: &Path) -> Outcome<(f64, f64)> {
        let started = Instant::now();
        let mut child = Command::new(sibling_binary("trunkline")?)
            .args(["rates", "import", "--upstream", &self.upstream.to_string()])
            .arg(deck)
            .env_clear()
            .env("TRUNKLINE_DATA_DIR", self.folder.path())
            .env("TRUNKLINE_DATABASE_URL", &self.url)
            .stdout(Stdio::null())
            .spawn()?;
        let mut peak = 0.0_f64;
        let status = loop {
            peak = peak.max(peak_mib(child.id()).unwrap_or_default());
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(POLL_INTERVAL),
            }
        };
        if !status.success() {
            return Err("the import failed".into());
        }
        Ok((started.elapsed().as_secs_f64(), peak))
    }
}

/// Peak resident memory of a process.
fn peak_mib(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<f64>().ok()? / 1024.0)
}

/// Rows per second that COPY inserts into a table that already has its index.
fn copy(server: &Database, deck: &Path) -> Outcome<f64> {
    let folder = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
    let psql = |statement: String| -> Outcome<()> {
        let program = PathBuf::from(&folder).join("psql");
        let output = Command::new(program).args(["--quiet", "--command", &statement, &server.url]).output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("psql: {}", String::from_utf8_lossy(&output.stderr)).into()),
        }
    };
    psql("TRUNCATE rates".to_owned())?;
    let started = Instant::now();
    psql(format!("\\copy rates FROM '{}' WITH (FORMAT csv, HEADER)", deck.display()))?;
    Ok(f64::from(PREFIXES) / started.elapsed().as_secs_f64())
}
