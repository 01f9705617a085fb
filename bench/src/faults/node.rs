//! The program on one set of data and ports, however often it is killed.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use platform::entropy::Entropy;
use serde_json::json;
use tempfile::TempDir;

use super::carrier;
use crate::Outcome;
use crate::http::{Client, get, post};
use crate::service::{Process, beside_us, configure};

/// Between two looks at whether it is ready.
const LOOK: Duration = Duration::from_millis(5);
/// When to give up on a service that does not come back.
const GIVE_UP: Duration = Duration::from_secs(60);
/// Longer than what a killed service had claimed stays claimed, and than a failed job waits; so often, since one thing
/// leads to another.
const LATER_SECONDS: u64 = 600;
const LATER_TIMES: usize = 3;

pub struct Node {
    pub public: SocketAddr,
    ops: SocketAddr,
    pub database_url: String,
    /// Where the carrier of its numbers is.
    carrier_url: String,
    log: PathBuf,
    process: Option<Process>,
    killed: Instant,
    folder: TempDir,
}

impl Node {
    /// On this database, or on a SQLite file of its own.
    pub fn prepare(work: &Path, database_url: Option<String>, carrier_url: &str) -> Outcome<Node> {
        let folder = TempDir::new_in(work)?;
        let file = || format!("sqlite://{}", folder.path().join("trunkline.db").display());
        Ok(Node {
            public: free_address()?,
            ops: free_address()?,
            database_url: database_url.unwrap_or_else(file),
            carrier_url: carrier_url.to_owned(),
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
        self.process = Some(Process::start(&beside_us("trunkline")?, &["serve"], start)?);
        Ok(())
    }

    pub fn kill(&mut self) {
        self.process = None;
        self.killed = Instant::now();
    }

    /// Waits until it is ready, and answers how long that took since it was killed.
    pub async fn ready(&mut self) -> Outcome<Duration> {
        loop {
            if let Ok(mut client) = Client::connect(self.ops).await
                && let Ok(answer) = client.send(&get("/readyz", None)).await
                && answer.status == 200
            {
                return Ok(self.killed.elapsed());
            }
            if self.killed.elapsed() > GIVE_UP {
                return Err("the service did not come back".into());
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Moves the clock on until nothing is left to do.
    pub async fn let_everything_fall_due(&self) -> Outcome<()> {
        let secret = std::fs::read_to_string(self.folder.path().join("secrets/switch"))?;
        let authorization = format!("Authorization: Bearer {}\r\n", secret.trim());
        for _ in 0..LATER_TIMES {
            let later = post("/ops/clock", &authorization, &json!({"advance_seconds": LATER_SECONDS}));
            let moved = Client::connect(self.ops).await?.send(&later).await?;
            if moved.status != 200 {
                return Err(format!("the clock: {}", String::from_utf8_lossy(&moved.body)).into());
            }
        }
        Ok(())
    }

    /// Runs `trunkline ledger verify` or `trunkline audit verify`.
    pub fn verify(&self, what: &str) -> Outcome<()> {
        let mut command = Command::new(beside_us("trunkline")?);
        let verified = self.configure(command.args([what, "verify"])).output()?;
        if verified.status.success() {
            return Ok(());
        }
        Err(format!("{what} verify: {}", String::from_utf8_lossy(&verified.stderr)).into())
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn configure<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        configure(command, self.folder.path())
            .env("TRUNKLINE_DATABASE_URL", &self.database_url)
            .env("TRUNKLINE_LISTEN", self.public.to_string())
            .env("TRUNKLINE_OPS_LISTEN", self.ops.to_string())
            .env("TRUNKLINE_TEST_CLOCK", "on")
            .env("TRUNKLINE_CARRIER", "http")
            .env("TRUNKLINE_CARRIER_URL", &self.carrier_url)
            .env("TRUNKLINE_CARRIER_TOKEN", carrier::TOKEN)
            .stdin(Stdio::null())
    }
}

/// A port that nobody listens on, and below those that Linux hands out to outgoing connections: it has to be free after
/// each kill, and what was told of a checkout's address has to stay true.
fn free_address() -> Outcome<SocketAddr> {
    for _ in 0..100 {
        let port = 20_000 + u16::from_be_bytes(Entropy.bytes()) % 12_000;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    Err("no port is free".into())
}
