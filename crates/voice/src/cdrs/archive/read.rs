//! Reads files of the archive from the file store, and checks that they are what was written.

use std::fmt;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use tokio::task::spawn_blocking;

use super::file::ArchiveFile;
use super::store::{FileRow, start_of};
use super::totals::Totals;
use crate::cdrs::row::MarkedCdr;
use platform::outside::files::{ContentHash, Files};
use values::Date;

/// Why a file cannot be used.
#[derive(Debug)]
pub struct BadFile {
    day: Date,
    reason: String,
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the archived CDRs of {} cannot be used: {}", self.day, self.reason)
    }
}

impl std::error::Error for BadFile {}

impl BadFile {
    pub fn new(file: &FileRow, reason: impl fmt::Display) -> BadFile {
        BadFile { day: Date::from(start_of(file.day)), reason: reason.to_string() }
    }
}

/// The content of a file, whose hash is right.
pub async fn content(files: &Files, file: &FileRow) -> Result<Bytes, BadFile> {
    let bad = |reason: &dyn fmt::Display| BadFile::new(file, reason);
    let opened = files.open_read(&file.content_hash).await.map_err(|error| bad(&error))?;
    let Some((_, mut pieces)) = opened else { return Err(bad(&"the file is missing")) };
    let size = usize::try_from(file.size_bytes).unwrap_or_default();
    let mut content = BytesMut::with_capacity(size);
    while let Some(piece) = pieces.try_next().await.map_err(|error| bad(&error))? {
        if content.len() + piece.len() > size {
            return Err(bad(&"the file is too long"));
        }
        content.extend_from_slice(&piece);
    }
    let content = content.freeze();
    let checked = content.clone();
    let hash = spawn_blocking(move || ContentHash::of(&checked)).await.map_err(|error| bad(&error))?;
    if hash == file.content_hash { Ok(content) } else { Err(bad(&"the content has another hash")) }
}

/// A file that is read one row group at a time.
pub struct Groups {
    row: FileRow,
    file: ArchiveFile,
    next: usize,
}

impl Groups {
    pub async fn open(files: &Files, row: FileRow) -> Result<Groups, BadFile> {
        let content = content(files, &row).await?;
        let file = ArchiveFile::open(content).map_err(|error| BadFile::new(&row, error))?;
        Ok(Groups { row, file, next: 0 })
    }

    /// The CDRs of the next row group; none after the last.
    pub async fn next(self) -> Result<Option<(Vec<MarkedCdr>, Groups)>, BadFile> {
        let Groups { row, file, next } = self;
        if next >= file.groups() {
            return Ok(None);
        }
        let read = spawn_blocking(move || (file.read(next), file)).await;
        let (cdrs, file) = read.map_err(|error| BadFile::new(&row, error))?;
        let cdrs = cdrs.map_err(|error| BadFile::new(&row, error))?;
        Ok(Some((cdrs, Groups { row, file, next: next + 1 })))
    }
}

/// Reads a file back and compares it with its row.
pub async fn verify(files: &Files, row: &FileRow) -> Result<Totals, BadFile> {
    let mut totals = Totals::default();
    let mut groups = Groups::open(files, row.clone()).await?;
    while let Some((cdrs, rest)) = groups.next().await? {
        cdrs.iter().for_each(|marked| totals.add(&marked.cdr));
        groups = rest;
    }
    if totals == row.totals() { Ok(totals) } else { Err(BadFile::new(row, "the sums differ")) }
}
