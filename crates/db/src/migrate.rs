//! Migrations: numbered SQL files in `migrations/`, built into the binary, applied once and in order.
//!
//! Each runs in one transaction with its row in `schema_migrations`. Nodes that start together on PostgreSQL wait for
//! each other on an advisory lock. A database that is newer than the binary, or has other migrations, is refused.

mod rollout;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;

use super::conn::Conn;
use super::ddl::sqlite_ddl;
use super::error::{DbError, Result};
use super::statements::postgres_text;
use super::{Db, Engine};
use crate::{params, row, sql};

pub use rollout::Rollout;

pub struct Migration {
    /// The file name without its extension: `0001_init`.
    pub name: &'static str,
    text: &'static str,
    /// SQL for PostgreSQL only, run after the text.
    postgres: &'static str,
    /// SQL for SQLite only, run after the text and not translated.
    sqlite: &'static str,
}

macro_rules! migrations {
    ($($name:literal $(+ $engine:ident)*),* $(,)?) => {
        &[$({
            #[allow(unused_mut, reason = "most migrations are one text for both engines")]
            let mut migration = Migration {
                name: $name,
                text: include_str!(concat!("../../../migrations/", $name, ".sql")),
                postgres: "",
                sqlite: "",
            };
            $(migration.$engine = include_str!(concat!("../../../migrations/", $name, ".", stringify!($engine), ".sql"));)*
            migration
        }),*]
    };
}

/// Every migration, in order: `"0001_init"`, or `"0001_init" + postgres` where a `0001_init.postgres.sql` follows.
pub static MIGRATIONS: &[Migration] = migrations![
    "0001_init",
    "0002_identity",
    "0003_pipeline",
    "0004_onboarding",
    "0005_compliance",
    "0006_cards",
    "0007_ledger" + postgres + sqlite,
    "0008_beta_decisions",
    "0009_notifications",
    "0010_recharge",
    "0011_fx",
    "0012_vat",
    "0013_invoices",
    "0014_payments",
    "0015_unpaid_invoices",
    "0016_rates",
    "0017_trunks",
    "0018_numbers",
    "0019_calls" + postgres,
    "0020_inbound_calls" + postgres,
    "0021_call_alarms",
    "0022_cdr_reads",
    "0023_cdr_charges",
    "0024_customers",
    "0025_team",
    "0026_support",
    "0027_audit_log",
    "0028_ledger_checks" + postgres,
    "0029_dashboards",
    "0030_everybodys_calls",
    "0031_ledger_plans" + postgres,
    "0032_suspensions",
    "0033_late_words",
    "0034_peaks",
    "0035_undone_orders",
    "0036_charges_under_way",
    "0037_waitlist_positions",
    "0038_suspense",
    "0039_vat_ids_and_hang_ups",
    "0040_inbound_targets",
    "0041_network_proofs",
    "0042_recent_sign_in",
    "0043_passkeys",
    "0044_job_classes",
    "0045_audit_checkpoints",
    "0046_demo_mark",
    "0047_credits",
    "0048_verified_emails",
    "0049_read_only_tokens",
    "0050_chargebacks",
    "0051_payment_limits",
    "0052_account_users",
    "0053_api_keys",
    "0054_events",
    "0055_webhook_endpoints",
    "0056_notification_preferences",
    "0057_list_filters",
    "0058_usage_rollups" + postgres + sqlite,
    "0059_search",
    "0060_blocked_users",
    "0061_demo_data",
    "0062_portal_reads",
    "0063_rate_plans",
    "0064_rate_sheets",
    "0065_call_disputes",
    "0066_statements",
    "0067_route_quality",
    "0068_price_notices",
    "0069_bigsum" + postgres,
    "0070_deck_mail",
    "0071_cdr_indexes",
    "0072_deck_notice",
    "0073_cdr_archive" + postgres,
    "0074_live_call_holds" + postgres + sqlite,
    "0075_ledger_splits" + postgres + sqlite,
    "0076_operator_books",
    "0077_unknown_countries" + postgres + sqlite,
];

/// What all migrations leave in a new SQLite database, in a third of the time: SQLite reads the whole schema again after
/// every ALTER TABLE. `make schema` writes it.
const SQLITE_SCHEMA: &str = include_str!("sqlite/schema.sql");

/// An arbitrary number that no other program on the same server is likely to lock.
const ADVISORY_LOCK: &str = "SELECT pg_advisory_xact_lock(7310589421)";

const TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT PRIMARY KEY NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL);";

row! {
    struct Applied { number: i64, name: String, checksum: String }
}

impl Migration {
    /// SHA-256 of its texts, to detect a migration that was changed after it ran.
    pub fn checksum(&self) -> String {
        HEXLOWER.encode(digest(&SHA256, [self.text, self.postgres, self.sqlite].concat().as_bytes()).as_ref())
    }

    /// Whether nodes can serve while it runs.
    pub fn rollout(&self) -> Rollout {
        rollout::rollout(&[self.text, self.postgres].concat())
    }

