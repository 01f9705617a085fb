//! Kamailio and SIPp, as processes.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::lab::Net;
use super::messages::{self, Message, Talk};

/// The program that starts the edge, with no settings.
pub fn edge_program() -> Command {
    let mut command = Command::new(repository().join("deploy/kamailio/run"));
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command
}

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A child process that ends with its test, passed or failed.
struct Owned(Child);

impl Owned {
    /// Kills it and its children.
    fn kill(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The edge.
pub struct Kamailio {
    process: Owned,
    log: PathBuf,
}

impl Kamailio {
    /// Starts it with files in this folder; what it kept there it finds again. A busy machine is no reason for a call to
    /// go another way, so everybody has time to answer.
    pub fn start(net: &Net, folder: &Path, secret: &str) -> Kamailio {
        Kamailio::start_with(net, folder, secret, &[])
    }

    pub fn start_with(net: &Net, folder: &Path, secret: &str, settings: &[(&str, &str)]) -> Kamailio {
        let patient = [("EDGE_DECISION_SECONDS", "10"), ("EDGE_REPLY_SECONDS", "10")];
        Kamailio::with(net, folder, secret, &[&patient, settings].concat())
    }

    pub fn with(net: &Net, folder: &Path, secret: &str, settings: &[(&str, &str)]) -> Kamailio {
        let log = folder.join("kamailio.log");
        let words = File::options().create(true).append(true).open(&log).unwrap();
        let mut command = edge_program();
        command.env("EDGE_ID", "edge-1").env("EDGE_SERVICE", format!("http://switch:{secret}@{}", net.service()));
        command.env("EDGE_LISTEN", format!("udp:{}", net.edge()));
        command.env("EDGE_CONTROL", format!("tcp:{}", net.control()));
        command.env("EDGE_DATA", folder.join("data")).env("EDGE_RUN", folder.join("run"));
        command.env("EDGE_RING_SECONDS", "3").env("EDGE_KEEPALIVE_SECONDS", "1").env("EDGE_PROBE_SECONDS", "1");
        command.env("EDGE_MEMORY", "64").envs(settings.iter().copied()).process_group(0);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(words).spawn().unwrap();
        Kamailio { process: Owned(process), log }
    }

    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Its error log, except for unreadable packets, an unreachable service, database locks that it retries, and a BYE
    /// that came too early or too late.
    pub fn complaints(&self) -> Vec<String> {
        const USUAL: [&str; 7] = [
            "core/parser",
            "core parsing of SIP message failed",
            "janssonmod_set",
            "database is locked",
            "dlg_db_handler",
            "terminating non-confirmed",
            "curL_request_url",
        ];
        // What others sent may stand in it.
        let text = String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned();
        let is_loud = |line: &&str| ["ERROR", "CRITICAL"].iter().any(|word| line.contains(word));
        let is_usual = |line: &&str| USUAL.iter().any(|usual| line.contains(usual));
        text.lines().filter(is_loud).filter(|line| !is_usual(line)).map(str::to_owned).collect()
    }
}

/// Another program, which ends with its test.
pub struct Helper(Owned);

impl Helper {
    pub fn start(mut command: Command) -> Helper {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Helper(Owned(command.spawn().unwrap()))
    }

    /// Asks it to stop; whether it did so in order.
    pub fn stop(mut self) -> bool {
        let id = self.0.0.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().unwrap();
        self.0.0.wait().unwrap().success()
    }
}

/// A program that plays one of the scenarios in `trunkline/tests/sip`.
pub struct Sipp {
    process: Owned,
    log: PathBuf,
    messages: PathBuf,
}

/// Who calls: an address and port.
pub type From<'a> = (&'a str, u16);

/// The messages of a phone, and whether its calls followed the scenario.
#[derive(Debug)]
pub struct PhoneResult {
    /// For each call.
    pub codes: Vec<u16>,
    pub is_complete: bool,
    /// The calls that were answered, as their messages have it.
    pub talks: Vec<Talk>,
}

impl PhoneResult {
    /// The final code of the only call.
    pub fn code(&self) -> u16 {
        self.codes.first().copied().unwrap_or_default()
    }
}

impl Sipp {
    fn start(folder: &Path, name: &str, scenario: &str, arguments: &[&str]) -> Sipp {
        let file = |kind: &str| folder.join(format!("{name}.{kind}"));
        let (log, messages) = (file("log"), file("messages"));
        let mut command = Command::new("sipp");
        command.arg("-sf").arg(repository().join("trunkline/tests/sip").join(scenario).with_extension("xml"));
        command.args(["-nostdin", "-trace_logs", "-log_file"]).arg(&log);
        command.args(["-trace_shortmsg", "-shortmessage_file"]).arg(&messages);
        command.args(["-trace_err", "-error_file"]).arg(file("err")).args(arguments);
        command.env("TERM", "dumb").process_group(0).current_dir(folder);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Sipp { process: Owned(process), log, messages }
    }

