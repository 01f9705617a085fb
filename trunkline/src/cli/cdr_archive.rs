//! The CDR archive: verification of its files, and copies of them for other programs.

use std::path::PathBuf;

use clap::Subcommand;

use super::{existing_database, print_line};
use platform::app::{App, StartError};
use platform::config::Settings;
use values::Date;
use voice::cdrs::{self, ArchiveChecked};

#[derive(Subcommand)]
pub enum CdrArchive {
    /// Read every file again, and compare its hash and sums with the rollups; fails at the first difference
    Verify,
    /// Write the Parquet files to a folder, for DuckDB and other programs
    Copy {
        /// First day, such as 2026-01-31; by default the oldest.
        #[arg(long, value_name = "DAY")]
        from: Option<Date>,
        /// Last day; by default the newest.
        #[arg(long, value_name = "DAY")]
        to: Option<Date>,
        /// Folder to write to.
        #[arg(value_name = "FOLDER")]
        out: PathBuf,
    },
}

impl CdrArchive {
    pub async fn run(self, settings: Settings) -> Result<(), StartError> {
        drop(existing_database(&settings).await?);
        let app = App::open(settings).await?;
        match self {
            CdrArchive::Verify => {
                let ArchiveChecked { files, cdrs } = cdrs::verify_archive(&app).await?;
                print_line(&format!("The CDR archive is valid: {cdrs} CDRs in {files} files."));
            }
            CdrArchive::Copy { from, to, out } => {
                let files = cdrs::copy_archive(&app, &out, from, to).await?;
                print_line(&format!("{files} files are in {}.", out.display()));
            }
        }
        Ok(())
    }
}
