//! A temporary database on the PostgreSQL server that `bench/run` starts.

use tokio_postgres::NoTls;

use crate::{Outcome, cpu};

/// A process that runs as long as the server does.
const CHECKPOINTER: &str = "SELECT pid::BIGINT FROM pg_stat_activity WHERE backend_type = 'checkpointer'";

pub struct Database {
    /// Without TLS, so that it does not affect the measurement.
    pub url: String,
    maintenance_url: String,
    name: String,
}

impl Database {
    pub async fn create() -> Outcome<Database> {
        Database::create_named("only").await
    }

    /// For measurements that need several databases at a time.
    pub async fn create_named(which: &str) -> Outcome<Database> {
        let given = std::env::var("TRUNKLINE_TEST_POSTGRES")
            .map_err(|_| "TRUNKLINE_TEST_POSTGRES is not set: start this with bench/run")?;
        let name = format!("trunkline_bench_{}_{which}", std::process::id());
        let (base, _) = given.rsplit_once('/').ok_or("the server's URL has no database")?;
        let (url, maintenance_url) = (format!("{base}/{name}?sslmode=disable"), format!("{given}?sslmode=disable"));
        let database = Database { url, maintenance_url, name };
        // A measurement that failed may have left it behind.
        run(&database.maintenance_url, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", database.name)).await?;
        run(&database.maintenance_url, &format!("CREATE DATABASE {}", database.name)).await?;
        Ok(database)
    }

    pub async fn run(&self, text: &str) -> Outcome<()> {
        run(&self.url, text).await
    }

    /// The number in the only row of a query.
    pub async fn number(&self, text: &str) -> Outcome<i64> {
        let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let number = client.query_one(text, &[]).await?.try_get(0)?;
        drop(client);
        connection.await??;
        Ok(number)
    }

    /// The process of the server, which has started all its others.
    pub async fn server_process(&self) -> Outcome<u32> {
        cpu::parent(u32::try_from(self.number(CHECKPOINTER).await?)?)
    }

    pub async fn delete(self) -> Outcome<()> {
        run(&self.maintenance_url, &format!("DROP DATABASE {} WITH (FORCE)", self.name)).await
    }
}

async fn run(url: &str, text: &str) -> Outcome<()> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    let connection = tokio::spawn(connection);
    client.batch_execute(text).await?;
    drop(client);
    Ok(connection.await??)
}
