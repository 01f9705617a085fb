//! The nodes and commands of both versions: one database, one data folder.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::Outcome;
use crate::faults::{free_address, tail};
use crate::http::{Client, get};
use crate::service::{PASSWORD, Process, configure};

/// Between two polls of `/readyz`.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// No `/readyz` for this long is a fault.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// A health check that takes longer counts as failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// For commands that open no port.
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What all nodes share.
pub struct Installation {
    folder: TempDir,
    database_url: String,
}

/// Users of the demo data.
pub struct Users {
    pub admin: String,
    /// Of companies that make calls.
    pub customers: Vec<String>,
}

impl Installation {
    pub fn prepare(work: &Path, database_url: &str) -> Outcome<Installation> {
        Ok(Installation { folder: TempDir::new_in(work)?, database_url: database_url.to_owned() })
    }

    /// Fills the database with demo data of this version.
    pub fn fill(&self, program: &Path) -> Outcome<Users> {
        let demo = ["demo", "--days", "7", "--calls", "500", "--password", PASSWORD];
        let printed = self.run(program, &demo)?;
        let users: Vec<(&str, &str)> = printed.lines().filter_map(|line| line.trim().split_once(' ')).collect();
        let emails = |status: &str| {
            let found = users.iter().filter(|(email, text)| email.contains('@') && text.trim().starts_with(status));
            found.map(|(email, _)| (*email).to_owned()).collect::<Vec<_>>()
        };
        let admin = emails("admin of the operator").pop();
        let users = Users { admin: admin.ok_or("the demo has no admin")?, customers: emails("live") };
        if users.customers.is_empty() { Err("the demo has no customers".into()) } else { Ok(users) }
    }

    /// Runs a command of a version to its end, and returns what it prints.
    pub fn run(&self, program: &Path, arguments: &[&str]) -> Outcome<String> {
        let mut command = Command::new(program);
        let output = self.configure(command.args(arguments), ANY_PORT, ANY_PORT).output()?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("trunkline {}: {errors}", arguments.join(" ")).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The Authorization header of a switch.
    pub fn switch_authorization(&self) -> Outcome<String> {
        let secret = std::fs::read_to_string(self.data().join("secrets/switch"))?;
        Ok(format!("Authorization: Bearer {}\r\n", secret.trim()))
    }

    /// Mails about a reply to a ticket. A mail that is sent again has the same file.
    pub fn ticket_mails(&self) -> Outcome<usize> {
        let mut mails = 0;
        for entry in std::fs::read_dir(self.data().join("outbox"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "eml") {
                let mail = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
                mails += usize::from(mail.contains("Subject: New reply to your support ticket"));
            }
        }
        Ok(mails)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn configure<'a>(&self, command: &'a mut Command, public: SocketAddr, ops: SocketAddr) -> &'a mut Command {
        configure(command, &self.data())
            .env("TRUNKLINE_DATABASE_URL", &self.database_url)
            .env("TRUNKLINE_LISTEN", public.to_string())
            .env("TRUNKLINE_OPS_LISTEN", ops.to_string())
            .stdin(Stdio::null())
    }
}

/// A node on ports of its own, whichever version runs there.
pub struct Node {
    pub public: SocketAddr,
    pub ops: SocketAddr,
    log: PathBuf,
    process: Option<Process>,
}

impl Node {
    pub fn prepare(installation: &Installation, number: usize) -> Outcome<Node> {
        let log = installation.folder.path().join(format!("node-{number}.log"));
        Ok(Node { public: free_address()?, ops: free_address()?, log, process: None })
    }

    pub fn start(&mut self, installation: &Installation, program: &Path) -> Outcome<()> {
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let (public, ops) = (self.public, self.ops);
        self.process = Some(Process::start(program, &["serve"], |command| {
            installation.configure(command, public, ops).stderr(log);
        })?);
        Ok(())
    }

    pub async fn wait_until_ready(&self) -> Outcome<()> {
        let started = Instant::now();
        while !is_ready(self.ops).await {
            if started.elapsed() > START_TIMEOUT {
                return Err("a node was not ready in time".into());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Sends SIGTERM and waits for the end. The node must say that it is not ready while it still accepts connections.
    pub async fn drain(&mut self) -> Outcome<()> {
        let process = self.process.take().ok_or("the node does not run")?;
        let ended = tokio::spawn(process.terminate());
        while is_ready(self.ops).await {
            if ended.is_finished() {
                return Err("a node ended and was ready all the time".into());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let accepted = TcpStream::connect(self.public).await;
        accepted.map_err(|error| format!("a node that drains accepts no connections: {error}"))?;
        let status = ended.await??;
        if status.success() { Ok(()) } else { Err(format!("a node ended with {status}").into()) }
    }

    pub fn log_tail(&self) -> String {
        tail(&self.log)
    }
}

/// Whether a node is ready, as a load balancer asks.
pub async fn is_ready(ops: SocketAddr) -> bool {
    let check = async { Client::connect(ops).await?.send(&get("/readyz", None)).await };
    matches!(tokio::time::timeout(CHECK_TIMEOUT, check).await, Ok(Ok(response)) if response.status == 200)
}
