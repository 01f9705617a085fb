//! Atomic and durable file writes.
//!
//! A draft is written, synced to disk and then renamed to its final path. A draft that is dropped before that is
//! deleted. All functions block.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file that is not at its final path yet.
pub struct Draft {
    path: PathBuf,
    published: bool,
}

impl Draft {
    /// Creates an empty file that only this service's user can read.
    pub fn create(path: PathBuf) -> io::Result<(Draft, File)> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok((Draft { path, published: false }, file))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Syncs the file and renames it to its final path, replacing what is there. The caller syncs the folder.
    pub fn publish(mut self, written: &File, path: &Path) -> io::Result<()> {
        written.sync_all()?;
        fs::rename(&self.path, path)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // If this fails, the draft is deleted at a later start.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates a folder and its parents, accessible to this service's user only.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Syncs a folder's entries: without it a renamed file can be lost in a power cut.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Whether the disk, or the part of it that this user may have, is full.
pub fn is_full_disk(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
