//! The service under test: the same data and ports across kills and restarts.

use serde_json::json;
use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::did_supplier;
use crate::Outcome;
use crate::http::{Client, get, post};
use crate::service::{Process, configure, sibling_binary};
use db::Entropy;

/// Between two polls of `/readyz`.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// No `/readyz` for this long is a fault.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Longer than a lease of a killed service and than the backoff of a failed job; repeated, since jobs enqueue others.
const ADVANCE_SECONDS: u64 = 600;
const ADVANCE_TIMES: usize = 3;

pub struct Node {
    pub public: SocketAddr,
    ops: SocketAddr,
    pub database_url: String,
    /// URL of the mock DID supplier.
    supplier_url: String,
    log: PathBuf,
    process: Option<Process>,
    killed: Instant,
    folder: TempDir,
}

impl Node {
    /// On this database, or on a new SQLite file.
    pub fn prepare(work: &Path, database_url: Option<String>, supplier_url: &str) -> Outcome<Node> {
        let folder = TempDir::new_in(work)?;
        let file = || format!("sqlite://{}", folder.path().join("trunkline.db").display());
        Ok(Node {
            public: free_address()?,
            ops: free_address()?,
            database_url: database_url.unwrap_or_else(file),
            supplier_url: supplier_url.to_owned(),
            log: folder.path().join("log"),
            process: None,
            killed: Instant::now(),
            folder,
        })
    }

    pub fn start(&mut self) -> Outcome<()> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let start = |command: &mut Command| {
            self.configure(command).stderr(log);
        };
        self.process = Some(Process::start(&sibling_binary("trunkline")?, &["serve"], start)?);
        Ok(())
    }

    pub fn kill(&mut self) {
        self.process = None;
        self.killed = Instant::now();
    }

    /// Waits until the service is ready; returns the time since the kill.
    pub async fn wait_until_ready(&mut self) -> Outcome<Duration> {
        loop {
            if let Ok(mut client) = Client::connect(self.ops).await
                && let Ok(response) = client.send(&get("/readyz", None)).await
                && response.status == 200
            {
                return Ok(self.killed.elapsed());
            }
            if self.killed.elapsed() > START_TIMEOUT {
                return Err("the service did not come back".into());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Advances the test clock so that all due jobs run.
    pub async fn run_due_jobs(&self) -> Outcome<()> {
        let secret = std::fs::read_to_string(self.folder.path().join("secrets/switch"))?;
        let authorization = format!("Authorization: Bearer {}\r\n", secret.trim());
        for _ in 0..ADVANCE_TIMES {
            let advance = post("/ops/clock", &authorization, &json!({"advance_seconds": ADVANCE_SECONDS}));
            let response = Client::connect(self.ops).await?.send(&advance).await?;
            if response.status != 200 {
                return Err(format!("POST /ops/clock: {}", String::from_utf8_lossy(&response.body)).into());
            }
        }
        Ok(())
    }

    /// Runs `trunkline ledger verify` or `trunkline audit verify`.
    pub fn verify(&self, what: &str) -> Outcome<()> {
        let mut command = Command::new(sibling_binary("trunkline")?);
        let output = self.configure(command.args([what, "verify"])).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{what} verify: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }

    fn configure<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        configure(command, self.folder.path())
            .env("TRUNKLINE_DATABASE_URL", &self.database_url)
            .env("TRUNKLINE_LISTEN", self.public.to_string())
            .env("TRUNKLINE_OPS_LISTEN", self.ops.to_string())
            .env("TRUNKLINE_TEST_CLOCK", "on")
            .env("TRUNKLINE_DID_SUPPLIER", "http")
            .env("TRUNKLINE_DID_SUPPLIER_URL", &self.supplier_url)
            .env("TRUNKLINE_DID_SUPPLIER_TOKEN", did_supplier::TOKEN)
            .stdin(Stdio::null())
    }
}

/// The last 20 lines of a log.
pub fn tail(log: &Path) -> String {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// A free port below Linux's ephemeral range: it must still be free after each kill, since checkout URLs contain it.
pub fn free_address() -> Outcome<SocketAddr> {
    for _ in 0..100 {
        let port = 20_000 + u16::from_be_bytes(Entropy.bytes()) % 12_000;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err("no free port found".into())
}
