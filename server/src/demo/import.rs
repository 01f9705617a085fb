//! Copies the simulated database into the one of a running service, in one transaction.
//!
//! Rows keep their ids and times. The simulated operator becomes the one of the service, so that its team joins the
//! service's own; audit rows go behind those of the service, in its chain, and events behind its events. What belongs to
//! a database itself, such as tokens and schedules, stays behind, and what is sealed is sealed with the service's keys.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Options, PASSWORD, store};
use backoffice::demo_data;
use billing::payments::auto_recharge;
use db::{Conflict, Conn, TableRows, Value};
use identity::events::{self, Head};
use platform::app::{App, StartError, demo as mark};
use platform::audit;
use platform::crypto::keys::{Keys, Purpose};
use platform::jobs::{JobContext, JobError};
use platform::outside::files::{ContentHash, Files};
use platform::routing::allow_lists::Addresses;
use platform::routing::cache::{self, Versioned};
use platform::routing::plans::Plans;
use platform::routing::tariff::Tariff;
use platform::routing::upstreams::Gateways;
use uuid::Uuid;
use values::AccountId;
use voice::cdrs;

pub const CUSTOMER_CAME: &str = "A customer has signed up meanwhile. Demo data go into a database without customers.";

/// Tables that are not copied.
const SKIPPED: &[&str] = &[
    // Of the database itself.
    "schema_migrations",
    "installation",
    "first_admin",
    "retired_master_secrets",
    "schedules",
    "versions",
    "nodes",
    "edges",
    "demo_data",
    "deck_mailbox",
    "cdr_archive",
    // Audit rows are chained anew, and events get new positions.
    "audit_log",
    "audit_head",
    "audit_checkpoints",
    "audit_counted",
    "event_head",
    // Tokens and links that nobody has, guesses, limits and stored responses.
    "access_tokens",
    "refresh_tokens",
    "link_tokens",
    "two_factor_challenges",
    "passkey_challenges",
    "second_factor_guesses",
    "sign_in_failures",
    "idempotency_keys",
    "rate_windows",
    // Requests that this service did not answer, and work in between.
    "traffic",
    "cdr_arrivals",
    "number_arrivals",
    "cdr_retention",
];

/// Tables with rows of the operator that the service has already.
const OF_OPERATOR: &[&str] = &["accounts", "onboardings", "account_words", "vat_profiles", "ledger_balances"];

/// Secrets of webhook endpoints. Nothing else that is copied is sealed: nobody in the demo has a second factor.
const SEALED: (&str, [&str; 2]) = ("webhook_endpoints", ["secret", "previous_secret"]);

/// Longer than a month, so that no partition is left out.
const PARTITION_STEP: Duration = Duration::from_secs(28 * 24 * 3600);

/// Far more than a simulation writes.
const MAX_AUDIT_ROWS: i64 = 5_000_000;

/// The rows of the simulated database.
pub struct Simulated {
    tables: Vec<TableRows>,
    audit: Vec<audit::Row>,
    operator: AccountId,
    public_url: String,
}

pub async fn read(simulated: &App) -> Result<Simulated, StartError> {
    let db = &simulated.db;
    let mut tables = db.snapshot((), |conn, ()| Box::pin(async move { conn.dump(SKIPPED) })).await?;
    let audit = db.snapshot((), |conn, ()| Box::pin(audit::list(conn, MAX_AUDIT_ROWS))).await?;
    let operator = store::operator(&mut *db.read().await?).await?;
    // A recharge that was declined is tried again later. All other jobs have run.
    if let Some(jobs) = tables.iter_mut().find(|table| table.table == "jobs") {
        let kind = jobs.position("kind");
        jobs.rows.retain(|row| is_text(kind.and_then(|kind| row.get(kind)), auto_recharge::ATTEMPT.name));
    }
    Ok(Simulated { tables, audit, operator, public_url: simulated.public_url.clone() })
}

fn is_text(value: Option<&Value<'_>>, expected: &str) -> bool {
    matches!(value, Some(Value::Text(text)) if text == expected)
}

