//! Data-protection requests of a customer: its data as files, and their removal.

use std::path::{Path, PathBuf};

use super::{Subject, audit_command, existing_database, print_line};
use backoffice::personal_data::{self, Erasure, Exported};
use db::{Conn, DbError};
use platform::app::{App, StartError};
use platform::config::Settings;
use values::AccountId;

/// Writes everything that is stored about a customer to a new folder.
pub async fn export_customer(settings: Settings, customer: &str, out: Option<&Path>) -> Result<(), StartError> {
    existing_database(&settings).await?;
    let (account, app) = (parse(customer)?, App::open(settings).await?);
    let folder = out.map_or_else(|| PathBuf::from(format!("export-{account}")), Path::to_owned);
    let Some(Exported { rows, files }) = personal_data::export(&app, account, &folder).await? else {
        return Err(unknown(account).into());
    };
    let db = app.db.clone();
    db.tx((app, account), |conn, (app, account)| {
        Box::pin(audit_command(conn, &app.keys, "customer.export", Subject::Account(*account)))
    })
    .await?;
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    print_line(&format!("{}: {rows} rows, {files}.", folder.display()));
    Ok(())
}

/// Erases the personal data of a customer who has nothing open.
pub async fn erase_customer(settings: Settings, customer: &str, keep_documents: bool) -> Result<(), StartError> {
    existing_database(&settings).await?;
    let (account, app) = (parse(customer)?, App::open(settings).await?);
    let days = app.settings.calls.number_retention_days;
    let db = app.db.clone();
    let erased = db.tx((app, account, keep_documents), |conn, (app, account, keep_documents)| {
        Box::pin(erase(conn, app, *account, *keep_documents))
    });
    match erased.await? {
        Erasure::Done => {
            print_line(&format!("{account} was erased."));
            print_line(&format!("Numbers in its CDRs are anonymised {days} days after the call."));
            print_line("Invoices, ledger, payments, VAT evidence and the audit log stay, as the law requires.");
        }
        Erasure::Before => print_line(&format!("{account} was erased before; nothing was changed.")),
        Erasure::Unknown => return Err(unknown(account).into()),
        Erasure::Open(matters) => {
            return Err(format!("{account} cannot be erased yet. It still has {}.", matters.join(", ")).into());
        }
    }
    Ok(())
}

async fn erase(conn: &mut Conn, app: &App, account: AccountId, keep_documents: bool) -> Result<Erasure, DbError> {
    let erased = personal_data::erase(conn, account, keep_documents).await?;
    if erased == Erasure::Done {
        audit_command(conn, &app.keys, "customer.erase", Subject::Account(account)).await?;
    }
    Ok(erased)
}

fn parse(customer: &str) -> Result<AccountId, String> {
    customer.parse().map_err(|error: values::Invalid| format!("CUSTOMER {error}"))
}

fn unknown(account: AccountId) -> String {
    format!("there is no customer {account}")
}
