//! Files that appear whole and for good, or not at all.
//!
//! A draft is written beside its place, forced to the disk and then renamed into it. A draft that is dropped
//! before that leaves nothing behind. Everything here blocks.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that is not yet in its place.
pub struct Draft {
    path: PathBuf,
    settled: bool,
}

impl Draft {
    /// Starts an empty file that only this service's user may read.
    pub fn create(path: PathBuf) -> io::Result<(Draft, File)> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok((Draft { path, settled: false }, file))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves what was written to its place, over anything there; the caller still has to sync the folders above.
    pub fn settle(mut self, written: &File, place: &Path) -> io::Result<()> {
        written.sync_all()?;
        fs::rename(&self.path, place)?;
        self.settled = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.settled {
            // One that cannot be removed now is swept up at a later start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes a folder, and those above it, that only this service's user may enter.
pub fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Forces a folder's entries to the disk: without this a renamed file may be gone after a power cut.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
