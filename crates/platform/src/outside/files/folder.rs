//! The file store in a local folder: `ab/cd/<hash>`.
//!
//! Storing a file again replaces it, so its age counts from the last time it was stored. Deleting locks the folder
//! while it checks that age, so that no node that shares the folder stores the file in between.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::fs::File;

use super::incoming::{ReceivedBody, pieces};
use super::{Content, ContentHash, StoredFile, blocking, is_older};
use crate::durable::{Draft, create_folder, sync_folder};
use values::Time;

#[derive(Clone)]
pub struct Folder {
    root: Arc<Path>,
}

impl Folder {
    pub fn open(root: &Path) -> Folder {
        Folder { root: root.into() }
    }

    pub async fn store(&self, body: ReceivedBody) -> io::Result<StoredFile> {
        let root = self.root.clone();
        let ReceivedBody { draft, file, stored, .. } = body;
        blocking(move || publish(&root, draft, &file, &stored.hash)).await?;
        Ok(stored)
    }

    pub async fn open_read(&self, hash: &ContentHash) -> io::Result<Option<(u64, Content)>> {
        let file = match File::open(path_of(&self.root, hash)).await {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some((file.metadata().await?.len(), pieces(file))))
    }

    pub async fn exists(&self, hash: &ContentHash) -> io::Result<bool> {
        tokio::fs::try_exists(path_of(&self.root, hash)).await
    }

    pub async fn list_older(
        &self,
        cutoff: Time,
        after: Option<ContentHash>,
        limit: usize,
    ) -> io::Result<Vec<ContentHash>> {
        let root = self.root.clone();
        blocking(move || list_older(&root, cutoff, after, limit)).await
    }

    pub async fn delete_older(&self, hash: &ContentHash, cutoff: Time) -> io::Result<bool> {
        let (root, path) = (self.root.clone(), path_of(&self.root, hash));
        blocking(move || {
            let lock = fs::File::open(&root)?;
            lock.lock()?;
            let is_old = is_older(&path, cutoff)?;
            if is_old {
                fs::remove_file(&path)?;
            }
            Ok(is_old)
        })
        .await
    }
}

/// Where the file is in the store's folder. Two levels of folders keep each folder small.
pub fn path_of(root: &Path, hash: &ContentHash) -> PathBuf {
    let hex = hash.to_string();
    root.join(&hex[..2]).join(&hex[2..4]).join(hex)
}

/// All parent folders are synced each time: a concurrent upload may have created them without a sync yet.
fn publish(root: &Path, draft: Draft, file: &fs::File, hash: &ContentHash) -> io::Result<()> {
    let path = path_of(root, hash);
    let folders: Vec<&Path> = path.ancestors().skip(1).take(3).collect();
    create_folder(folders[0])?;
    let lock = fs::File::open(root)?;
    lock.lock_shared()?;
    draft.publish(file, &path)?;
    folders.into_iter().try_for_each(sync_folder)
}

/// Walks the two levels of folders in order, with the names of one folder in memory at a time.
fn list_older(root: &Path, cutoff: Time, after: Option<ContentHash>, limit: usize) -> io::Result<Vec<ContentHash>> {
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

/// A file of the store, as it is stored, sealed.
pub struct Found {
    pub hash: ContentHash,
    /// When it was last stored.
    pub stored_at: Time,
    pub path: PathBuf,
}

/// Calls `visit` with every file of a store.
pub fn walk(root: &Path, visit: &mut dyn FnMut(Found) -> io::Result<()>) -> io::Result<()> {
    if !root.exists() {
        return Ok(());
    }
    for outer in names(root, 2)? {
        for inner in names(&root.join(&outer), 2)? {
            let folder = root.join(&outer).join(&inner);
            for name in names(&folder, 64)? {
                let (path, Some(hash)) = (folder.join(&name), ContentHash::parse(&name)) else { continue };
                match fs::metadata(&path) {
                    Ok(about) => visit(Found { hash, stored_at: time_of(about.modified()?), path })?,
                    // It was deleted since the folder was listed.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}

fn time_of(time: SystemTime) -> Time {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The names of this length in a folder, sorted.
fn names(folder: &Path, length: usize) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string().ok().filter(|name| name.len() == length));
    }
    names.sort_unstable();
    Ok(names)
}
