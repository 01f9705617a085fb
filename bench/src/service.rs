//! The release binary as a child process with a data folder of its own, bootstrapped and signed in over HTTP.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::Outcome;
use crate::http::{Client, get, post};

const BOOTSTRAP_TOKEN: &str = "bootstrap-token-of-the-benchmark-0123456789";
const EMAIL: &str = "admin@carrier.example";
const PASSWORD: &str = "correct horse battery staple";

pub struct Service {
    pub public: SocketAddr,
    pub ops: SocketAddr,
    /// From exec to the first `/readyz` that said so.
    pub ready_after: Duration,
    process: Process,
    _folder: TempDir,
}

impl Service {
    pub async fn start(work: &Path) -> Outcome<Service> {
        let folder = TempDir::new_in(work)?;
        let started = Instant::now();
        let mut process = Process::start(&beside_us("trunkline")?, &["serve"], |command| {
            // Only these: a name that the service does not know would be refused.
            command
                .env_clear()
                .env("TRUNKLINE_DATA_DIR", folder.path())
                .env("TRUNKLINE_LISTEN", "127.0.0.1:0")
                .env("TRUNKLINE_OPS_LISTEN", "127.0.0.1:0")
                .env("TRUNKLINE_RATE_LIMITS", "off")
                .env("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN);
        })?;
        let public = process.address_after("API")?;
        let ops = process.address_after("Operations")?;
        let answer = Client::connect(ops).await?.send(&get("/readyz", None)).await?;
        if answer.status != 200 {
            return Err("the service says it is up but not ready".into());
        }
        Ok(Service { public, ops, ready_after: started.elapsed(), process, _folder: folder })
    }

    /// Makes the first admin and answers its access token.
    pub async fn sign_in(&self) -> Outcome<String> {
        let mut client = Client::connect(self.public).await?;
        let admin = json!({
            "legal_name": "Carrier BV", "contact_name": "Ada Admin", "contact_email": EMAIL, "password": PASSWORD,
        });
        let header = format!("X-Bootstrap-Token: {BOOTSTRAP_TOKEN}\r\n");
        let made = client.send(&post("/v1/admin/bootstrap", &header, &admin)).await?;
        if made.status != 201 {
            return Err(format!("bootstrap: {}", String::from_utf8_lossy(&made.body)).into());
        }
        let sign_in = post("/v1/auth/sign-in", "", &json!({"email": EMAIL, "password": PASSWORD}));
        let session: Value = serde_json::from_slice(&client.send(&sign_in).await?.body)?;
        let token = session["access_token"].as_str().ok_or("sign-in gave no access token")?;
        Ok(token.to_owned())
    }

    /// Memory in RAM, in MiB.
    pub fn resident_mib(&self) -> Outcome<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    /// Open connections of the public listener, as the service counts them.
    pub async fn open_connections(&self) -> Outcome<usize> {
        let metrics = Client::connect(self.ops).await?.send(&get("/metrics", None)).await?;
        let text = String::from_utf8(metrics.body)?;
        let value = text.lines().find_map(|line| line.strip_prefix("trunkline_connections "));
        Ok(value.ok_or("no count of connections")?.parse()?)
    }
}

/// A child that prints where it listens, and does not outlive us.
pub struct Process {
    child: Child,
    /// Kept open: a program that prints into a closed pipe dies.
    output: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(program: &Path, arguments: &[&str], prepare: impl FnOnce(&mut Command)) -> Outcome<Process> {
        let mut command = Command::new("/usr/bin/setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program).args(arguments).stdout(Stdio::piped());
        prepare(&mut command);
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Process { child, output })
    }

    /// The address in the next line that begins with this word.
    pub fn address_after(&mut self, word: &str) -> Outcome<SocketAddr> {
        let mut line = String::new();
        while self.output.read_line(&mut line)? > 0 {
            if let Some(rest) = line.trim().strip_prefix(word) {
                let address = rest.trim().trim_start_matches("http://");
                return Ok(address.split('/').next().unwrap_or(address).parse()?);
            }
            line.clear();
        }
        Err(format!("the child ended before it said {word}").into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Whatever it held is in a folder that goes too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program built together with this one.
pub fn beside_us(name: &str) -> Outcome<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}
