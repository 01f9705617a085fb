//! The CDR archive: verification of its files, and copies of them for other programs.

use std::path::Path;

use super::{existing_database, print_line};
use platform::app::{App, StartError};
use platform::config::Settings;
use values::Date;
use voice::cdrs::{self, ArchiveChecked};

pub async fn verify_cdr_archive(settings: Settings) -> Result<(), StartError> {
    let app = open(settings).await?;
    let ArchiveChecked { files, cdrs } = cdrs::verify_archive(&app).await?;
    print_line(&format!("The CDR archive is valid: {cdrs} CDRs in {files} files."));
    Ok(())
}

pub async fn copy_cdr_archive(
    settings: Settings,
    folder: &Path,
    from: Option<Date>,
    to: Option<Date>,
) -> Result<(), StartError> {
    let app = open(settings).await?;
    let files = cdrs::copy_archive(&app, folder, from, to).await?;
    print_line(&format!("{files} files are in {}.", folder.display()));
    Ok(())
}

/// Opens the service's database and file store; the database must exist.
async fn open(settings: Settings) -> Result<App, StartError> {
    drop(existing_database(&settings).await?);
    App::open(settings).await
}
