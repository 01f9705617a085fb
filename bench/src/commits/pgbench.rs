//! pgbench on a temporary database.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use crate::Outcome;
use crate::postgres::Database;

/// TPC-B branches: more than clients, so that they do not wait for each other's row locks.
const SCALE: usize = 50;

pub struct Server {
    /// Used by both sides of the comparison.
    pub database: Database,
    program: PathBuf,
}

impl Server {
    /// Creates a database with `schema` and pgbench's own tables.
    pub async fn prepare(schema: &str) -> Outcome<Server> {
        let folder = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
        let server = Server { database: Database::create().await?, program: PathBuf::from(folder).join("pgbench") };
        server.database.run(schema).await?;
        server.run(&["--initialize", "--quiet", "--scale", &SCALE.to_string()])?;
        Ok(server)
    }

    /// Transactions per second of pgbench's TPC-B-like script.
    pub fn pgbench(&self, clients: usize, round: Duration) -> Outcome<f64> {
        let (clients, seconds) = (clients.to_string(), round.as_secs().to_string());
        let output = self.run(&[
            "--client",
            &clients,
            "--jobs",
            "2",
            "--protocol",
            "prepared",
            "--no-vacuum",
            "--time",
            &seconds,
        ])?;
        let text = String::from_utf8_lossy(&output.stdout);
        let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        rate.ok_or_else(|| format!("no tps in the output of pgbench: {text}").into())
    }

    fn run(&self, arguments: &[&str]) -> Outcome<Output> {
        let output = Command::new(&self.program).args(arguments).arg(&self.database.url).output()?;
        if !output.status.success() {
            return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(output)
    }
}
