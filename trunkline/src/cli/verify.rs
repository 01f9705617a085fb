//! Verification of the audit chain, the ledger and the CDRs; each fails at the first difference.

use super::{existing_database, print_line};
use backoffice::audit_log;
use platform::app::{App, StartError};
use platform::audit::{self, Fault, Verified};
use platform::backup;
use platform::config::Settings;
use platform::ledger;
use voice::cdrs;

pub async fn verify_audit(settings: Settings, archives: bool) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    let keys = backup::secrets_of(&settings, &db).await?.keys();
    let broken = |fault: Fault| format!("the audit chain is broken: {fault}");
    let Verified { rows, archived } =
        db.report(keys.clone(), |conn, keys| Box::pin(audit::verify(conn, keys))).await?.map_err(broken)?;
    print_line(&format!("The audit chain is valid: {rows} rows."));
    if archives {
        let files = audit_log::verify_archives(&App::open(settings).await?).await?.map_err(broken)?;
        print_line(&format!("The {archived} older rows are valid too, in {files} files."));
    } else if archived > 0 {
        print_line(&format!("{archived} older rows are in files; --archives verifies them."));
    }
    Ok(())
}

pub async fn verify_ledger(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    match db.snapshot((), |conn, ()| Box::pin(ledger::verify(conn))).await? {
        Ok(ledger::Verified { customers, transactions, postings, open_holds }) => print_line(&format!(
            "The ledger is valid: {transactions} transactions with {postings} postings of {customers} customers, \
             {open_holds} open holds."
        )),
        Err(fault) => return Err(format!("the ledger is not valid: {fault}").into()),
    }
    Ok(())
}

pub async fn verify_cdrs(settings: Settings) -> Result<(), StartError> {
    let db = existing_database(&settings).await?;
    match db.snapshot((), |conn, ()| Box::pin(cdrs::verify(conn))).await? {
        Ok(cdrs::Verified { cdrs: records, live_calls }) => {
            print_line(&format!("The CDRs are valid: {records} CDRs, {live_calls} live calls."));
        }
        Err(fault) => return Err(format!("the CDRs are not valid: {fault}").into()),
    }
    Ok(())
}
