//! The store in a local folder: `ab/cd/<hash>`.
//!
//! Storing a file again puts a fresh copy in its place, so its age is that of its last storing. Removing one locks
//! the folder while it looks at that age: nobody, not even another node that shares the folder, stores it in between.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::fs::File;

use super::incoming::{Arrived, pieces};
use super::{Content, ContentHash, StoredFile, blocking, is_older};
use crate::outside::durable::{Draft, make_folder, sync_folder};
use values::Time;

#[derive(Clone)]
pub struct Folder {
    root: Arc<Path>,
}

impl Folder {
    pub fn open(root: &Path) -> Folder {
        Folder { root: root.into() }
    }

    pub async fn keep(&self, arrived: Arrived) -> io::Result<StoredFile> {
        let root = self.root.clone();
        let Arrived { draft, file, stored } = arrived;
        blocking(move || settle(&root, draft, &file, &stored.hash)).await?;
        Ok(stored)
    }

    pub async fn open_read(&self, hash: &ContentHash) -> io::Result<Option<(u64, Content)>> {
        let file = match File::open(place(&self.root, hash)).await {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some((file.metadata().await?.len(), pieces(file))))
    }

    pub async fn exists(&self, hash: &ContentHash) -> io::Result<bool> {
        tokio::fs::try_exists(place(&self.root, hash)).await
    }

    pub async fn untouched_since(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> io::Result<Vec<ContentHash>> {
        let root = self.root.clone();
        blocking(move || untouched_since(&root, cutoff, after, limit)).await
    }

    pub async fn remove_untouched(&self, hash: &ContentHash, cutoff: Time) -> io::Result<bool> {
        let (root, place) = (self.root.clone(), place(&self.root, hash));
        blocking(move || {
            let lock = fs::File::open(&root)?;
            lock.lock()?;
            let untouched = is_older(&place, cutoff)?;
            if untouched {
                fs::remove_file(&place)?;
            }
            Ok(untouched)
        })
        .await
    }
}

/// Two levels of folders keep any one of them short.
fn place(root: &Path, hash: &ContentHash) -> PathBuf {
    let hex = hash.to_string();
    root.join(&hex[..2]).join(&hex[2..4]).join(hex)
}

/// Every folder on the way is synced each time: another upload may have made it a moment ago and not be done.
fn settle(root: &Path, draft: Draft, file: &fs::File, hash: &ContentHash) -> io::Result<()> {
    let place = place(root, hash);
    let folders: Vec<&Path> = place.ancestors().skip(1).take(3).collect();
    make_folder(folders[0])?;
    let lock = fs::File::open(root)?;
    lock.lock_shared()?;
    draft.settle(file, &place)?;
    folders.into_iter().try_for_each(sync_folder)
}

/// Walks the two levels of folders in order and holds no more names at once than one folder has.
fn untouched_since(
    root: &Path,
    cutoff: Time,
    after: Option<ContentHash>,
    limit: usize,
) -> io::Result<Vec<ContentHash>> {
    let after = after.map(|hash| hash.to_string()).unwrap_or_default();
    let (first, second) = (after.get(..2).unwrap_or_default(), after.get(2..4).unwrap_or_default());
    let mut found = Vec::new();
    for outer in names(root, 2)?.into_iter().filter(|outer| outer.as_str() >= first) {
        let resumes = outer == first;
        for inner in names(&root.join(&outer), 2)?.into_iter().filter(|inner| !resumes || inner.as_str() >= second) {
            let folder = root.join(&outer).join(&inner);
            for name in names(&folder, 64)?.into_iter().filter(|name| *name > after) {
                if let Some(hash) = ContentHash::parse(&name).filter(|_| found.len() < limit)
                    && is_older(&folder.join(&name), cutoff)?
                {
                    found.push(hash);
                }
            }
            if found.len() >= limit {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The names of this length in a folder, in order.
fn names(folder: &Path, length: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.len() == length));
    }
    names.sort_unstable();
    Ok(names)
}
