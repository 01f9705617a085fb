//! Whether the disks that this node writes to have room.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use db::{Db, DbError, DbOptions, Location};
use values::Time;

use crate::app::{App, StartError};
use crate::config::Settings;
use crate::durable::is_full_disk;
use crate::outside::files::FilesError;

/// A disk with less room than this, or than a hundredth of it, is full.
const MIN_FREE_BYTES: u64 = 64 * 1024 * 1024;
const MIN_FREE_PART: u64 = 100;
/// After a write failed for lack of room, the database's disk counts as full for this long: it may be elsewhere.
const FULL_AFTER_FAILURE: Duration = Duration::from_secs(15);

/// The names of the disks that are full, as a text.
pub async fn find_full(app: &App) -> Option<String> {
    if has_failed_lately(&app.db, app.clock.now()) {
        return Some("disk: the disk of the database is full".to_owned());
    }
    let folders = folders(&app.settings);
    tokio::task::spawn_blocking(move || folders.iter().find_map(|folder| describe_full(folder))).await.ok().flatten()
}

/// The first folder of these settings whose disk is full, as a text.
pub fn find_full_of(settings: &Settings) -> Option<String> {
    folders(settings).iter().find_map(|folder| describe_full(folder))
}

fn has_failed_lately(db: &Db, now: Time) -> bool {
    db.disk_full_at().is_some_and(|failed_at| now < failed_at.plus(FULL_AFTER_FAILURE))
}

/// The data folder and that of a SQLite database.
fn folders(settings: &Settings) -> Vec<PathBuf> {
    let mut folders = vec![settings.data_dir.clone()];
    if let Ok(DbOptions { location: Location::Sqlite(path), .. }) = settings.database_url().parse() {
        folders.extend(path.parent().map(Path::to_owned));
    }
    folders
}

fn describe_full(folder: &Path) -> Option<String> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    let (free, size) = (disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_blocks.saturating_mul(disk.f_frsize));
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let is_full = free < MIN_FREE_BYTES.min(size / MIN_FREE_PART);
    is_full.then(|| {
        format!("disk: the disk of {} is full, {:.1} of {:.1} MiB are free", folder.display(), mib(free), mib(size))
    })
}

/// Names the disk in the error of a start that failed because it is full.
pub fn explain(error: StartError, settings: &Settings) -> StartError {
    match find_full_of(settings).or_else(|| is_full(error.as_ref()).then(|| "disk: a disk is full".to_owned())) {
        Some(full) => format!("{full}; {error}").into(),
        None => error,
    }
}

/// Whether an error, or one inside it, says that a disk is full.
fn is_full(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let is_full = match error.downcast_ref::<FilesError>() {
            Some(error) => error.is_disk_full(),
            None => {
                matches!(error.downcast_ref(), Some(DbError::DiskFull(_)))
                    || error.downcast_ref().is_some_and(is_full_disk)
            }
        };
        if is_full {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::*;

    #[test]
    fn a_full_disk_is_recognised_by_its_errors() {
        let full = || io::Error::from_raw_os_error(28);
        assert!(is_full(&full()) && is_full(&FilesError::Disk(full())) && is_full(&DbError::DiskFull(String::new())));
        let denied = io::Error::from(ErrorKind::PermissionDenied);
        assert!(!is_full(&denied) && !is_full(&FilesError::Disk(denied)) && !is_full(&DbError::NotFound));
    }
}
