//! Kamailio and SIPp, as processes.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::lab::Net;

/// The folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A child that ends with its test, however that ends.
struct Owned(Child);

impl Owned {
    /// Ends it and everything it started, as a power cut would.
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
        Kamailio::with(net, folder, secret, &[("EDGE_DECISION_SECONDS", "10"), ("EDGE_REPLY_SECONDS", "10")])
    }

    pub fn with(net: &Net, folder: &Path, secret: &str, settings: &[(&str, &str)]) -> Kamailio {
        let log = folder.join("kamailio.log");
        let words = File::options().create(true).append(true).open(&log).unwrap();
        let mut command = Command::new(repository().join("deploy/kamailio/run"));
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("EDGE_ID", "edge-1");
        command.env("EDGE_SERVICE", format!("http://switch:{secret}@{}", net.service()));
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

    /// What it complained about, apart from what it could not read, a service that is away, locks in its notes that it
    /// tries again, and a second goodbye that came too late.
    pub fn complaints(&self) -> Vec<String> {
        const USUAL: [&str; 6] = [
            "core/parser",
            "janssonmod_set",
            "database is locked",
            "dlg_db_handler",
            "terminating non-confirmed",
            "curL_request_url",
        ];
        let text = std::fs::read_to_string(&self.log).unwrap();
        let is_loud = |line: &&str| ["ERROR", "CRITICAL"].iter().any(|word| line.contains(word));
        let is_usual = |line: &&str| USUAL.iter().any(|usual| line.contains(usual));
        text.lines().filter(is_loud).filter(|line| !is_usual(line)).map(str::to_owned).collect()
    }
}

/// A program that plays one of the scenarios in `tests/sip`.
pub struct Sipp {
    process: Owned,
    log: PathBuf,
}

/// What a phone heard, and whether its call went as the scenario has it.
#[derive(Debug, PartialEq, Eq)]
pub struct Heard {
    pub code: u16,
    pub is_complete: bool,
}

impl Sipp {
    fn start(folder: &Path, name: &str, scenario: &str, arguments: &[&str]) -> Sipp {
        let (log, errors) = (folder.join(format!("{name}.log")), folder.join(format!("{name}.err")));
        let mut command = Command::new("sipp");
        command.arg("-sf").arg(repository().join("tests/sip").join(scenario).with_extension("xml"));
        command.args(["-nostdin", "-trace_logs", "-log_file"]).arg(&log);
        command.args(["-trace_err", "-error_file"]).arg(errors).args(arguments);
        command.env("TERM", "dumb").process_group(0).current_dir(folder);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Sipp { process: Owned(process), log }
    }

    /// An upstream at this address.
    pub fn upstream(folder: &Path, scenario: &str, address: &str) -> Sipp {
        Sipp::start(folder, &format!("upstream-{address}"), scenario, &["-i", address, "-p", "5060"])
    }

    /// A phone at this address and port that calls a number and talks for so long.
    pub fn phone(folder: &Path, edge: &str, scenario: &str, from: (&str, u16), number: &str, talk_millis: u64) -> Sipp {
        let ((address, port), talk) = (from, talk_millis.to_string());
        let (name, port) = (format!("phone-{address}-{port}"), port.to_string());
        let identity = ["-key", "calling", "+31201111111", "-s", number, "-i", address, "-p", &port];
        let ways = ["-m", "1", "-d", &talk, "-timeout", "30s", "-timeout_error", edge];
        Sipp::start(folder, &name, scenario, &[&identity[..], &ways[..]].concat())
    }

    /// Waits for a call to be over.
    pub async fn over(mut self) -> Heard {
        tokio::task::spawn_blocking(move || {
            let is_complete = self.process.0.wait().unwrap().success();
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            Heard { code: said.trim().parse().unwrap_or_default(), is_complete }
        })
        .await
        .unwrap()
    }
}
