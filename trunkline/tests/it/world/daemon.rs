//! A program of others that runs beside the service, with a file of `deploy/`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How often it is started, if others take its ports.
const STARTS: usize = 5;

pub struct Daemon {
    process: Child,
    lines: UnboundedReceiver<String>,
    printed: Vec<String>,
}

/// The top folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The text of a file with these parts replaced, each of which must be there.
pub fn replaced(path: &str, parts: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    parts.iter().fold(text, |text, (part, other)| {
        assert!(text.contains(part), "{path} has no {part:?}");
        text.replace(part, other)
    })
}

impl Daemon {
    /// Starts a program on free ports and waits until it has printed all of these words. A port may be taken before the
    /// program listens: then it ends, and is started on others.
    pub async fn on_free_ports<const N: usize>(
        command: impl Fn([u16; N]) -> Command,
        words: &[&str],
    ) -> (Daemon, [u16; N]) {
        let mut printed = Vec::new();
        for _ in 0..STARTS {
            let ports = free_ports();
            let mut daemon = Daemon::start(&mut command(ports));
            if daemon.prints(words).await {
                return (daemon, ports);
            }
            printed.append(&mut daemon.printed);
        }
        panic!("it does not start:\n{}", printed.join("\n"));
    }

    fn start(command: &mut Command) -> Daemon {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}; run make test"));
        let (sender, lines) = unbounded_channel();
        let outputs: [Box<dyn Read + Send>; 2] =
            [Box::new(process.stdout.take().unwrap()), Box::new(process.stderr.take().unwrap())];
        for output in outputs {
            let sender = sender.clone();
            // To its end: the program must not wait for a reader.
            std::thread::spawn(move || {
                BufReader::new(output).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
            });
        }
        Daemon { process, lines, printed: Vec::new() }
    }

    /// Waits until it has printed all of these words since the last wait.
    pub async fn until(&mut self, words: &[&str]) {
        assert!(self.prints(words).await, "it ended:\n{}", self.printed.join("\n"));
    }

    /// Whether it prints all of these words before it ends.
    async fn prints(&mut self, words: &[&str]) -> bool {
        let mut missing = words.to_vec();
        while !missing.is_empty() {
            let Some(line) = self.lines.recv().await else { return false };
            missing.retain(|words| !line.contains(*words));
            self.printed.push(line);
        }
        true
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_ports<const N: usize>() -> [u16; N] {
    // All at the same time, so that they differ.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}
