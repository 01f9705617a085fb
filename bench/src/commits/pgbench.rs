//! A database of our own on the PostgreSQL server at hand, and pgbench in it.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

use tokio_postgres::NoTls;

use crate::Outcome;

/// Branches of TPC-B: more than clients, or they wait for each other's rows.
const SCALE: usize = 50;

pub struct Server {
    /// Of the database that both sides use; plain, so that TLS weighs on neither.
    pub url: String,
    maintenance_url: String,
    database: String,
    program: PathBuf,
}

impl Server {
    /// One with pgbench's own tables in it.
    pub async fn prepare(schema: &str) -> Outcome<Server> {
        let server = Server::create("commits", schema).await?;
        server.start(&["--initialize", "--quiet", "--scale", &SCALE.to_string()])?;
        Ok(server)
    }

    pub async fn create(purpose: &str, schema: &str) -> Outcome<Server> {
        let given = std::env::var("TRUNKLINE_TEST_POSTGRES").map_err(|_| "run me as bench/run")?;
        let database = format!("trunkline_bench_{purpose}_{}", std::process::id());
        let (base, _) = given.rsplit_once('/').ok_or("the server's URL has no database")?;
        let folder = std::env::var("TRUNKLINE_TEST_POSTGRES_BIN").unwrap_or_default();
        let server = Server {
            url: format!("{base}/{database}?sslmode=disable"),
            maintenance_url: format!("{given}?sslmode=disable"),
            program: PathBuf::from(folder).join("pgbench"),
            database,
        };
        run(&server.maintenance_url, &format!("CREATE DATABASE {}", server.database)).await?;
        run(&server.url, schema).await?;
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
        let output = Command::new(&self.program).args(arguments).arg(&self.url).output()?;
        if !output.status.success() {
            return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(output)
    }

    pub async fn forget(self) -> Outcome<()> {
        run(&self.maintenance_url, &format!("DROP DATABASE {} WITH (FORCE)", self.database)).await
    }
}

async fn run(url: &str, text: &str) -> Outcome<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(text).await?;
    drop(client);
    Ok(connection.await??)
}