/// Seals secrets with the keys of the service in place of those of the simulated one, which nobody has afterwards.
pub fn reseal(copy: &mut Simulated, simulated: &Keys, own: &Keys) -> Result<(), StartError> {
    let (name, columns) = SEALED;
    for table in copy.tables.iter_mut().filter(|table| table.table == name) {
        let positions = columns.map(|column| table.position(column));
        for row in &mut table.rows {
            for position in positions.into_iter().flatten() {
                let Some(Value::Bytes(sealed)) = row.get_mut(position) else { continue };
                let secret = simulated.open(Purpose::WebhookSecret, sealed);
                let secret = secret.ok_or("a simulated webhook secret cannot be opened")?;
                *sealed = own.seal(Purpose::WebhookSecret, &secret).into();
            }
        }
    }
    Ok(())
}

/// Copies the files that rows refer to. What a copy that fails later leaves behind is deleted as an orphan.
pub async fn copy_files(copy: &Simulated, from: &Files, to: &Files) -> Result<(), StartError> {
    let mut hashes = BTreeSet::new();
    for table in &copy.tables {
        let Some(position) = table.position("content_hash") else { continue };
        let cells = table.rows.iter().filter_map(|row| row.get(position));
        hashes.extend(cells.filter_map(|cell| match cell {
            Value::Bytes(bytes) => <[u8; 32]>::try_from(bytes.as_ref()).ok(),
            _ => None,
        }));
    }
    for hash in hashes {
        if let Some((_, content)) = from.open_read(&ContentHash::new(hash)).await? {
            to.put(content, u64::MAX).await?;
        }
    }
    Ok(())
}

struct Load {
    context: JobContext<App>,
    copy: Simulated,
    has_known_password: bool,
    message: String,
}

/// Inserts everything and ends the job, unless a customer came meanwhile.
pub async fn load(
    context: &JobContext<App>,
    mut copy: Simulated,
    options: Options,
    message: String,
) -> Result<(), JobError> {
    let app = &context.app;
    let operator = store::operator(&mut *app.db.read().await?).await?;
    adapt(&mut copy, operator, &app.public_url);
    let mut month = app.clock.now().minus(Duration::from_secs(24 * 3600) * (options.days + 1));
    while month < app.clock.now() {
        cdrs::create_partitions_around(app, month).await?;
        month = month.plus(PARTITION_STEP);
    }
    let has_known_password = options.password == PASSWORD;
    let work = Load { context: context.clone(), copy, has_known_password, message };
    app.db.tx(work, |conn, work| Box::pin(insert(conn, work))).await
}

/// Puts the service's operator and its address in place of the simulated ones.
fn adapt(copy: &mut Simulated, operator: AccountId, public_url: &str) {
    let (simulated, own) = (copy.operator.uuid(), operator.uuid());
    let texts = [
        (simulated.to_string(), own.to_string()),
        (simulated.simple().to_string(), own.simple().to_string()),
        (copy.public_url.clone(), public_url.to_owned()),
    ];
    let replaced = |text: &str| {
        texts.iter().fold(None, |changed: Option<String>, (old, new)| {
            let current = changed.as_deref().unwrap_or(text);
            if current.contains(old.as_str()) { Some(current.replace(old.as_str(), new)) } else { changed }
        })
    };
    for table in &mut copy.tables {
        if OF_OPERATOR.contains(&table.table.as_str()) {
            table.rows.retain(|row| !row.iter().any(|value| is_id(value, simulated)));
        }
        for value in table.rows.iter_mut().flatten() {
            if is_id(value, simulated) {
                *value = Value::Bytes(own.as_bytes().to_vec().into());
            } else if let Value::Text(text) = value
                && let Some(changed) = replaced(text)
            {
                *value = Value::Text(changed.into());
            }
        }
    }
    for row in &mut copy.audit {
        if row.account_id == Some(copy.operator) {
            row.account_id = Some(operator);
        }
        if let Some(changed) = row.meta.as_deref().and_then(replaced) {
            row.meta = Some(changed);
        }
    }
}

fn is_id(value: &Value<'_>, id: Uuid) -> bool {
    matches!(value, Value::Bytes(bytes) if bytes.as_ref() == id.as_bytes())
}

