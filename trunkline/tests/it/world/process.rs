//! The program as a process that can be killed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::json;

use super::PASSWORD;
use super::client::Client;
use super::engines::TestDb;

pub struct Process {
    child: Child,
    /// Kept open, because the service may print more.
    _words: BufReader<ChildStdout>,
    public: String,
    ops: String,
    http: reqwest::Client,
    switch_secret: String,
}

/// The program on this database and data folder. It sees these settings and no others.
pub fn program(db: &TestDb, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Command {
    let url = match db.url.strip_prefix("sqlite:") {
        Some(path) => format!("sqlite://{path}"),
        None => db.url.clone(),
    };
    program_at(&url, folder, settings, arguments)
}

/// The same on the database at this URL.
pub fn program_at(url: &str, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trunkline"));
    command.env_clear().args(arguments);
    command.env("TRUNKLINE_DATA_DIR", folder).env("TRUNKLINE_DATABASE_URL", url);
    command.env("TRUNKLINE_LISTEN", "127.0.0.1:0").env("TRUNKLINE_OPS_LISTEN", "127.0.0.1:0");
    command.envs(settings.iter().copied()).stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn run(db: &TestDb, folder: &Path, settings: &[(&str, &str)], arguments: &[&str]) -> Output {
    program(db, folder, settings, arguments).output().unwrap()
}

impl Process {
    /// Starts the service and waits until it says that it is up.
    pub fn serve(db: &TestDb, folder: &Path, settings: &[(&str, &str)]) -> Process {
        Process::started(program(db, folder, settings, &["serve"]), folder, Stdio::null())
    }

    /// The same with its log in this file.
    pub fn serve_with_log(db: &TestDb, folder: &Path, settings: &[(&str, &str)], log: &Path) -> Process {
        let log = File::create(log).unwrap();
        Process::started(program(db, folder, settings, &["serve"]), folder, log.into())
    }

    /// The same on the database at this URL.
    pub fn serve_at(url: &str, folder: &Path, settings: &[(&str, &str)]) -> Process {
        Process::started(program_at(url, folder, settings, &["serve"]), folder, Stdio::null())
    }

    /// The same with a file store on a disk of its own, of this many MiB. It is mounted in a namespace of the process,
    /// which needs no privileges where the system lets users have namespaces.
    pub fn serve_on_small_disk(db: &TestDb, folder: &Path, settings: &[(&str, &str)], mib: usize) -> Process {
        let service = program(db, folder, settings, &["serve"]);
        let disk = folder.join("files");
        std::fs::create_dir(&disk).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-euc"]);
        command.arg(format!("mount -t tmpfs -o size={mib}m tmpfs \"$1\"; shift; exec \"$@\"")).arg("sh").arg(disk);
        command.arg(service.get_program()).args(service.get_args());
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
        command.envs(service.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Process::started(command, folder, Stdio::null())
    }

    fn started(mut command: Command, folder: &Path, log: Stdio) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let (mut public, mut ops) = (None, None);
        let mut words = BufReader::new(child.stdout.take().unwrap());
        for line in words.by_ref().lines().map_while(Result::ok) {
            let mut parts = line.split_whitespace();
            match (parts.next(), parts.next()) {
                (Some("API"), Some(url)) => public = Some(url.to_owned()),
                (Some("Operations"), Some(url)) => ops = url.strip_suffix("/healthz").map(str::to_owned),
                _ => {}
            }
            if ops.is_some() {
                break;
            }
        }
        Process {
            child,
            _words: words,
            public: public.expect("the service came up"),
            ops: ops.expect("the service came up"),
            http: super::plain_http(),
            switch_secret: std::fs::read_to_string(folder.join("secrets/switch")).unwrap(),
        }
    }

    /// Where its API is, without the path.
    pub fn address(&self) -> &str {
        self.public.trim_end_matches("/v1")
    }

    /// The URL of the operations port.
    pub fn ops_url(&self) -> &str {
        &self.ops
    }

    /// The address of the operations port.
    pub fn ops_address(&self) -> &str {
        self.ops.trim_start_matches("http://")
    }

    pub fn anyone(&self) -> Client {
        Client::new(self.http.clone(), self.public.clone(), None)
    }

    pub fn bearing(&self, token: &str) -> Client {
        Client::new(self.http.clone(), self.public.clone(), Some(token.to_owned()))
    }

    /// Signs in and returns the caller.
    pub async fn sign_in(&self, email: &str) -> Client {
        let session = self.anyone().post("/auth/sign-in", json!({"email": email, "password": PASSWORD})).await.ok();
        self.bearing(session["access_token"].as_str().unwrap())
    }

    /// A caller of the operations port with the switch secret.
    pub fn operations(&self) -> Client {
        Client::new(self.http.clone(), self.ops.clone(), Some(self.switch_secret.clone()))
    }

    /// The switch secret.
    pub fn switch_secret(&self) -> &str {
        &self.switch_secret
    }

    /// Advances the clock; every job that became due has run when this returns.
    pub async fn advance(&self, seconds: u64) {
        self.operations().post("/ops/clock", json!({"advance_seconds": seconds})).await.expect(200);
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Asks it to stop, with SIGTERM.
    pub fn terminate(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// Waits until it has ended.
    pub fn wait(&mut self) {
        self.child.wait().unwrap();
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.wait();
    }
}

impl Drop for Process {
    /// A test that fails leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
