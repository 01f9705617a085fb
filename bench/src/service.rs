//! The trunkline binary as a child process with its own data folder; bootstrap and sign-in over HTTP.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{Client, get, post};
use crate::{Outcome, cpu};

const BOOTSTRAP_TOKEN: &str = "bootstrap-token-of-the-benchmark-0123456789";
const MASTER_SECRET: &str = "master-secret-of-the-benchmark-0123456789";
pub const ADMIN: &str = "admin@operator.example";
/// Password of the admin and of all customers.
pub const PASSWORD: &str = "correct horse battery staple";

pub struct Service {
    pub public: SocketAddr,
    pub ops: SocketAddr,
    /// Time from exec to the first successful `/readyz`.
    pub ready_after: Duration,
    process: Process,
    /// Beyond the common ones.
    settings: Vec<(&'static str, String)>,
    folder: TempDir,
}

impl Service {
    pub async fn start(work: &Path) -> Outcome<Service> {
        Service::launch(TempDir::new_in(work)?, Vec::new()).await
    }

    /// Starts on a prepared database.
    pub async fn start_on(work: &Path, database_url: &str) -> Outcome<Service> {
        Service::start_with(work, database_url, &[]).await
    }

    /// The same with settings of its own.
    pub async fn start_with(work: &Path, database_url: &str, settings: &[(&'static str, &str)]) -> Outcome<Service> {
        let mut all = vec![("TRUNKLINE_DATABASE_URL", database_url.to_owned())];
        all.extend(settings.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Service::launch(TempDir::new_in(work)?, all).await
    }

    /// Starts another node: on the same database, with the same secrets.
    pub async fn another_node(&self, work: &Path) -> Outcome<Service> {
        let mut settings = self.settings.clone();
        settings.push(("TRUNKLINE_JWT_SECRET", self.secret("jwt")?));
        settings.push(("TRUNKLINE_SWITCH_SECRET", self.secret("switch")?));
        Service::launch(TempDir::new_in(work)?, settings).await
    }

    async fn launch(folder: TempDir, settings: Vec<(&'static str, String)>) -> Outcome<Service> {
        let started = Instant::now();
        let any_port = [("TRUNKLINE_LISTEN", "127.0.0.1:0"), ("TRUNKLINE_OPS_LISTEN", "127.0.0.1:0")];
        let mut process = Process::start(&sibling_binary("trunkline")?, &["serve"], |command| {
            configure(command, folder.path()).envs(any_port).envs(settings.iter().cloned());
        })?;
        let public = process.address_after("API")?;
        let ops = process.address_after("Operations")?;
        let response = Client::connect(ops).await?.send(&get("/readyz", None)).await?;
        if response.status != 200 {
            return Err("the service started but is not ready".into());
        }
        Ok(Service { public, ops, ready_after: started.elapsed(), process, settings, folder })
    }

    /// Runs a command with the settings of the service.
    pub fn run(&self, arguments: &[&str]) -> Outcome<()> {
        let mut command = Command::new(sibling_binary("trunkline")?);
        configure(command.args(arguments), self.folder.path()).envs(self.settings.iter().cloned());
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("trunkline {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Creates the first admin and returns its access token.
    pub async fn sign_in(&self) -> Outcome<String> {
        bootstrap(self.public).await?;
        sign_in(self.public, ADMIN).await
    }

    /// The Authorization header of a switch.
    pub fn switch_authorization(&self) -> Outcome<String> {
        Ok(format!("Authorization: Bearer {}\r\n", self.secret("switch")?))
    }

    /// A secret that the service has generated.
    fn secret(&self, name: &str) -> Outcome<String> {
        let secret = std::fs::read_to_string(self.folder.path().join("secrets").join(name))?;
        Ok(secret.trim().to_owned())
    }

    /// CPU time so far, in seconds.
    pub fn cpu_seconds(&self) -> Outcome<f64> {
        cpu::seconds(self.process.child.id())
    }

    /// Resident memory in MiB.
    pub fn resident_mib(&self) -> Outcome<f64> {
        self.memory_mib("VmRSS:")
    }

    /// The most memory that was ever resident, in MiB.
    pub fn peak_mib(&self) -> Outcome<f64> {
        self.memory_mib("VmHWM:")
    }

    fn memory_mib(&self, name: &str) -> Outcome<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    /// Sends SIGTERM and waits until the service has ended.
    pub async fn terminate(self) -> Outcome<()> {
        self.process.terminate().await?;
        Ok(())
    }

    /// Open connections of the public listener, from the service's metrics.
    pub async fn open_connections(&self) -> Outcome<usize> {
        let metrics = Client::connect(self.ops).await?.send(&get("/metrics", None)).await?;
        let text = String::from_utf8(metrics.body)?;
        let value = text.lines().find_map(|line| line.strip_prefix("trunkline_connections "));
        Ok(value.ok_or("no trunkline_connections metric")?.parse()?)
    }
}

/// Sets the environment of a trunkline command: the common settings and nothing inherited, since unknown settings are
/// refused.
pub fn configure<'a>(command: &'a mut Command, folder: &Path) -> &'a mut Command {
    command.env_clear().env("TRUNKLINE_DATA_DIR", folder);
    // Webhook receivers are on this machine.
    command.env("TRUNKLINE_ALLOW_PRIVATE_IPS", "on");
    command.env("TRUNKLINE_RATE_LIMITS", "off").env("TRUNKLINE_BOOTSTRAP_TOKEN", BOOTSTRAP_TOKEN);
    // Fixed, so that several processes can share a database.
    command.env("TRUNKLINE_MASTER_SECRET", MASTER_SECRET)
}

/// Creates the first admin.
pub async fn bootstrap(public: SocketAddr) -> Outcome<()> {
    let admin = json!({
        "legal_name": "Operator BV", "contact_name": "Ada Admin", "contact_email": ADMIN, "password": PASSWORD,
    });
    let header = format!("X-Bootstrap-Token: {BOOTSTRAP_TOKEN}\r\n");
    let response = Client::connect(public).await?.send(&post("/v1/admin/bootstrap", &header, &admin)).await?;
    if response.status != 201 {
        return Err(format!("bootstrap: {}", String::from_utf8_lossy(&response.body)).into());
    }
    Ok(())
}

/// Signs in and returns the access token.
pub async fn sign_in(public: SocketAddr, email: &str) -> Outcome<String> {
    let sign_in = post("/v1/auth/sign-in", "", &json!({"email": email, "password": PASSWORD}));
    let session: Value = serde_json::from_slice(&Client::connect(public).await?.send(&sign_in).await?.body)?;
    let token = session["access_token"].as_str().ok_or("the sign-in response has no access token")?;
    Ok(token.to_owned())
}

/// A child process that prints its addresses and is killed with this one.
pub struct Process {
    child: Child,
    /// Kept open: a program that prints into a closed pipe gets SIGPIPE.
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

    /// The address in the next line of output that begins with `word`.
    pub fn address_after(&mut self, word: &str) -> Outcome<SocketAddr> {
        let rest = self.rest_of_line(word)?;
        let address = rest.trim().trim_start_matches("http://");
        Ok(address.split('/').next().unwrap_or(address).parse()?)
    }

    /// Sends SIGTERM and waits until it has ended.
    pub async fn terminate(mut self) -> Outcome<ExitStatus> {
        let id = self.child.id().to_string();
        Command::new("/usr/bin/kill").args(["-TERM", &id]).status()?;
        Ok(tokio::task::spawn_blocking(move || self.child.wait()).await??)
    }

    /// Waits for a line of output that begins with `word`.
    pub fn wait_for(&mut self, word: &str) -> Outcome<()> {
        self.rest_of_line(word).map(drop)
    }

    fn rest_of_line(&mut self, word: &str) -> Outcome<String> {
        let mut line = String::new();
        while self.output.read_line(&mut line)? > 0 {
            if let Some(rest) = line.trim().strip_prefix(word) {
                return Ok(rest.to_owned());
            }
            line.clear();
        }
        Err(format!("the process exited before it printed {word}").into())
    }
}

impl Drop for Process {
    /// Sends SIGKILL, so that nothing is shut down cleanly.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A binary in the same folder as this one.
pub fn sibling_binary(name: &str) -> Outcome<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(name))
}