async fn insert(conn: &mut Conn, work: &Load) -> Result<(), JobError> {
    let Load { context, copy, has_known_password, message } = work;
    if demo_data::has_customers(conn).await? {
        return Err(JobError::Permanent(CUSTOMER_CAME.to_owned()));
    }
    for table in &copy.tables {
        match table.table.as_str() {
            "events" => insert_events(conn, table).await?,
            name => {
                conn.load(table, conflict(name)).await?;
            }
        }
    }
    for name in [Tariff::NAME, Plans::NAME, Addresses::NAME, Gateways::NAME] {
        cache::bump_version(conn, name).await?;
    }
    mark::mark(conn, *has_known_password).await?;
    demo_data::complete(conn, message).await?;
    context.finish_in(conn).await?;
    Ok(audit::append_copies(conn, &context.app.keys, &copy.audit).await?)
}

/// What every database has, or counts.
fn conflict(table: &str) -> Conflict {
    match table {
        "fx_rates" | "invoice_months" => Conflict::Keep,
        "cdr_archive" | "prospect_counts" | "waitlist_tail" => Conflict::Replace,
        _ => Conflict::Fail,
    }
}

/// Puts events behind those that are there.
async fn insert_events(conn: &mut Conn, simulated: &TableRows) -> Result<(), JobError> {
    let head = events::lock_head(conn).await?;
    let position = simulated.position("position");
    let mut last = head.position;
    let mut rows = simulated.rows.clone();
    for row in &mut rows {
        if let Some(Value::Int(place)) = position.and_then(|position| row.get_mut(position)) {
            *place += head.position;
            last = last.max(*place);
        }
    }
    let moved = TableRows { table: simulated.table.clone(), columns: simulated.columns.clone(), rows };
    conn.load(&moved, Conflict::Fail).await?;
    events::set_head(conn, Head { position: last, ..head }).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value<'_>) -> String {
        match value {
            Value::Text(text) => text.to_string(),
            _ => String::new(),
        }
    }

    #[test]
    fn rows_of_the_simulated_operator_become_those_of_the_service() {
        let (simulated, own) = (Uuid::from_u128(7), Uuid::from_u128(9));
        let bytes = |id: Uuid| Value::Bytes(id.as_bytes().to_vec().into());
        let columns = || vec!["account_id".to_owned(), "url".to_owned()];
        let row = |id: Uuid, text: String| vec![bytes(id), Value::Text(text.into())];
        let table = |name: &str, rows| TableRows { table: name.to_owned(), columns: columns(), rows };
        let mut copy = Simulated {
            tables: vec![
                table("accounts", vec![row(simulated, String::new()), row(Uuid::from_u128(1), String::new())]),
                table("users", vec![row(simulated, format!("http://there/{simulated}/acc_{}", simulated.simple()))]),
            ],
            audit: Vec::new(),
            operator: AccountId::new(simulated),
            public_url: "http://there".to_owned(),
        };
        adapt(&mut copy, AccountId::new(own), "https://here");
        assert_eq!(copy.tables[0].rows.len(), 1);
        let user = &copy.tables[1].rows[0];
        assert!(is_id(&user[0], own));
        assert_eq!(text(&user[1]), format!("https://here/{own}/acc_{}", own.simple()));
    }

    #[test]
    fn a_webhook_secret_is_sealed_with_the_keys_of_the_service() {
        let (simulated, own) = (Keys::from_master(b"of the simulation"), Keys::from_master(b"of the service"));
        let sealed = simulated.seal(Purpose::WebhookSecret, b"whsec");
        let (columns, rows) = (vec!["secret".to_owned()], vec![vec![Value::Bytes(sealed.into())]]);
        let mut copy = Simulated {
            tables: vec![TableRows { table: "webhook_endpoints".to_owned(), columns, rows }],
            audit: Vec::new(),
            operator: AccountId::new(Uuid::from_u128(7)),
            public_url: String::new(),
        };
        assert!(reseal(&mut copy, &simulated, &own).is_ok());
        let opened = match &copy.tables[0].rows[0][0] {
            Value::Bytes(sealed) => own.open(Purpose::WebhookSecret, sealed),
            _ => None,
        };
        assert_eq!(opened.as_deref(), Some(b"whsec".as_slice()));
        // The keys of the simulation do not open it any more.
        assert!(reseal(&mut copy, &simulated, &own).is_err());
    }

    #[test]
    fn a_table_that_every_database_has_rows_of_is_merged() {
        assert_eq!(conflict("waitlist_tail"), Conflict::Replace);
        assert_eq!(conflict("cdrs"), Conflict::Fail);
        assert!(SKIPPED.contains(&"audit_log") && !SKIPPED.contains(&"sessions"));
    }
}
