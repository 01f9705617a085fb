//! pgbench in a database of ours.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use crate::Outcome;
use crate::postgres::Database;

/// Branches of TPC-B: more than clients, or they wait for each other's rows.
const SCALE: usize = 50;

pub struct Server {
    /// What both sides use.
    pub database: Database,
    program: PathBuf,
}

impl Server {
    /// One with pgbench's own tables in it.
    pub async fn prepare(schema: &str) -> Outcome<Server> {
        let folder = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
        let server = Server { database: Database::create().await?, program: PathBuf::from(folder).join("pgbench") };
        server.database.run(schema).await?;
        server.start(&["--initialize", "--quiet", "--scale", &SCALE.to_string()])?;
        Ok(server)
    }

    /// Transactions a second of pgbench's own TPC-B-like script.
    pub fn pgbench(&self, clients: usize, round: Duration) -> Outcome<f64> {
        let (clients, seconds) = (clients.to_string(), round.as_secs().to_string());
        let output = self.start(&[
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
        rate.ok_or_else(|| format!("pgbench told no rate: {text}").into())
    }

    fn start(&self, arguments: &[&str]) -> Outcome<Output> {
        let output = Command::new(&self.program).args(arguments).arg(&self.database.url).output()?;
        if !output.status.success() {
            return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(output)
    }
}
