//! A streaming standby of the test server, with replay that can be held up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::engines::{TestDb, postgres_client, uuid};

pub struct Standby {
    server: Child,
    folder: PathBuf,
    /// The database of the test on the standby.
    pub url: String,
    control: tokio_postgres::Client,
}

/// A program of PostgreSQL that ends with this thread. The server refuses to run as root.
fn program(name: &str) -> Command {
    let bin = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").expect("no PostgreSQL to test on: run make test");
    let mut command = Command::new("setpriv");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--", "setpriv"]);
    }
    command.args(["--pdeathsig", "INT", "--"]).arg(Path::new(&bin).join(name));
    command.stdin(Stdio::null()).current_dir("/");
    command
}

impl Standby {
    /// Of the server that has this database.
    pub async fn of(db: &TestDb) -> Standby {
        let folder = std::env::temp_dir().join(format!("trunkline-standby-{}", uuid().simple()));
        let primary = std::env::var("TRUNKLINE_TEST_POSTGRES").unwrap();
        let mut copy = program("pg_basebackup");
        copy.arg("--pgdata").arg(&folder).arg(format!("--dbname={primary}"));
        copy.args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync", "--no-password"]);
        let copied = copy.output().unwrap();
        assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));

        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut serve = program("postgres");
        serve.arg("-D").arg(&folder).args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1"]);
        serve.args(["-c", "unix_socket_directories=", "-c", "ssl=off"]);
        // What it replays waits for those who read.
        serve.args(["-c", "max_standby_streaming_delay=-1"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = serve.spawn().unwrap();
        let url = reqwest::Url::parse(&db.url).unwrap();
        let url = db.url.replace(&format!(":{}/", url.port().unwrap()), &format!(":{port}/"));
        while tokio_postgres::connect(&url, tokio_postgres::NoTls).await.is_err() {
            assert!(server.try_wait().unwrap().is_none(), "the standby did not start");
            tokio::task::yield_now().await;
        }
        let control = postgres_client(&url).await;
        Standby { server, folder, url, control }
    }

    /// Waits until it has replayed what the primary has written.
    pub async fn catch_up(&self, db: &TestDb) {
        let primary = postgres_client(&db.url).await;
        let row = primary.query_one("SELECT CAST(pg_current_wal_lsn() AS TEXT)", &[]).await.unwrap();
        let written: String = row.get(0);
        self.until(&format!("pg_last_wal_replay_lsn() >= CAST('{written}' AS pg_lsn)")).await;
    }

    /// Replays nothing until it resumes.
    pub async fn pause(&self) {
        self.control.batch_execute("SELECT pg_wal_replay_pause()").await.unwrap();
        self.until("pg_get_wal_replay_pause_state() = 'paused'").await;
    }

    pub async fn resume(&self) {
        self.control.batch_execute("SELECT pg_wal_replay_resume()").await.unwrap();
    }

    /// Makes a server of its own of it.
    pub async fn promote(&self) {
        self.control.batch_execute("SELECT pg_promote()").await.unwrap();
        self.until("NOT pg_is_in_recovery()").await;
    }

    /// Waits for this many seconds of its own clock.
    pub async fn fall_behind(&self, seconds: u32) {
        let row = self.control.query_one("SELECT CAST(clock_timestamp() AS TEXT)", &[]).await.unwrap();
        let now: String = row.get(0);
        self.until(&format!("clock_timestamp() > CAST('{now}' AS TIMESTAMPTZ) + INTERVAL '{seconds} seconds'")).await;
    }

    /// Waits until this condition holds on it.
    async fn until(&self, condition: &str) {
        let sql = format!("SELECT COALESCE({condition}, FALSE)");
        while !self.control.query_one(sql.as_str(), &[]).await.unwrap().get::<_, bool>(0) {
            tokio::task::yield_now().await;
        }
    }

    /// Shuts it down, with its connections.
    pub fn stop(&mut self) {
        let id = self.server.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        self.server.wait().unwrap();
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