    /// Its files in `migrations/`.
    pub fn files(&self) -> Vec<String> {
        let parts = [("sql", self.text), ("postgres.sql", self.postgres), ("sqlite.sql", self.sqlite)];
        let present = parts.iter().filter(|(_, text)| !text.is_empty());
        present.map(|(ending, _)| format!("{}.{ending}", self.name)).collect()
    }

    async fn apply(&self, number: usize, conn: &mut Conn) -> Result<()> {
        let text = if conn.is_sqlite() {
            [&sqlite_ddl(self.text), self.sqlite].concat()
        } else {
            [&postgres_text(self.text), self.postgres].concat()
        };
        conn.script(&text).await?;
        self.record(number, conn).await
    }

    /// Records that it was applied.
    async fn record(&self, number: usize, conn: &mut Conn) -> Result<()> {
        conn.exec(
            sql!("INSERT INTO schema_migrations (number, name, checksum) VALUES ($1, $2, $3)"),
            params![number as i64, self.name, self.checksum()],
        )
        .await?;
        Ok(())
    }
}

/// The number of migrations that were applied.
pub async fn applied_migrations(conn: &mut Conn) -> Result<i64> {
    let (applied,) = conn.one(sql!("SELECT COUNT(*) FROM schema_migrations"), &[]).await?;
    Ok(applied)
}

impl Db {
    /// Applies all pending migrations.
    pub async fn migrate(&self) -> Result<()> {
        self.migrate_to(MIGRATIONS.len()).await
    }

    /// Applies the first migrations up to this number, as an older release does.
    pub async fn migrate_to(&self, number: usize) -> Result<()> {
        loop {
            match self.tx(number, |conn, last| Box::pin(migrate_next(conn, *last))).await?.as_slice() {
                [] => return Ok(()),
                [name] => tracing::info!(migration = name, "migration applied"),
                new => tracing::info!(migrations = new.len(), "database created"),
            }
        }
    }

    /// The pending migrations. A database that this binary cannot work with is an error.
    pub async fn pending_migrations(&self) -> Result<&'static [Migration]> {
        let mut conn = self.read().await?;
        let known = match &self.engine {
            Engine::Sqlite(_) => "SELECT COUNT(*) FROM sqlite_schema WHERE name = 'schema_migrations'",
            Engine::Postgres(_) => "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'schema_migrations'",
        };
        let (tables,): (i64,) = conn.one(known, &[]).await?;
        if tables == 0 { Ok(MIGRATIONS) } else { pending(&mut conn).await }
    }

    /// Whether every migration of this binary was applied. There may be later ones, during the rollout of a release.
    pub async fn is_migrated(&self) -> Result<bool> {
        let applied = applied_migrations(&mut *self.read().await?).await?;
        Ok(usize::try_from(applied).is_ok_and(|applied| applied >= MIGRATIONS.len()))
    }

    /// Refuses a database that does not have exactly the schema of this binary.
    pub async fn check_version(&self) -> Result<()> {
        match self.pending_migrations().await? {
            [] => Ok(()),
            pending => {
                let names: Vec<&str> = pending.iter().map(|migration| migration.name).collect();
                Err(DbError::Schema(format!("migrations are pending: {}", names.join(", "))))
            }
        }
    }
}

/// Applies the first pending migration, or all to a new database, but none after the last one wanted. Returns the names
/// of those that were applied.
async fn migrate_next(conn: &mut Conn, last: usize) -> Result<Vec<&'static str>> {
    if conn.is_sqlite() {
        conn.script(&sqlite_ddl(TABLE)).await?;
    } else {
        // Neither a migration nor the wait for another node's may time out.
        conn.script(&["SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0", ADVISORY_LOCK, TABLE].join(";"))
            .await?;
    }
    let applied = MIGRATIONS.len() - pending(conn).await?.len();
    let until = if applied == 0 { last } else { last.min(applied + 1) };
    let at_once = conn.is_sqlite() && applied == 0 && until == MIGRATIONS.len();
    if at_once {
        conn.script(SQLITE_SCHEMA).await?;
    }
    let mut names = Vec::new();
    for (position, migration) in MIGRATIONS.iter().enumerate().take(until).skip(applied) {
        if at_once {
            migration.record(position + 1, conn).await?;
        } else {
            migration.apply(position + 1, conn).await?;
        }
        names.push(migration.name);
    }
    Ok(names)
}

async fn pending(conn: &mut Conn) -> Result<&'static [Migration]> {
    let applied: Vec<Applied> =
        conn.all(sql!("SELECT ", Applied::COLS, " FROM schema_migrations ORDER BY number"), &[]).await?;
    for (position, row) in applied.iter().enumerate() {
        let Some(known) = MIGRATIONS.get(position).filter(|_| row.number == position as i64 + 1) else {
            return Err(DbError::Schema(format!(
                "the database is newer than this binary: it has migration {} ({})",
                row.number, row.name
            )));
        };
        if row.checksum != known.checksum() {
            return Err(DbError::Schema(format!(
                "migration {} was changed after it was applied; revert the change and add a new migration",
                known.name
            )));
        }
    }
    Ok(&MIGRATIONS[applied.len()..])
}