    /// An upstream at this address.
    pub fn upstream(folder: &Path, scenario: &str, address: &str) -> Sipp {
        Sipp::start(folder, &format!("upstream-{address}"), scenario, &["-i", address, "-p", "5060"])
    }

    /// An upstream at this address that keeps what it receives, whole.
    pub fn curious_upstream(folder: &Path, address: &str, kept: &Path) -> Sipp {
        let kept = kept.to_str().unwrap();
        let whole = ["-i", address, "-p", "5060", "-trace_msg", "-message_file", kept];
        Sipp::start(folder, &format!("curious-{address}"), "callee", &whole)
    }

    /// A phone that calls a number and talks for this long.
    pub fn phone(folder: &Path, edge: &str, scenario: &str, from: From<'_>, number: &str, talk_millis: u64) -> Sipp {
        Sipp::phones(folder, edge, scenario, from, number, talk_millis, 1)
    }

    /// This many phones at one address, fifty of which start per second.
    pub fn phones(
        folder: &Path,
        edge: &str,
        scenario: &str,
        (address, port): From<'_>,
        number: &str,
        talk_millis: u64,
        calls: usize,
    ) -> Sipp {
        let (talk, calls) = (talk_millis.to_string(), calls.to_string());
        let (name, port) = (format!("phone-{address}-{port}"), port.to_string());
        let identity = ["-key", "calling", "+31201111111", "-s", number, "-i", address, "-p", &port];
        let ways = ["-m", &calls, "-l", &calls, "-r", "50", "-d", &talk, "-timeout", "60s", "-timeout_error", edge];
        Sipp::start(folder, &name, scenario, &[&identity[..], &ways[..]].concat())
    }

    /// A phone that proves its network with these credentials.
    pub fn prover(folder: &Path, edge: &str, (address, port): From<'_>, user: &str, password: &str) -> Sipp {
        let (name, port) = (format!("prover-{address}-{port}"), port.to_string());
        let identity = ["-key", "calling", "+31201111111", "-i", address, "-p", &port, "-au", user, "-ap", password];
        let ways = ["-m", "1", "-timeout", "60s", "-timeout_error", edge];
        Sipp::start(folder, &name, "verify", &[&identity[..], &ways[..]].concat())
    }

    /// What passed so far.
    pub fn messages(&self) -> Vec<Message> {
        messages::read(&self.messages)
    }

    /// Waits for its calls to be over.
    pub async fn over(mut self) -> PhoneResult {
        tokio::task::spawn_blocking(move || {
            let is_complete = self.process.0.wait().unwrap().success();
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            let codes = said.lines().filter_map(|line| line.trim().parse().ok()).collect();
            PhoneResult { codes, is_complete, talks: messages::talks(&self.messages()) }
        })
        .await
        .unwrap()
    }
}
